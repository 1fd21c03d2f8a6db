"""Attention over the rows of a key-value cache, in place.

The tokens of a forward pass are packed without padding, so linear layers do not see rows. Only
attention does, and it reads the keys and values of a row in place, so rows join and leave a batch
without a copy. A long segment gets its own attention call, which wastes nothing; shorter segments
of similar length are padded together, because a call for each would cost more than the padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from agentgym.errors import NotSupported

__all__ = ["ROW_ATTENTION", "Fed", "RowLayout", "row_attention"]

ROW_ATTENTION = "agentgym-rows"
"""Name under which transformers finds :func:`row_attention`; masks are not made for it."""
SHORT, LONG = 4, 64
"""Segment lengths: up to the first all count as equally long, above the second each gets its own
call."""
BLOCK = 32
"""Maximum rows of one attention call."""


class Fed(NamedTuple):
    """The tokens fed to a row."""

    place: int
    """The row."""
    n_cached: int
    """Cached tokens before them."""
    size: int
    """Their number."""

    @property
    def kind(self) -> int:
        """Length class: segments of a class, up to twice as long, are padded together."""
        return (max(self.size, SHORT) - 1).bit_length()


class _Single(NamedTuple):
    """A segment with its own attention call."""

    fed: Fed
    tokens: slice
    """Where its tokens are among all."""
    mask: Tensor | None
    """(L, W) mask to add; None for a first segment or a single token."""


class _Block(NamedTuple):
    """Segments of several rows, padded to the longest of them."""

    rows: slice | Tensor
    """The rows: a contiguous slice, in place, or indices, which copy."""
    tokens: slice
    """Where their tokens are among all."""
    width: int
    """Positions of the longest row."""
    length: int
    """Tokens of the longest segment, L."""
    take: Tensor
    """(B * L) token indices, row by row; padding repeats one."""
    back: Tensor
    """Position of each token among these."""
    mask: Tensor
    """(B, 1, L, W) to be added: 0 where a token sees a position, else -inf."""


class RowLayout:
    """The layout of a forward pass over rows; made once for all layers.

    Attributes:
        singles: Segments with their own call.
        blocks: Segments padded together.
    """

    def __init__(self, feds: Sequence[Fed], device: torch.device) -> None:
        """Divide segments, which must be sorted by kind and row, like their tokens.

        Args:
            feds: The segments.
            device: Where keys are.
        """
        self.singles: list[_Single] = []
        self.blocks: list[_Block] = []
        start = 0
        for (_, long), group in groupby(feds, key=lambda fed: (fed.kind, fed.size > LONG)):
            alike = list(group)
            size = 1 if long else BLOCK
            for some in (alike[start : start + size] for start in range(0, len(alike), size)):
                tokens = slice(start, start + sum(fed.size for fed in some))
                start = tokens.stop
                if len(some) == 1:
                    self.singles.append(_Single(some[0], tokens, _causal(some[0], device)))
                else:
                    self.blocks.append(_block(some, tokens, device))


def _causal(fed: Fed, device: torch.device) -> Tensor | None:
    """The mask of a single segment; None if none is needed."""
    # `is_causal` suffices without a cache, and a single token sees all positions.
    if not fed.n_cached or fed.size == 1:
        return None
    mask = torch.full((fed.size, fed.n_cached + fed.size), -torch.inf, device=device)
    return mask.triu_(fed.n_cached + 1)


def _block(some: Sequence[Fed], tokens: slice, device: torch.device) -> _Block:
    """Combine segments: in place if at least every other row of their range is fed."""
    places, n_cached, count = np.array(some).T
    starts = tokens.start + np.cumsum(count) - count
    low, high = int(places[0]), int(places[-1]) + 1
    rows: slice | Tensor = slice(low, high)
    if high - low <= 2 * len(some):
        # Rows in between that are not fed attend to one position; the result is unused.
        offsets = places - low
        n_cached, count, starts = (
            _spread(array, offsets, high - low) for array in (n_cached, count, starts)
        )
        # Any token will do for rows that are not fed.
        starts[count == 0] = tokens.start
    else:
        rows = torch.from_numpy(places).to(device)
    length = int(count.max())
    column = np.minimum(np.arange(length), np.maximum(count - 1, 0)[:, None])  # (B, L)
    position = n_cached[:, None] + column
    width = int(position.max()) + 1
    hidden = torch.from_numpy(np.arange(width) > position[:, None, :, None])
    return _Block(
        rows,
        tokens,
        width,
        length,
        torch.from_numpy((starts[:, None] + column).ravel()).to(device),
        torch.from_numpy(np.flatnonzero(np.arange(length) < count[:, None])).to(device),
        torch.zeros(hidden.shape).masked_fill_(hidden, -torch.inf).to(device),
    )


def _spread(values: NDArray[np.int64], offsets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Scatter values into a longer array of zeros."""
    spread = np.zeros(size, dtype=np.int64)
    spread[offsets] = values
    return spread


