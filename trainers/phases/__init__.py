"""The phases of a run: warm start, reinforcement learning, comparison."""
