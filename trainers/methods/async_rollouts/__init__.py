"""Asynchronous rollouts: generation runs ahead of training by a fixed number of steps."""
