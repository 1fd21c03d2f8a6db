"""Reports of evaluations: figures, tables, charts, comparisons, leaderboards, and paper tables."""
