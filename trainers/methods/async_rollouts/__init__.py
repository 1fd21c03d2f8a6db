"""Asynchronous rollouts: generation runs ahead of training, by a fixed lag or freely."""
