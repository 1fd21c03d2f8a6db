"""Types, tables, constraints."""
