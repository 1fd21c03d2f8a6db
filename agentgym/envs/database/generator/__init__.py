"""Databases and what is asked of them, by seed."""
