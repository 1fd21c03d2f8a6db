"""Micro-batches without waste: rows of like length together, columns nobody needs cut off.

TRL pads a whole generation batch to one width and shuffles it. All micro-batches of an optimiser
step add up to one gradient, so their composition is free, and columns behind the last trained token
of a micro-batch change nothing. Rows that train nothing end up in the narrowest micro-batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["bucketed", "trains", "trimmed"]

Inputs = Mapping[str, Any]


def trains(batch: Inputs) -> bool:
    """Whether a micro-batch has a token in the loss."""
    return bool((batch["completion_mask"] * batch["tool_mask"]).any())


def bucketed(batches: Sequence[Inputs]) -> list[dict[str, Any]]:
    """Redistribute the rows of equally sized micro-batches by the length they need.

    Args:
        batches: Micro-batches of one optimiser step, as TRL splits them.

    Returns:
        As many, of the same size, from the shortest rows to the longest.
    """
    count = len(batches[0]["prompt_ids"])
    joined = {
        key: torch.cat([batch[key] for batch in batches])
        if isinstance(value, Tensor) and value.dim() > 0
        else value
        for key, value in batches[0].items()
    }
    needed = _needed(joined)
    length = torch.where(needed > 0, needed + joined["prompt_mask"].sum(1), 0)
    order = length.argsort(stable=True)
    return [
        {
            key: value[order[at : at + count]]
            if isinstance(value, Tensor) and value.dim() > 0
            else value
            for key, value in joined.items()
        }
        for at in range(0, len(order), count)
    ]


def trimmed(batch: Inputs) -> dict[str, Any]:
    """Cut the columns of a micro-batch that no trained token depends on.

    Args:
        batch: Prompts (B, P) padded on the left; everything else (B, T) or without columns.

    Returns:
        The batch with P and T as small as its rows allow. T stays at least 2 if it was: TRL's
        figures take a single column for one value per sequence and ignore the mask.
    """
    width = batch["completion_ids"].shape[1]
    prompt = max(1, int(batch["prompt_mask"].sum(1).max()))
    keep = max(2, int(_needed(batch).max()))
    out = dict(batch)
    for key, value in batch.items():
        if key in ("prompt_ids", "prompt_mask"):
            out[key] = value[:, -prompt:]
        elif isinstance(value, Tensor) and value.dim() == 2 and value.shape[1] == width:
            out[key] = value[:, :keep]
    return out


def _needed(batch: Inputs) -> Tensor:
    """(B,) columns of the completion up to the last trained token; 0 for rows without one."""
    mask = (batch["completion_mask"] * batch["tool_mask"]).long()
    place = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    needed: Tensor = (mask * place).max(1).values
    return needed
