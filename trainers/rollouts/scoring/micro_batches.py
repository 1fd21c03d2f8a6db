"""Micro-batches by a token budget: group the rows of an update into forward and backward passes.

TRL fixes the number of rows of a micro-batch. Rows of agents differ in length by an order of
magnitude, so a number that is safe for the longest wastes most of the device on the others. Here
rows are sorted by length, the longest first, and taken together while rows x width stays within the
budget. All micro-batches of an update add up to one gradient, so their composition is free.

Collective operations need equally many micro-batches, with equally many rows, in every process. The
k-th longest row of a process therefore counts as long as the longest of all processes' k-th rows.

Where the forward pass computes shared prefixes once, rows that share most are neighbours instead,
and the budget counts the tokens of their tree (:mod:`~trainers.rollouts.scoring.prefix_tree`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from trainers.rollouts.scoring.prefix_tree import divided_rows, pays, prefix_tree
from trainers.rollouts.scoring.tensors import left_aligned, needed_columns, row_inputs, sampled_mask

__all__ = ["MicroBatch", "accumulating", "divided", "micro_batches", "packed_micro_batches"]


class MicroBatch(NamedTuple):
    """Rows that go through the model together."""

    rows: Tensor
    """(n,) their indices in the batch."""
    share: float
    """Share of these rows in the trained tokens of all micro-batches and processes."""


def micro_batches(
    batch: Mapping[str, Tensor],
    budget: int | None,
    gather: Callable[[Tensor], Tensor] | None = None,
) -> list[MicroBatch]:
    """Divide the rows of a batch; rows without trained tokens in any process are left out.

    Args:
        batch: Padded tensors under TRL's names.
        budget: Maximum tokens of a micro-batch, including padding; a longer row forms its own.
            None: all rows at once.
        gather: Joins the tensors of all processes along the first axis; None: there is one process.

    Returns:
        At least one micro-batch. The longest rows come first, so that running out of memory shows
        at once.
    """
    needed, prompt = needed_columns(batch), batch["prompt_mask"].sum(1)  # (B,) tokens each.
    order = torch.where(needed > 0, needed + prompt, 0).argsort(descending=True, stable=True)
    trained = sampled_mask(batch).sum(1)
    sizes = torch.stack([prompt * (needed > 0), needed, trained], dim=1)[order][None]
    sizes = gather(sizes) if gather else sizes  # (processes, B, 3)
    longest, tokens = sizes.max(0).values.tolist(), sizes[:, :, 2].sum(0).tolist()
    # Without trained tokens one pass is still made, because distributed wrappers wait for it.
    widths = [(prompt, completion) for prompt, completion, _ in longest if completion] or [(1, 1)]
    total = max(1, sum(tokens))
    return [MicroBatch(order[part], sum(tokens[part]) / total) for part in divided(widths, budget)]


def packed_micro_batches(
    batch: Mapping[str, Tensor],
    budget: int | None,
    gather: Callable[[Tensor], Tensor] | None = None,
) -> list[MicroBatch]:
    """Divide the rows of a batch for passes that compute shared prefixes once.

    Args:
        batch: Padded tensors under TRL's names, with equally many rows in every process.
        budget: Maximum tokens of the tree of a micro-batch. None: all rows at once.
        gather: Joins the tensors of all processes along the first axis; None: there is one process.

    Returns:
        At least one micro-batch, equally many in every process, the largest first, or those of
        :func:`micro_batches` where trees would save little. Rows without
        trained tokens stand only where a process has fewer others than there are micro-batches.
    """
    ids, _, labels, _ = left_aligned(batch, sampled_mask(batch))
    rows = row_inputs(ids, labels)
    device = batch["completion_ids"].device
    tree, alone = len(prefix_tree(rows).ids), sum(map(len, rows))
    sizes = torch.tensor([[tree, alone]], device=device)
    if not pays(*(gather(sizes) if gather else sizes).sum(0).tolist()):
        return micro_batches(batch, budget, gather)
    parts = divided_rows(rows, budget) or [[0]]
    if gather:
        counts = gather(torch.tensor([len(parts)], device=device))
        parts = _stretched(parts, int(counts.max()), len(rows))
    indices = [torch.tensor(part, device=device) for part in parts]
    trained = sampled_mask(batch).sum(1)
    tokens = torch.stack([trained[part].sum() for part in indices])[None]
    tokens = (gather(tokens) if gather else tokens).sum(0)
    shares = (tokens / tokens.sum().clamp(min=1)).tolist()
    return [MicroBatch(*pair) for pair in zip(indices, shares, strict=True)]


def _stretched(parts: list[list[int]], count: int, rows: int) -> list[list[int]]:
    """Divide parts further, until there are ``count``; padding rows fill up if none is left."""
    idle = sorted(set(range(rows)).difference(*parts))
    parts = list(parts)
    while len(parts) < count:
        widest = max(range(len(parts)), key=lambda k: len(parts[k]))
        half = len(parts[widest]) // 2
        parts[widest : widest + 1] = (
            [parts[widest][:half], parts[widest][half:]] if half else [parts[widest], [idle.pop()]]
        )
    return parts


def divided(widths: Sequence[tuple[int, int]], budget: int | None) -> list[slice]:
    """Divide rows, in their order, into runs whose padded size stays within a budget.

    Args:
        widths: Tokens of the prompt and of the rest of each row; prompts are padded on the left.
        budget: Maximum rows x width of a run of more than one row; None: no limit.
    """
    parts, start, prompt, response = [], 0, 0, 0
    for index, (first, second) in enumerate(widths):
        prompt, response = max(prompt, first), max(response, second)
        if budget and index > start and (index + 1 - start) * (prompt + response) > budget:
            parts.append(slice(start, index))
            start, prompt, response = index, first, second
    return [*parts, slice(start, len(widths))]


@contextmanager
def accumulating(accelerator: Accelerator, model: nn.Module) -> Iterator[None]:
    """Accumulate gradients without an update, in every micro-batch of an update but the last.

    DDP then reduces them once. FSDP still reduces each time, because the gradients of all weights
    would not fit on one device; so do ZeRO 2 and 3, which support nothing else, and whose engine
    would update the weights after a micro-batch marked as the last.
    """
    state = accelerator.gradient_state
    was_syncing = state.sync_gradients
    alone = model.no_sync() if isinstance(model, DistributedDataParallel) else nullcontext()
    # A private method: accelerate's `accumulate` counts passes, whose number varies here.
    state._set_sync_gradients(False)
    try:
        with alone:
            yield
    finally:
        state._set_sync_gradients(was_syncing)
