"""Evaluations by name: their settings, and suites of several with their files and folders."""
