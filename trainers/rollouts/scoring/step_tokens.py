"""The sampled tokens of a step: in the rows of a process, and of all processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from trainers.rollouts.scoring.tensors import gather_tokens, scatter_tokens
from trainers.rollouts.trajectory import Trajectory, sampled_once

__all__ = ["StepTokens"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StepTokens:
    """Convert between the columns (B, T) of a process and the tokens of all processes' episodes.

    Rows hold a token shared by forked episodes once: U of the K tokens of the episodes.
    """

    mask: Tensor
    """(B, T) sampled tokens of the rows."""
    place: slice
    """Indices of these tokens among the U tokens of all processes."""
    once: IntArray | None
    """(K,) index of each token among the U; None: no token is shared."""
    gather: Callable[[list[Any]], list[Any]]
    """Gathers the items of all processes, in rank order."""

    @classmethod
    def of(
        cls,
        mask: Tensor,
        gathered: Sequence[Trajectory],
        episode_slice: slice,
        *,
        once: bool,
        gather: Callable[[list[Any]], list[Any]],
    ) -> StepTokens:
        """Find the tokens of a process.

        Args:
            mask: (B, T) sampled tokens of its rows.
            gathered: Episodes of all processes.
            episode_slice: Indices of this process's episodes. Their tokens are counted, not the
                mask's: a mask that lost tokens must not shift values onto others.
            once: Whether rows hold a token of several episodes once.
            gather: Gathers the items of all processes, in rank order.
        """
        tokens = [episode.own_tokens if once else episode.action_tokens for episode in gathered]
        tokens_before = sum(tokens[: episode_slice.start])
        token_slice = slice(tokens_before, tokens_before + sum(tokens[episode_slice]))
        episodes = [episode for episode in gathered if not episode.unplayed]
        return cls(mask, token_slice, sampled_once(episodes) if once else None, gather)

    def packed(self, column: Tensor) -> FloatArray:
        """Return a column as the (K,) tokens of the episodes of all processes."""
        values = np.array(self.gather(gather_tokens(column, self.mask).tolist()), dtype=np.float64)
        return values if self.once is None else values[self.once]

    def column(self, values: npt.NDArray[np.generic]) -> Tensor:
        """Return the column of (U,) values of the tokens that rows hold."""
        return scatter_tokens(values[self.place], self.mask)

    def summed(self, values: FloatArray) -> Tensor:
        """Return the column of (K,) values, summed over the episodes that share a token."""
        return self.column(values if self.once is None else np.bincount(self.once, values))
