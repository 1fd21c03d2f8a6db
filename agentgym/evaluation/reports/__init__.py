"""Reports of evaluations: figures, tables, pictures, comparisons, leaderboards, matrices."""
