"""Experts: the one that knows where everything is, and the one that has to search."""
