"""The rules: hostile SQL on a small database, answers, one episode."""
