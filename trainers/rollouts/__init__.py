"""Rollouts: chat markup, trajectories, tasks, engines, and the runner that joins them.

Nothing here imports torch, except the engines that generate with it and ``scoring``.
"""
