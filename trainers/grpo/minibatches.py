"""Minibatches: assign every episode to an update of the step, for any number of processes.

The episodes of a step are divided in order, independently of the process that plays them: of each U
consecutive episodes, U being the number of minibatches, every minibatch gets one at random. The
episodes of a process are a multiple of U, so all have equally many of each minibatch, and the k-th
minibatches of all processes are together the k-th of a single one.

Rows follow their episode. Collective operations need equally many rows in every process, so rows
without trained tokens pad a minibatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainers.rollouts.scoring.tensors import trimmed

__all__ = ["MINIBATCH", "divided", "minibatch_of_episodes", "minibatch_of_rows"]

MINIBATCH = "minibatch"
"""Name of the batch column with the minibatch of each row."""

Numbers = npt.NDArray[np.int64]
Gather = Callable[[list[list[int]]], list[list[int]]]


def minibatch_of_episodes(count: int, parts: int, seed: Sequence[int]) -> Numbers:
    """Draw the minibatch of each episode of a step.

    Args:
        count: Episodes of all processes, a multiple of ``parts``.
        parts: Minibatches, U.
        seed: Seeds of the draw, such as the run's and the step.

    Returns:
        (count,) numbers from 0 to U - 1.
    """
    # A row per U consecutive episodes, permuted by itself.
    blocks = np.tile(np.arange(parts), (count // parts, 1))
    return np.random.default_rng(list(seed)).permuted(blocks, axis=1).ravel()


def minibatch_of_rows(
    rows: Sequence[int], drawn: Numbers, parts: int, gather: Gather = list
) -> Numbers:
    """Assign the rows of a process to the minibatch of their episode, and append padding rows.

    Args:
        rows: Number of rows of each episode of this process.
        drawn: (n,) minibatch of each of these n episodes.
        parts: Minibatches.
        gather: Joins the lists of all processes.

    Returns:
        (B,) minibatch of each row: as many of each as the process with the most rows of it has,
        and at least one.
    """
    row_parts = np.repeat(drawn, rows)
    counts = np.bincount(row_parts, minlength=parts)
    # At least one row each: a process without any would miss a collective forward pass.
    most_rows = np.max([[1] * parts, *gather([counts.tolist()])], axis=0)
    return np.concatenate([row_parts, np.repeat(np.arange(parts), most_rows - counts)])


def divided(batch: Mapping[str, Tensor], parts: int) -> list[dict[str, Tensor]]:
    """Divide the rows of a batch into its minibatches, and drop the column with their numbers."""
    other_columns = dict(batch)
    numbers = other_columns.pop(MINIBATCH)  # (B,)
    return [
        trimmed(other_columns, torch.nonzero(numbers == part).flatten()) for part in range(parts)
    ]
