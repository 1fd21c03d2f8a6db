"""Deciding whether a repository is repaired."""
