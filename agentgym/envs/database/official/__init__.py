"""Rows of AgentBench's dbbench."""
