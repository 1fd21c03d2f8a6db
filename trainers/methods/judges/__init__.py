"""Judges in training: reward hooks that ask a model about turns or episodes."""
