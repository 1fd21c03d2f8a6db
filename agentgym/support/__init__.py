"""Utilities without domain logic: files, locks, JSON, HTTP, statistics, the terminal."""