def row_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    layout: RowLayout | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """Attend from packed tokens to rows; an attention function of transformers.

    Args:
        module: The layer.
        query: (1, H, T, D) queries of all tokens.
        key: (S, K, R, D) keys of all rows, of which R positions are kept; H is a multiple of K.
        value: (S, K, R, D') values of all rows.
        attention_mask: None.
        scaling: Factor of the scores.
        layout: The layout of the pass.
        **kwargs: Other arguments of the layer.

    Returns:
        (1, T, H, D') outputs, and no weights.

    Raises:
        NotSupported: The layer uses an attention feature that is not implemented here.
    """
    odd = [name for name in ("softcap", "s_aux", "position_bias") if kwargs.get(name) is not None]
    if layout is None or attention_mask is not None or odd:
        raise NotSupported(f"expected plain causal attention, got {type(module).__name__} {odd}")
    query = query.to(key.dtype)
    out = query.new_empty((query.shape[2], query.shape[1], value.shape[-1]))
    for block in layout.blocks:
        out[block.tokens] = _together(block, query, key, value, scaling)
    for single in layout.singles:
        out[single.tokens] = _alone(single, query, key, value, scaling)
    return out[None], None


def _together(
    block: _Block, query: Tensor, key: Tensor, value: Tensor, scaling: float | None
) -> Tensor:
    """Attend from the tokens of a block; (T', H, D')."""
    if isinstance(block.rows, slice):
        keys, values = (states[block.rows, :, : block.width] for states in (key, value))
    else:
        keys, values = (
            states[:, :, : block.width].index_select(0, block.rows) for states in (key, value)
        )
    rows, heads, shared = len(keys), key.shape[1], query.shape[1] // key.shape[1]
    queries = query[0].index_select(1, block.take).unflatten(1, (rows, block.length))
    # (B, K, G * L, D): queries that share a key head are folded into its sequence.
    mask = block.mask.to(key.dtype)
    grouped_queries = queries.unflatten(0, (heads, shared)).permute(2, 0, 1, 3, 4).flatten(2, 3)
    output = scaled_dot_product_attention(
        grouped_queries,
        keys,
        values,
        attn_mask=mask.repeat(1, 1, shared, 1) if shared > 1 else mask,
        scale=scaling,
    )
    output = output.unflatten(2, (shared, block.length)).permute(0, 3, 1, 2, 4)  # (B, L, K, G, D')
    return output.reshape(-1, heads * shared, value.shape[-1]).index_select(0, block.back)


def _alone(
    single: _Single, query: Tensor, key: Tensor, value: Tensor, scaling: float | None
) -> Tensor:
    """Attend from the tokens of one segment; (L, H, D')."""
    heads, shared = key.shape[1], query.shape[1] // key.shape[1]
    width = single.fed.n_cached + single.fed.size
    output = scaled_dot_product_attention(
        query[0, :, single.tokens].unflatten(0, (heads, shared)),  # (K, G, L, D)
        key[single.fed.place, :, None, :width].expand(-1, shared, -1, -1),
        value[single.fed.place, :, None, :width].expand(-1, shared, -1, -1),
        attn_mask=None if single.mask is None else single.mask.to(key.dtype),
        is_causal=not single.fed.n_cached and single.fed.size > 1,
        scale=scaling,
    )
    return output.flatten(0, 1).transpose(0, 1)


AttentionInterface.register(ROW_ATTENTION, row_attention)
