"""The rules and all texts of the game."""
