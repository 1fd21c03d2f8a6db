"""A level in play, in words."""
