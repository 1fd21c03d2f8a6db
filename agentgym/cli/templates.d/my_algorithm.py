"""My credit: the return divided by the square root of the turns, minus the mean of the others.

With R the rewards of an episode added up, T its turns, and n episodes of the same task:
A_i = x_i - sum_{j != i} x_j / (n - 1), where x_i = R_i / sqrt(T_i). Every token of an episode
gets the advantage of the episode.
"""

from dataclasses import dataclass, replace

import numpy as np

from trainers.algorithms.advantage import Term
from trainers.algorithms.presets import PRESETS


@dataclass(frozen=True)
class MyAlgorithm:
    """A signal: values of a batch, and what one value stands for.

    Fields are hyperparameters; each needs a default.
    """

    power: float = 0.5
    """The turns count to this power."""

    def __call__(self, batch):
        """Return the values x.

        Args:
            batch: A trainers.algorithms.batch.Batch of N episodes with M turns and K tokens:
                reward (M,), traj (M,) the episode of each turn, turn_index (M,), group (N,) the
                task of each episode, turn_count (N,), stop_reason (N,), logp_old (K,).

        Returns:
            An array and its level: (N,) with "trajectory", (M,) with "turn", (K,) with "token".
        """
        returns = np.bincount(batch.traj, weights=batch.reward, minlength=batch.n_trajectories)
        return returns / np.maximum(batch.turn_count, 1) ** self.power, "trajectory"


PRESET = replace(
    PRESETS["turn-loo"],
    title="Return by the root of the turns",
    terms=(Term(MyAlgorithm(), center="group", leave_one_out=True),),
)
"""Loss, filters and sizes are turn-loo's; change them the same way."""
