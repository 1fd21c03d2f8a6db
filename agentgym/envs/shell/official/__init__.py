"""Rows of AgentBench's os_interaction."""
