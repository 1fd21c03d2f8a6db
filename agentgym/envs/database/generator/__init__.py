"""Seeded databases, and tasks about them."""
