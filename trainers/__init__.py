"""A thin multi-turn reinforcement-learning trainer on TRL.

Importing this package is cheap: torch, transformers and trl are imported by the modules that use
them (``trainers.grpo``, ``trainers.models``, ``trainers.rollouts.engines``).

Shapes have the same letters everywhere. Packed arrays (numpy, no padding): K sampled tokens, M
turns, N trajectories, n elements of any kind, S segments. Padded tensors (torch): B rows of P
columns of prompts, on the left, and T columns of completions, on the right; W columns of both
together, or of a cache; L positions of a row, or fed at once; V words of the vocabulary. In
formulas, K' is the number of sampled tokens that train, G the size of a group, and U the number of
minibatches in a batch. Log-probabilities, entropies and divergences are in nats, times in seconds,
sizes of texts in tokens.
"""
