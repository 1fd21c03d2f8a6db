"""The rules and every text of the game."""
