"""Playing a level in words."""
