"""A key-value cache of several sequences, from which rows are taken and into which rows are joined.

Prompts are fed in segments, left-padded to one width; padding stays in the cache as holes that the
attention mask hides, and explicit position ids count only real tokens. A batch of rows changes only
as a whole: ``gathered`` makes a new one of rows of others and closes holes where they are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import DynamicCache, PretrainedConfig
from transformers.cache_utils import DynamicLayer

__all__ = ["KVBatch", "PreallocatedLayer"]

_HOLES = 1.1
"""Width of the cache, relative to its longest row, at which holes are closed."""
_SPARE = 64
"""Positions kept free behind the last one, at least."""


class KVBatch:
    """Cache, attention mask and positions of B rows.

    Attributes:
        cache: The transformers cache, W positions wide.
        divisible: Whether rows can be taken out and joined: only full attention has no notion of
            places.
        mask: (B, W) long; 1 where the position holds a token of its row, 0 on padding.
        position: (B,) long; number of tokens each row holds, which is the next position id.
    """

    def __init__(self, config: PretrainedConfig, device: torch.device, count: int) -> None:
        """Begin empty rows; the configuration of the model decides the kind of cache."""
        self.cache = DynamicCache(config=config)
        self.divisible = all(type(layer) is DynamicLayer for layer in self.cache.layers)
        if self.divisible:
            self.cache.layers = [PreallocatedLayer() for _ in self.cache.layers]
        self.mask = torch.zeros((count, 0), dtype=torch.long, device=device)
        self.position = torch.zeros(count, dtype=torch.long, device=device)

    def __len__(self) -> int:
        """Return the number of rows, B."""
        return len(self.position)

    def append(self, columns: Tensor) -> Tensor:
        """Widen the mask by the next (B, L) positions to be fed: 1 on real tokens, 0 on padding.

        Returns:
            (B, L) position ids.
        """
        self.mask = torch.cat([self.mask, columns], dim=1)
        # (B, L); padding before the first token of a row would have position -1.
        ids = (self.position[:, None] + columns.cumsum(1) - 1).clamp(min=0)
        self.position = self.position + columns.sum(1)
        return ids

    @classmethod
    def gathered(cls, parts: Sequence[tuple[KVBatch, Sequence[int]]]) -> KVBatch:
        """Return one batch of chosen rows of several divisible ones, in that order.

        A batch of which all rows are wanted, and which has few holes, is returned itself.
        """
        parts = _merged(parts)
        first, wanted = parts[0]
        if len(parts) == 1 and wanted == list(range(len(first))) and not first._sparse():
            return first
        found = [(part, part._places(rows)) for part, rows in parts]
        new = cls.__new__(cls)  # __init__ would make layers that are replaced below.
        new.cache, new.divisible = DynamicCache(), True
        width = max(places.columns.shape[1] for _, places in found)
        new.mask = torch.cat(
            [_padded(part.mask[p.rows[:, None], p.columns], width) for part, p in found]
        )
        new.position = torch.cat([part.position[places.rows] for part, places in found])
        new.cache.layers = [
            PreallocatedLayer.gathered([(part.cache.layers[i], p) for part, p in found], width)
            for i in range(len(first.cache.layers))
        ]
        return new

    def _sparse(self) -> bool:
        """Whether there are holes worth closing."""
        return self.mask.shape[1] > _HOLES * int(self.position.max())

    def _places(self, rows: Sequence[int]) -> _Places:
        """Choose the positions of some rows: all, or those of tokens where there are many holes."""
        index = torch.tensor(rows, device=self.mask.device)
        width, held = int(self.position[index].max()), self.mask.shape[1]
        if held <= _HOLES * width:
            return _Places(index, torch.arange(held, device=index.device).expand(len(rows), -1))
        # A stable sort of 0s before 1s moves the tokens of each row, in order, to its end.
        return _Places(index, self.mask[index].argsort(dim=1, stable=True)[:, -width:])


class _Places(NamedTuple):
    """Which positions of which rows are taken."""

    rows: Tensor
    """(B',) rows."""
    columns: Tensor
    """(B', W') positions of each, in ascending order."""

    def flat(self, heads: int, room: int, width: int) -> Tensor:
        """Index them in keys or values (B, H, R, D) flattened to (B * H * R, D), row by row.

        Each row becomes W wide, and some spare room follows: what is left of its own positions,
        and the room, repeat one of them. The mask hides it, but a hidden NaN would still spread.
        """
        extra = (width - self.columns.shape[1], _SPARE)
        columns = torch.nn.functional.pad(self.columns, extra)
        head = torch.arange(heads, device=columns.device)[None, :, None]
        return ((self.rows[:, None, None] * heads + head) * room + columns[:, None]).flatten()


def _merged(parts: Sequence[tuple[KVBatch, Sequence[int]]]) -> list[tuple[KVBatch, list[int]]]:
    """Make one part of neighbours that are rows of the same batch."""
    merged: list[tuple[KVBatch, list[int]]] = []
    for batch, rows in parts:
        if merged and merged[-1][0] is batch:
            merged[-1][1].extend(rows)
        else:
            merged.append((batch, list(rows)))
    return merged


def _padded(mask: Tensor, width: int) -> Tensor:
    """Put holes before a (B, W) mask."""
    return torch.nn.functional.pad(mask, (width - mask.shape[1], 0))


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
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
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

    @classmethod
    def gathered(
        cls, parts: Sequence[tuple[PreallocatedLayer, _Places]], width: int
    ) -> PreallocatedLayer:
        """Make a layer of chosen rows of several, each part at the right end of its rows.

        Keys carry their rotary position already and attention sees order only through the mask,
        so positions may move as long as their order stays.
        """
        new = cls()
        first = parts[0][0]
        new.lazy_initialization(first.keys, first.values)
        new._width = width
        count = sum(len(places.rows) for _, places in parts)
        for like in first._room:
            new._room.append(like.new_empty((count, like.shape[1], width + _SPARE, like.shape[3])))
        begin = 0
        for layer, places in parts:
            rows = slice(begin, begin + len(places.rows))
            begin = rows.stop
            heads, held = layer._room[0].shape[1:3]
            index = places.flat(heads, held, width)
            for room, source in zip(new._room, layer._room, strict=True):
                # Written in place: a copy of its own would cost as much again.
                target = room[rows].flatten(0, 2)
                torch.index_select(source.flatten(0, 2), 0, index, out=target)
        new._show()
        return new

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
