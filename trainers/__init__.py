"""What learns: a thin multi-turn reinforcement-learning trainer on TRL.

Importing this package is cheap: torch, transformers and trl are imported by the modules that use
them (``trainers.grpo``, ``trainers.models``, ``trainers.rollouts.engines``).
"""
