"""Inspect: its tasks here (`imported`), and our environments as its tasks (`exported`)."""
