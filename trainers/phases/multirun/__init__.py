"""Several runs: parallel processes, shared warm starts, and runs over seeds."""
