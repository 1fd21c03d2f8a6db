"""Seeded games from TextWorld's own generator, and the settings of its challenges."""
