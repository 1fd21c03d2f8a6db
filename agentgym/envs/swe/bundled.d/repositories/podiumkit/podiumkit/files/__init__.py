"""The text of a tournament, tables."""
