"""Minibatches: which of a step's updates every episode trains, however many processes there are.

The episodes of a step are divided in their order, before anybody knows which process plays them: of
each M consecutive ones, M being the number of minibatches, every minibatch gets one, drawn at
random. The episodes of a process are a multiple of M, so all have equally many of each minibatch,
and the k-th minibatches of all processes are together the k-th of a single one.

Rows follow their episode. Collective operations want as many of them in every process: rows that
train nothing fill up a minibatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from trainers.grpo.tensors import trimmed

__all__ = ["MINIBATCH", "divided", "minibatch_of_episodes", "minibatch_of_rows"]

MINIBATCH = "minibatch"
"""Name of the column of a batch that says to which minibatch a row belongs."""

Numbers = npt.NDArray[np.int64]


def minibatch_of_episodes(count: int, parts: int, seed: Sequence[int]) -> Numbers:
    """Draw the minibatch of each episode of a step.

    Args:
        count: Episodes of all processes, a multiple of ``parts``.
        parts: Minibatches, M.
        seed: Seeds of the draw, such as the run's and the step.
    """
    blocks = np.tile(np.arange(parts), (count // parts, 1))
    return np.random.default_rng(list(seed)).permuted(blocks, axis=1).ravel()


def minibatch_of_rows(
    rows: Sequence[int], drawn: Numbers, parts: int, gather: Callable[[list[Any]], list[Any]] = list
) -> Numbers:
    """Give the rows of a process the minibatch of their episode, and append filling rows.

    Args:
        rows: Number of rows of each episode of this process.
        drawn: Minibatch of each of these episodes.
        parts: Minibatches.
        gather: Joins the lists of all processes.

    Returns:
        As many of each minibatch as the process with the most rows of it has, and at least one.
    """
    own = np.repeat(drawn, rows)
    counts = np.bincount(own, minlength=parts)
    most = np.max([[1] * parts, *gather([counts.tolist()])], axis=0)
    return np.concatenate([own, np.repeat(np.arange(parts), most - counts)])


def divided(batch: Mapping[str, Any], parts: int) -> list[dict[str, Any]]:
    """Divide the rows of a batch into its minibatches, and drop the column that says which."""
    rest = dict(batch)
    numbers: Tensor = rest.pop(MINIBATCH)
    return [trimmed(rest, torch.nonzero(numbers == part).flatten()) for part in range(parts)]
