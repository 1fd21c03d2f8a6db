"""A key-value cache whose rows stay in place while sequences start, continue and end."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer

from trainers.rollouts.engines.row_attention import Fed

__all__ = ["KVRows"]


class _Extent:
    """State shared by all layers of a cache."""

    def __init__(self, dtype: torch.dtype | None) -> None:
        """Begin without rows."""
        self.rows, self.room, self.dtype = 0, 0, dtype
        self._index: dict[int, Tensor] = {}

    def write_to(self, feds: Sequence[Fed], device: torch.device) -> None:
        """Set the positions for the next tokens."""
        self._row = torch.tensor([f.place for f in feds for _ in range(f.size)], device=device)
        self._position = torch.tensor(
            [f.n_cached + offset for f in feds for offset in range(f.size)], device=device
        )
        self._index.clear()

    def index(self, heads: int) -> Tensor:
        """Indices of the tokens' (T * H) heads in rows flattened to (S * H * R)."""
        if heads not in self._index:
            head = torch.arange(heads, device=self._row.device)
            row = (self._row[:, None] * heads + head) * self.room
            self._index[heads] = (row + self._position[:, None]).flatten()
        return self._index[heads]


class _RowLayer(DynamicLayer):
    """Keys and values (S, H, R, D) of one layer."""

    keys: Tensor
    values: Tensor

    def __init__(self, extent: _Extent) -> None:
        """Start empty; the first update decides heads, width, dtype and device."""
        super().__init__()
        self._extent = extent

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write (1, H, T, D) keys and values to their rows; returns all rows."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        dtype = self._extent.dtype or key_states.dtype
        self.keys = self._write_rows(self.keys, key_states.to(dtype))
        self.values = self._write_rows(self.values, value_states.to(dtype))
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Return 0: there are several lengths, and position ids are always given."""
        return 0

    def grow(self) -> None:
        """Grow to the size in the extent."""
        self.keys, self.values = self._grown(self.keys), self._grown(self.values)

    def _grown(self, rows: Tensor) -> Tensor:
        """Return rows grown to the size in the extent."""
        size = (self._extent.rows, rows.shape[1], self._extent.room, rows.shape[3])
        if rows.shape == size:
            return rows
        # Zeros, because masks hide unwritten positions, but a hidden NaN would spread.
        grown = rows.new_zeros(size)
        grown[: rows.shape[0], :, : rows.shape[2]] = rows
        return grown

    def _write_rows(self, rows: Tensor, states: Tensor) -> Tensor:
        """Write states to rows, after adding rows if needed."""
        heads, width = states.shape[1], states.shape[3]
        if not rows.numel():
            rows = states.new_zeros((0, heads, 0, width))
        rows = self._grown(rows)
        tokens = states[0].transpose(0, 1).reshape(-1, width)
        rows.view(-1, width).index_copy_(0, self._extent.index(heads), tokens)
        return rows


class KVRows:
    """Rows of keys and values, found by the key of their sequence.

    Attributes:
        cache: The cache object for the model.
    """

    def __init__(
        self, layers: int, dtype: torch.dtype | None = None, rows: int = 0, room: int = 0
    ) -> None:
        """Begin without rows.

        Args:
            layers: Layers of the model.
            dtype: Type of keys and values; None: that of the first keys.
            rows: Maximum rows to allocate in advance; 0: unknown.
            room: Maximum positions of a row to allocate in advance; 0: unknown.
        """
        self._extent, self._capacity = _Extent(dtype), (rows, room)
        self.cache = Cache(layers=[_RowLayer(self._extent) for _ in range(layers)])
        self._places: dict[int, int] = {}

    def forget(self) -> None:
        """Release all rows; their memory is reused."""
        self._places.clear()

    def place(self, key: int) -> int:
        """Return the row of a sequence, a new one if it has none."""
        return self._places.setdefault(key, len(self._places))

    def reserve(self, feds: Sequence[Fed], device: torch.device) -> None:
        """Allocate space for the next tokens, and direct the next update there."""
        extent, need = self._extent, max(fed.n_cached + fed.size for fed in feds)
        self._reserve_rows()
        if need > extent.room:
            extent.room = _spared(need, self._capacity[1])
        extent.write_to(feds, device)

    def _reserve_rows(self) -> None:
        """Make sure that every sequence has a row."""
        if (rows := len(self._places)) > self._extent.rows:
            # Rows usually start together; if they come one by one, not each should cost a copy.
            self._extent.rows = _spared(rows, self._capacity[0]) if self._extent.rows else rows

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Copy the first tokens of a row to other rows."""
        self._reserve_rows()
        for layer in self.cache.layers:
            layer.grow()
            for rows in (layer.keys, layer.values):
                rows[list(targets), :, :count] = rows[source, :, :count]


def _spared(need: int, limit: int) -> int:
    """Return one and a half times the needed size, up to the known maximum."""
    spare = need + need // 2
    return max(need, min(spare, limit)) if limit else spare
