"""A cache layer that writes in place and can be repacked, for decoding many turns with one cache.

The dynamic layer of transformers copies all keys and values for every token; for small models that
copy costs more than the model. This one keeps spare room and copies only when it runs out.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicLayer

__all__ = ["RoomyLayer"]

_SPARE = 64
"""Positions kept free behind the last one, at least."""


class RoomyLayer(DynamicLayer):
    """Full-attention keys and values (B, H, W, D) with spare room behind them."""

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
