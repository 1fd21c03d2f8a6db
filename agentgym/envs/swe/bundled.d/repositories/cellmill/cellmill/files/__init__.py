"""CSV, tables, and the list of what a cell is computed from."""
