"""Database: answer questions about a database, and change it, by SQL."""
