"""Equal compute for baselines: imitation gets at least the tokens of reinforcement learning.

Wall time would depend on the load of a machine; token counts do not. The unit is one forward and
backward pass of one token of a training row:

- a step of reinforcement learning takes ``tokens x (iterations + GENERATION)`` of them. ``tokens``
  counts the training rows of its episodes, including those that the preset leaves out or replaces;
  ``GENERATION`` is the cost of playing them;
- a step of imitation takes one per token of its demonstrations.

So imitation takes ``sum(tokens) x (iterations + GENERATION) / tokens per demonstration / batch``
steps, rounded up. Validations are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trainers.output.phase import Phase
from trainers.rollouts.trajectory import Row

__all__ = ["GENERATION", "computed", "imitation_steps", "spaced"]

GENERATION = 0.5
"""Cost of generating a token of an episode, in forward and backward passes.

In 100 steps on WebShop, on an idle machine, RL took 93 us per token of its rows, imitation 75 us:
1.2 passes per token, where this allows 1.5.
"""
LOGGED = 10
"""Steps between two records of imitation; it can only be saved at a record."""


def computed(records: Sequence[Mapping[str, Any]], iterations: int) -> float:
    """Return the compute of RL, in tokens that pass forward and backward.

    Args:
        records: Records of the run's steps, with ``row_tokens``.
        iterations: Passes over the episodes of a step.
    """
    steps = (record for record in records if record.get("phase") == Phase.REINFORCEMENT)
    return sum(record["row_tokens"] for record in steps) * (iterations + GENERATION)


def imitation_steps(tokens: float, rows: Sequence[Row], batch_size: int) -> int:
    """Return the minimum number of imitation steps with as much compute."""
    if not rows:
        return 0
    step_tokens = batch_size * sum(len(row.ids) for row in rows) / len(rows)
    return max(1, math.ceil(tokens / step_tokens))


def spaced(steps: int, validations: int) -> tuple[int, int]:
    """Return the number of steps, and the steps between validations.

    The steps are rounded up so that the validations are evenly spaced, the last at the end, and, if
    they are far apart, a checkpoint can be saved at each.
    """
    interval = math.ceil(steps / max(1, validations))
    if interval > LOGGED:
        interval = LOGGED * math.ceil(interval / LOGGED)
    return interval * max(1, validations), interval
