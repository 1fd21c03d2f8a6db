"""Values, names, expressions, functions, joins, queries, changes, plans."""
