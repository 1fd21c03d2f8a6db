"""What plays studies: runs that are cached by their settings, side by side, and their results."""
