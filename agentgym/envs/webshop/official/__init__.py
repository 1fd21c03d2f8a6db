"""Reading and checking the official data files."""
