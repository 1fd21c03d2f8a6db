"""Questions of the user's own about CSV files or an SQLite database."""
