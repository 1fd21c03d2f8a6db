"""The rule by which imitation computes no less than reinforcement learning: it counts tokens.

A clock would let the load of a machine decide how long a baseline trains. Tokens are the same
everywhere. The unit is one token of a training row that goes once forward and once backward:

- a step of reinforcement learning makes ``tokens x (iterations + GENERATION)`` of them. ``tokens``
  are those of the training rows of its episodes, also of those that the preset leaves out or
  replaces;
  ``GENERATION`` is what it takes to play them;
- a step of imitation makes one for each token of its demonstrations.

So imitation takes ``sum(tokens) x (iterations + GENERATION) / tokens per demonstration / batch``
steps, rounded up. Validations count for neither.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.output.phase import Phase
from trainers.rollouts.trajectory import Row

__all__ = ["GENERATION", "computed", "imitation_steps", "spaced"]

GENERATION = 0.5
"""What it takes to play a token of an episode, in passes forward and backward over it.

Measured in 100 steps in the shop, on a quiet machine: reinforcement learning took 93 us for a
token of its rows, imitation 75 us, that is 1.2 passes, of which this allows 1.5.
"""
LOGGED = 10
"""Steps between two records of imitation, at which alone it can be saved."""


def computed(records: Sequence[Mapping[str, Any]], iterations: int) -> float:
    """Return how many tokens, forward and backward, reinforcement learning is worth.

    Args:
        records: Those of the run: every step's has its ``row_tokens``.
        iterations: Passes over the episodes of a step.
    """
    steps = (record for record in records if record.get("phase") == Phase.REINFORCEMENT)
    return sum(record["row_tokens"] for record in steps) * (iterations + GENERATION)


def imitation_steps(tokens: float, rows: Sequence[Row], batch_size: int) -> int:
    """Return the least steps of imitation, on rows of demonstrations, that compute as much."""
    if not rows:
        return 0
    each = batch_size * sum(len(row.ids) for row in rows) / len(rows)
    return max(1, math.ceil(tokens / each))


def spaced(steps: int, validations: int) -> tuple[int, int]:
    """Return how many steps to take, and after how many of them each validation comes.

    The steps are rounded up so that there are just so many validations, the last at the end, and a
    checkpoint can be saved at each where they are far apart.
    """
    every = math.ceil(steps / max(1, validations))
    if every > LOGGED:
        every = LOGGED * math.ceil(every / LOGGED)
    return every * max(1, validations), every
