"""Attention over a tree of prefixes: each row's own queries against all of its keys.

A model computes everything but attention token by token, so the tokens of a tree
(:mod:`~trainers.rollouts.scoring.prefix_tree`) can be its only input row. In attention a row needs
the keys and values of its shared prefix as well: they are copied into rows of keys, the queries of
the tokens that belong to the row attend to them, and the results are gathered back into the tree. A
mask of the whole tree would instead cost the square of its size.

Transformers calls the attention of a model by name, and hands it the keyword arguments of the
model's call. :func:`install` replaces "sdpa" by a function that does so if it finds a
:class:`SharedAttention` among them, and otherwise calls the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from trainers.rollouts.scoring.prefix_tree import IntArray, PrefixTree

__all__ = ["ARGUMENT", "SharedAttention", "install"]

ARGUMENT = "shared_attention"
"""Name of the keyword argument of a model's call."""
LEAST_SHARED = 0.25
"""Share of a row's tokens that must belong to other rows for a mask to pay: attention without one
is causal, and half as much work."""
WASTE, SMALL = 1.3, 16_384
"""Rows of different sizes are computed together while their padded size is at most this multiple of
their own, or while padding costs fewer pairs of tokens than this."""


@dataclass(frozen=True)
class _Copy:
    """Copies rows of N tensors; gradients of copies are summed in a fixed order by one call."""

    index: Tensor
    """(M,) source of each copy."""
    order: Tensor
    """(M,) the copies, sorted by source."""
    begins: Tensor
    """(N,) first entry of ``order`` of each tensor's copies."""

    @classmethod
    def of(cls, index: IntArray, size: int, device: torch.device) -> _Copy:
        counts = np.bincount(index, minlength=size)
        parts = index, np.argsort(index, kind="stable"), np.cumsum(counts) - counts
        return cls(*(torch.from_numpy(part).to(device) for part in parts))

    def __call__(self, values: Tensor) -> Tensor:
        """Copy values (N, D) to (M, D)."""
        copies: Tensor = _Copied.apply(values, self.index, self.order, self.begins)
        return copies


class _Copied(torch.autograd.Function):
    """``index_select``, whose own gradient adds row by row: slowly, and on GPUs in any order."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, index: Tensor, order: Tensor, begins: Tensor) -> Tensor:
        ctx.save_for_backward(order, begins)
        return values.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        order, begins = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        # One sum per tensor over its copies in sorted order, so the result is deterministic.
        total = torch.nn.functional.embedding_bag(order, gradient, begins, mode="sum")
        return total, None, None, None


@dataclass(frozen=True)
class _Rows:
    """Rows of similar sizes that are computed together."""

    queries: _Copy
    """(b x C) queries."""
    keys: _Copy
    """(b x T) keys and values."""
    count: int
    """Number of rows b."""
    visible: Tensor | None
    """(b, 1, C, T) mask of the keys that each query sees; None: causal, C = T."""

    def attend(
        self, module: Any, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
    ) -> Tensor:
        """Attend; (b x C, heads, width) for inputs (N, heads, width)."""
        query, key, value = (
            copy(values.flatten(1)).view(self.count, -1, *values.shape[1:]).transpose(1, 2)
            for values, copy in ((query, self.queries), (key, self.keys), (value, self.keys))
        )
        if self.visible is not None and query.device.type == "cpu":
            out = _attend_on_cpu(query, key, value, self.visible, options)
        else:
            out, _ = sdpa_attention_forward(module, query, key, value, self.visible, **options)
        return out.flatten(0, 1)


def _attend_on_cpu(
    query: Tensor, key: Tensor, value: Tensor, visible: Tensor, options: dict[str, Any]
) -> Tensor:
    """Attend under a mask; (b, C, heads, width) for inputs (b, heads, C, width).

    Heads that share keys become queries of one head, so that keys are not repeated, and all is
    computed in float32, in which PyTorch's CPU kernel is faster than in bfloat16: together twice as
    fast, forward and backward.
    """
    group = query.shape[1] // key.shape[1]
    folded = query.reshape(len(query), key.shape[1], -1, query.shape[-1])
    dtype = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast("cpu", enabled=False):
        out = scaled_dot_product_attention(
            folded.to(dtype),
            key.to(dtype),
            value.to(dtype),
            attn_mask=visible.repeat(1, 1, group, 1),
            dropout_p=options.get("dropout", 0.0),
            scale=options.get("scaling"),
        )
    return out.to(query.dtype).reshape(*query.shape[:-1], -1).transpose(1, 2)


@dataclass(frozen=True)
class SharedAttention:
    """The rows of a tree, as attention computes them; a keyword argument of the model's call."""

    rows: list[_Rows]
    results: _Copy
    """(N,) places of the results of the tree's tokens among those of all rows."""

    @classmethod
    def of(cls, tree: PrefixTree, device: torch.device) -> SharedAttention:
        """Group the rows of a tree for joint computation."""
        sizes = [len(places) for places in tree.places]
        # A row that shares little is computed completely, and its shared results are unused.
        starts = [
            int(shared) if shared >= LEAST_SHARED * size else 0
            for size, shared in zip(sizes, tree.shared, strict=True)
        ]
        owned = [row for row, size in enumerate(sizes) if size > tree.shared[row]]
        rows, positions, total = [], np.zeros(len(tree.ids), np.int64), 0
        for members in _alike(owned, starts, sizes):
            width = max(sizes[row] - starts[row] for row in members)
            for k, member in enumerate(members):
                own_places = tree.places[member][tree.shared[member] :]
                first = total + k * width + int(tree.shared[member]) - starts[member]
                # A token's result comes from the row that owns it.
                positions[own_places] = np.arange(first, first + len(own_places))
            rows.append(_rows(tree, members, starts, width, device))
            total += len(members) * width
        return cls(rows, _Copy.of(positions, total, device))

    def __call__(
        self, module: Any, query: Tensor, key: Tensor, value: Tensor, options: dict[str, Any]
    ) -> Tensor:
        """Attend; (1, N, heads, width) for inputs (1, heads, N, width)."""
        query, key, value = (states[0].transpose(0, 1) for states in (query, key, value))
        parts = [rows.attend(module, query, key, value, options) for rows in self.rows]
        out = torch.cat(parts) if len(parts) > 1 else parts[0]
        return self.results(out.flatten(1)).view(1, -1, *out.shape[1:])


