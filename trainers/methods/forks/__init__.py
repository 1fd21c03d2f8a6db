"""Forks: episodes of a group go on several times from the same state."""
