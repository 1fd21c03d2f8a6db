"""Rows of a micro-batch as one input row that holds each shared prefix once.

Labels belong to nodes of the prefix tree: the distribution after a prefix is needed once per
distinct next token. Whether a model supports such calls is found out by trying: its attention has
to go through :mod:`~trainers.rollouts.scoring.shared_attention` in every layer, and nothing else
may mix tokens, as state-space layers do.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.scoring.prefix_tree import IntArray, PrefixTree, pays, prefix_tree
from trainers.rollouts.scoring.shared_attention import ARGUMENT, SharedAttention, install
from trainers.rollouts.scoring.tensors import IGNORED

__all__ = [
    "PackedRows",
    "computes_packed_rows",
    "gathered_states",
    "longest_row",
    "pack",
    "tree_inputs",
]

logger = logging.getLogger(__name__)

TOLERANCE, ROUGH = 1e-3, 0.1
"""Relative difference of hidden states explained by rounding: in float32, in lower precision."""
WINDOWS = ("sliding_window", "attention_chunk_size")
"""Settings that limit how far attention reaches back, in tokens."""


class PackedRows(NamedTuple):
    """K labelled tokens of rows, P distinct pairs of a prefix and a label, N distinct prefixes."""

    tree: PrefixTree
    """The rows' tokens."""
    sources: Tensor
    """(P,) index of each pair's prefix in the tree."""
    labels: Tensor
    """(P,) label of each pair."""
    pairs: Tensor
    """(K,) pair of each labelled token, row by row."""

    def inputs(self) -> dict[str, Any]:
        """Arguments of the model's call."""
        return tree_inputs(self.tree, self.labels.device)


def pack(rows: Sequence[IntArray], labels: Tensor) -> PackedRows | None:
    """Pack rows; None if that would save little.

    Args:
        rows: Token ids of each row before its last label, from the first column on.
        labels: (B, W) ids of the labelled tokens, -100 elsewhere.
    """
    tree = prefix_tree(rows)
    if not pays(len(tree.ids), sum(map(len, rows))):
        return None
    columns = labels.cpu().numpy()
    labelled = columns != IGNORED
    # The logits of a token are at the position before it.
    sources = [
        tree.places[row][column - 1] for row, column in zip(*np.nonzero(labelled), strict=True)
    ]
    positions = np.stack([sources, columns[labelled]])  # (2, K)
    distinct, pairs = np.unique(positions, axis=1, return_inverse=True)
    # Flat: with an axis the shape of the inverse differs between versions of NumPy.
    parts = (*distinct, pairs.ravel())
    return PackedRows(tree, *(torch.from_numpy(part).to(labels.device) for part in parts))


def tree_inputs(tree: PrefixTree, device: torch.device) -> dict[str, Any]:
    """Return the arguments with which a model computes the N tokens of a tree as one row."""
    install()
    ids, positions = (torch.from_numpy(part)[None].to(device) for part in tree[:2])
    return {
        "input_ids": ids,
        "position_ids": positions,
        # Attention ignores it; without one the model would build an N x N mask.
        "attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=device),
        ARGUMENT: SharedAttention.of(tree, device),
    }


@contextmanager
def gathered_states(model: nn.Module, sources: Tensor) -> Iterator[list[Tensor]]:
    """Let a model's head only process the final hidden states of chosen positions, (1, P, H).

    Yields:
        The hidden states (P, H) of each pass.
    """
    states: list[Tensor] = []

    def gather(module: nn.Module, inputs: Any, output: Any) -> Any:
        states.append(output.last_hidden_state[0].index_select(0, sources))
        output.last_hidden_state = states[-1][None]
        return output

    handle = base_model(model).base_model.register_forward_hook(gather)
    try:
        yield states
    finally:
        handle.remove()


def longest_row(model: nn.Module) -> int:
    """Return the maximum length of a row with full attention in every layer."""
    config = base_model(model).config.get_text_config()
    limits = [getattr(config, name, None) for name in WINDOWS]
    return min((int(limit) for limit in limits if limit), default=sys.maxsize)


@cache
def report_single_rows(reason: str) -> None:
    """Log, once for each reason, that prefixes are computed for every row that begins with them."""
    logger.warning("training computes a prefix again for each row that shares it: %s", reason)


@torch.no_grad()
def computes_packed_rows(model: nn.Module, *, fused_head: bool = False) -> bool:
    """Find out whether a model computes packed rows as it computes single ones, and log if not.

    Args:
        model: The model.
        fused_head: Whether TRL has given it its fused head, through which it is then called: a copy
            of such a model otherwise runs the layers of the model that it was copied from.
    """
    problem = _problem(model, fused_head)
    if problem:
        logger.warning(
            "training computes a prefix again for each row that shares it, because %s cannot "
            "compute it once: %s", type(base_model(model)).__name__, problem,
        )  # fmt: skip
    return problem is None


def _problem(model: nn.Module, fused_head: bool) -> str | None:
    """Return why a model cannot compute packed rows; None if it can."""
    config = base_model(model).config.get_text_config()
    if config._attn_implementation != "sdpa":
        return f"expected the attention 'sdpa', got {config._attn_implementation!r}"
    weight = next(model.parameters())
    rows = _example_rows(config.vocab_size)
    tree = prefix_tree(rows)
    inputs = tree_inputs(tree, weight.device)
    inputs[ARGUMENT] = counted = _Counted(inputs[ARGUMENT])
    try:
        packed = _states(model, fused_head, **inputs)
    # Models fail in many ways with unknown arguments.
    except (TypeError, ValueError, RuntimeError, LookupError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    if counted.calls != config.num_hidden_layers:
        return f"{counted.calls} of {config.num_hidden_layers} layers attend by rows"
    single = [torch.from_numpy(row)[None].to(weight.device) for row in rows]
    expected = torch.cat([_states(model, fused_head, input_ids=ids) for ids in single])
    gap = (packed[np.concatenate(tree.places)] - expected).norm() / expected.norm()
    rough = weight.dtype.itemsize < 4 or torch.is_autocast_enabled(weight.device.type)
    return None if gap < (ROUGH if rough else TOLERANCE) else f"states differ by {float(gap):.2g}"


def _example_rows(vocabulary: int) -> list[IntArray]:
    """Return rows with long, short and nested shared prefixes."""
    ids = (np.arange(48) * 7919 + 11) % vocabulary
    ends = ((16, 24, 32), (16, 32, 36), (4, 36, 46))
    return [ids[:24], *(np.concatenate([ids[:a], ids[b:c]]) for a, b, c in ends), ids[:28]]


def _states(model: nn.Module, fused_head: bool, **inputs: Any) -> Tensor:
    """Return the final hidden states (N, H) of all tokens of an input row."""
    places = torch.arange(inputs["input_ids"].shape[1], device=inputs["input_ids"].device)
    labels = torch.zeros_like(places)[None]
    head = {"shift_labels": labels, "fused_lm_head": True} if fused_head else {"use_cache": False}
    with gathered_states(model, places) as states:
        model(**inputs, **head)
    return states[0].float()


class _Counted:
    """Attention that counts its calls."""

    def __init__(self, attend: SharedAttention) -> None:
        self.calls, self._attend = 0, attend

    def __call__(self, *args: Any) -> Tensor:
        """Attend."""
        self.calls += 1
        return self._attend(*args)
