"""One episode in a box, and whether it came out right."""
