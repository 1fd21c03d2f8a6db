"""A key-value cache kept from one turn to the next, row by row.

Prompts are fed in segments, left-padded to one width; padding stays in the cache as holes that the
attention mask hides, and explicit position ids count only real tokens. Between calls rows of
finished episodes are dropped and holes are closed, and a prompt that extends a sequence of the
previous call feeds only its new part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

__all__ = ["KVStore", "PreallocatedLayer"]

_HOLES = 1.1
"""Width of the cache, relative to its longest row, at which holes are closed."""
_SPARE = 64
"""Positions kept free behind the last one, at least."""


class KVStore:
    """Cache, attention mask and positions of B rows.

    Attributes:
        cache: The transformers cache, W positions wide, or None when empty.
        reusable: Whether the cache may be kept: only full attention has no notion of places.
        mask: (B, W) long; 1 where the position holds a token of its row, 0 on padding.
        position: (B,) long; number of tokens each row holds, which is the next position id.
        rows: The token ids each row holds, in order.
    """

    def __init__(self, config: Any, device: torch.device) -> None:
        """Start empty; the configuration of the model decides the kind of cache."""
        self._config = config
        self._device = device
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.cache: DynamicCache | None = None
        self.reusable = False
        self.mask = torch.zeros((0, 0), dtype=torch.long, device=self._device)
        self.position = torch.zeros(0, dtype=torch.long, device=self._device)
        self.rows: list[list[int]] = []

    def enter(self, prompts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Arrange the rows for B prompts, each of length >= 1, and say what is still to be fed.

        Returns:
            For each prompt the tokens its row does not hold yet, at least one.
        """
        match = self._match(prompts)
        if 2 * sum(source is None for source in match) > len(match):
            self._begin(len(prompts))
            self.rows = [list(prompt) for prompt in prompts]
            return list(prompts)
        segments: list[Sequence[int]] = []
        for prompt, source in zip(prompts, match, strict=True):
            segments.append(prompt[0 if source is None else len(self.rows[source]) :])
        self._select(match)
        self.rows = [list(prompt) for prompt in prompts]
        return segments

    def append(self, columns: Tensor) -> Tensor:
        """Widen the mask by the next (B, L) positions to be fed: 1 on real tokens, 0 on padding.

        Returns:
            (B, L) position ids.
        """
        self.mask = torch.cat([self.mask, columns], dim=1)
        ids = (self.position[:, None] + columns.cumsum(1) - 1).clamp(min=0)
        self.position = self.position + columns.sum(1)
        return ids

    def extend(self, sampled: Sequence[Sequence[int]]) -> None:
        """Record the sampled tokens that were fed back: all but the last of each row."""
        for row, ids in zip(self.rows, sampled, strict=True):
            row += ids[:-1]
        if not self.reusable:
            self.clear()

    def _match(self, prompts: Sequence[Sequence[int]]) -> list[int | None]:
        """The cached row each prompt properly extends, each row used once."""
        match: list[int | None] = []
        unused = list(range(len(self.rows)))
        for prompt in prompts:
            source = next((r for r in unused if self._extends(prompt, self.rows[r])), None)
            if source is not None:
                unused.remove(source)
            match.append(source)
        return match

    @staticmethod
    def _extends(prompt: Sequence[int], row: list[int]) -> bool:
        """Whether a prompt is a row and at least one token more; checks the cheap end first."""
        size = len(row)
        return len(prompt) > size > 0 and prompt[size - 1] == row[-1] and list(prompt[:size]) == row

    def _begin(self, count: int) -> None:
        """Start with empty rows."""
        self.clear()
        self.cache = DynamicCache(config=self._config)
        self.reusable = all(type(layer) is DynamicLayer for layer in self.cache.layers)
        if self.reusable:
            self.cache.layers = [PreallocatedLayer() for _ in self.cache.layers]
        self.mask = torch.zeros((count, 0), dtype=torch.long, device=self._device)
        self.position = torch.zeros(count, dtype=torch.long, device=self._device)

    def _select(self, match: Sequence[int | None]) -> None:
        """Keep the matched rows in the prompts' order; others become rows that hide everything."""
        same = list(match) == list(range(len(self.rows)))
        index = torch.tensor([source or 0 for source in match], device=self._device)
        held = torch.tensor([source is not None for source in match], device=self._device).long()
        mask, self.position = self.mask[index] * held[:, None], self.position[index] * held
        width = int(self.position.max())
        columns = None
        if mask.shape[1] > _HOLES * width:
            # A stable sort of 0s before 1s moves the tokens of each row, in order, to its end.
            columns = mask.argsort(dim=1, stable=True)[:, -width:]
            mask = mask.gather(1, columns)
        self.mask = mask
        if same and columns is None:
            return
        assert self.cache is not None
        for layer in self.cache.layers:
            layer.repack(index, columns)


class PreallocatedLayer(DynamicLayer):
    """Full-attention keys and values (B, H, W, D) with spare room behind them.

    The dynamic layer of transformers copies all keys and values for every token; for small models
    that copy costs more than the model. This one writes in place and copies when room runs out.
    """

    def __init__(self) -> None:
        """Start empty; the first update decides shape, dtype and device."""
        super().__init__()
        self._room: list[Tensor] = []
        self._width = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Append (B, H, L, D) keys and values; returns views of all of them, (B, H, W + L, D)."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, self._width = self._width, self._width + key_states.shape[-2]
        self._reserve((key_states, value_states), start)
        for room, states in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, start : self._width] = states
        self._show()
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Number of positions held, W."""
        return self._width

    def repack(self, rows: Tensor, columns: Tensor | None) -> None:
        """Keep some rows, and of each row some positions.

        Keys carry their rotary position already and attention sees order only through the mask,
        so positions may move as long as their order stays.

        Args:
            rows: (B',) rows to keep, in the wanted order; a row may be repeated.
            columns: (B', W') positions to keep of each, in ascending order; None keeps all.
        """
        for i, room in enumerate(self._room):
            held = room[:, :, : self._width]
            if columns is None:
                kept = held.index_select(0, rows)
            else:
                kept = held.transpose(1, 2)[rows[:, None], columns].transpose(1, 2)
            shape = (*kept.shape[:2], kept.shape[2] + _SPARE, kept.shape[3])
            self._room[i] = room.new_empty(shape)
            self._room[i][:, :, : kept.shape[2]] = kept
        if columns is not None:
            self._width = columns.shape[1]
        self._show()

    def _reserve(self, like: tuple[Tensor, Tensor], held: int) -> None:
        """Make room for ``_width`` positions, half as many again and some more."""
        if self._room and self._room[0].shape[2] >= self._width:
            return
        old, size = self._room, self._width + self._width // 2 + _SPARE
        self._room = [x.new_empty((*x.shape[:2], size, x.shape[3])) for x in like]
        for new, before in zip(self._room, old, strict=False):
            new[:, :, :held] = before[:, :, :held]

    def _show(self) -> None:
        """Let the base class's attributes point at what is held."""
        self.keys, self.values = (room[:, :, : self._width] for room in self._room)
