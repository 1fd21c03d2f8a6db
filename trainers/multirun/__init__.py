"""Several runs: side by side in processes, begun from one another, and one over seeds."""
