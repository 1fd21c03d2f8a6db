"""Points, tie-breaks, ratings."""
