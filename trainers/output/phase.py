"""The phase of a run that wrote a line of ``metrics.jsonl``."""

from __future__ import annotations

from enum import Enum


class Phase(str, Enum):
    """The value of ``phase`` in ``metrics.jsonl``."""

    WARM_START = "sft"
    """Imitation of the expert, and the validations at its gate."""
    REINFORCEMENT = "rl"
    """A step of reinforcement learning: its training episodes and its update."""
    VALIDATION = "valid"
    """Validation tasks, played between the steps of reinforcement learning."""
    IMITATION = "imitation"
    """Further imitation by a baseline, and its validations; in the folder of the baseline."""
    COMPARISON = "eval"
    """Held-out tasks, played by one of the compared policies."""
    HEALTH = "health"
    """An alarm that a step of reinforcement learning raised."""
    ROLLBACK = "rollback"
    """Reinforcement learning went back to an earlier step because of an alarm."""

    # An f-string shows a mixed-in enumeration by its name since Python 3.12.
    __str__ = str.__str__
