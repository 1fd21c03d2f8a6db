"""Players, results, rules for points, the tournament."""
