"""The user's own questions about CSV files or an SQLite database."""
