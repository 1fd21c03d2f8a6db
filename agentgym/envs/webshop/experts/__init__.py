"""Experts: the one that knows the target, and the one that has to shop for it."""
