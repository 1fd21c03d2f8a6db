"""The settings of a run, and the one place that decides those which were left open."""