def _alike(owned: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Group rows of similar numbers of queries and keys, those without a mask apart."""
    parts: list[list[int]] = []
    queries = keys = pairs = 0
    for row in sorted(
        owned, key=lambda row: (starts[row] > 0, starts[row] - sizes[row], -sizes[row])
    ):
        size = sizes[row] - starts[row]
        wide, long = max(queries, size), max(keys, sizes[row])
        alike = bool(parts) and (starts[parts[-1][0]] > 0) == (starts[row] > 0)
        if alike:
            padded, needed = (len(parts[-1]) + 1) * wide * long, pairs + size * sizes[row]
            alike = padded <= max(WASTE * needed, needed + SMALL)
        if alike:
            parts[-1].append(row)
            queries, keys, pairs = wide, long, pairs + size * sizes[row]
        else:
            parts.append([row])
            queries, keys, pairs = size, sizes[row], size * sizes[row]
    return parts


def _rows(
    tree: PrefixTree,
    members: Sequence[int],
    starts: Sequence[int],
    width: int,
    device: torch.device,
) -> _Rows:
    """Return some rows of a tree, whose queries begin behind ``starts``, padded on the right."""
    length = max(len(tree.places[member]) for member in members)
    queries = np.zeros((len(members), width), np.int64)
    keys = np.zeros((len(members), length), np.int64)
    begins = np.array([starts[member] for member in members])
    for k, member in enumerate(members):
        places = tree.places[member]
        queries[k, : len(places) - begins[k]] = places[begins[k] :]
        keys[k, : len(places)] = places
    visible = None
    if begins.any():
        last = begins[:, None, None] + np.arange(width)[:, None]  # The place of each query.
        visible = torch.from_numpy(np.arange(length) <= last)[:, None].to(device)
    size = len(tree.ids)
    return _Rows(
        _Copy.of(queries.ravel(), size, device),
        _Copy.of(keys.ravel(), size, device),
        len(members),
        visible,
    )


def install() -> None:
    """Let "sdpa" attend by rows where a model is called with a :class:`SharedAttention`."""
    ALL_ATTENTION_FUNCTIONS.register("sdpa", _attention)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attend as "sdpa" does, or by the rows of a tree."""
    shared: SharedAttention | None = options.pop(ARGUMENT, None)
    if shared is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)
    return shared(module, query, key, value, options), None
