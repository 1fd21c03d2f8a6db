"""Seeded files, and tasks about them."""
