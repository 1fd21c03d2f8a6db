"""The expert, which searches for the shortest plan."""
