"""The rules of the game: hostile SQL on a small database, answers, one episode."""
