"""Convert between packed action tokens (numpy) and the padded tensors of TRL's batch.

Sampled tokens have the same order in both: ``values[k]`` belongs to the k-th true entry, row by
row, of the boolean mask of sampled tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agentgym.errors import DataError
from trainers.rollouts.trajectory import Row

__all__ = [
    "IGNORED",
    "changes_weights",
    "gather_tokens",
    "left_aligned",
    "needed_columns",
    "row_inputs",
    "row_tensors",
    "sampled_mask",
    "scatter_tokens",
    "trimmed",
]

IGNORED = -100
"""Label of a token that is not scored: what the fused head passes over."""
FloatArray = npt.NDArray[np.float64]
Inputs = Mapping[str, Tensor]


def row_tensors(
    rows: Sequence[Row], pad_id: int, device: torch.device, count: int = 1
) -> dict[str, Tensor]:
    """Make padded tensors under TRL's names: prompts on the left, completions on the right.

    Args:
        rows: Rows, each with at least one token after its prompt; there may be none.
        pad_id: Id used for padding.
        device: Where to put them.
        count: Minimum number of rows B; missing rows are padded with rows without trained tokens.

    Returns:
        ``prompt_ids, prompt_mask`` (B, P); ``completion_ids, completion_mask, tool_mask`` (B, T),
        where ``tool_mask`` is 1 on sampled tokens, all int64; ``sampling_per_token_logps`` (B, T),
        float32, in nats.
    """
    count = max(len(rows), count)
    # A token on either side: the forward pass takes no empty prompt and no empty completion.
    filler = Row([pad_id, pad_id], [0, 0], [0.0, 0.0], prompt_length=1)
    rows = [*rows, *[filler] * (count - len(rows))]
    prompts = max(row.prompt_length for row in rows)
    width = max(len(row.ids) - row.prompt_length for row in rows)
    prompt_ids = np.full((count, prompts), pad_id, dtype=np.int64)
    completion_ids = np.full((count, width), pad_id, dtype=np.int64)
    masks = {
        name: np.zeros((count, size), dtype=np.int64)
        for name, size in (("prompt_mask", prompts), ("completion_mask", width))
    }
    # TRL pads this mask with 1; padding is excluded by completion_mask.
    tool_mask = np.ones((count, width), dtype=np.int64)
    logprobs = np.zeros((count, width), dtype=np.float32)
    for i, row in enumerate(rows):
        start, size = row.prompt_length, len(row.ids) - row.prompt_length
        prompt_ids[i, prompts - start :] = row.ids[:start]
        masks["prompt_mask"][i, prompts - start :] = 1
        completion_ids[i, :size] = row.ids[start:]
        masks["completion_mask"][i, :size] = 1
        tool_mask[i, :size] = row.mask[start:]
        logprobs[i, :size] = row.logprobs[start:]
    arrays = {
        "prompt_ids": prompt_ids,
        "completion_ids": completion_ids,
        "tool_mask": tool_mask,
        "sampling_per_token_logps": logprobs,
        **masks,
    }
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def sampled_mask(batch: Inputs) -> Tensor:
    """(B, T) boolean mask of the sampled tokens of a TRL batch; later, of the trained tokens."""
    mask: Tensor = (batch["completion_mask"] * batch["tool_mask"]).bool()
    return mask


def gather_tokens(values: Tensor, mask: Tensor) -> FloatArray:
    """Pack padded values (B, T) at the K sampled tokens of a mask (B, T)."""
    packed: FloatArray = values[mask].detach().double().cpu().numpy()
    return packed


def scatter_tokens(values: npt.NDArray[np.generic], mask: Tensor) -> Tensor:
    """Unpack values (K,) to the sampled tokens of a mask (B, T), 0 elsewhere.

    The result is float32, or int64 for integers and booleans.

    Raises:
        DataError: K differs from the number of sampled tokens.
    """
    count = int(mask.sum())
    if len(values) != count:
        raise DataError(
            f"expected one value for each of {count} sampled tokens, got {len(values)}: batch and "
            "rows were made from different trajectories"
        )
    kind = np.float32 if np.issubdtype(values.dtype, np.floating) else np.int64
    packed = torch.from_numpy(values.astype(kind)).to(mask.device)
    return torch.zeros(mask.shape, dtype=packed.dtype, device=mask.device).masked_scatter(
        mask, packed
    )


def trimmed(batch: Inputs, rows: Tensor | None = None) -> dict[str, Tensor]:
    """Take rows of a batch, and drop columns that no trained token of these rows depends on.

    Prompts (B, P) are padded on the left; everything else is (B, T) or without columns.

    Args:
        batch: Padded tensors under TRL's names.
        rows: (n,) their indices; None: all.
    """
    width = batch["completion_ids"].shape[1]
    out = dict(batch)
    if rows is not None:
        # The number of items has no rows.
        out = {key: value[rows] if value.dim() else value for key, value in batch.items()}
    prompt = max(1, int(out["prompt_mask"].sum(1).max()))
    keep = max(1, int(needed_columns(out).max()))
    for key, value in out.items():
        if key in ("prompt_ids", "prompt_mask"):
            out[key] = value[:, -prompt:]
        elif value.dim() == 2 and value.shape[1] == width:
            out[key] = value[:, :keep]
    return out


def left_aligned(batch: Inputs, scored: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Shift rows so that each begins in the first column, with all padding at the end.

    Args:
        batch: Padded tensors under TRL's names; padding is given by the masks only.
        scored: (B, T) mask of tokens of the completions.

    Returns:
        Ids, mask and labels (B, W) of prompts and completions together, where labels are the ids of
        scored tokens and -100 elsewhere; and the columns (B, T) that the completions have there,
        which may lie beyond W for padding.
    """
    begins = (batch["prompt_mask"] == 0).sum(1, keepdim=True)  # (B, 1)
    ids, mask = (
        torch.cat([batch[f"prompt_{name}"], batch[f"completion_{name}"]], dim=1)
        for name in ("ids", "mask")
    )
    labels = torch.full_like(ids, IGNORED)  # (B, P + T)
    size = scored.shape[1]
    labels[:, -size:] = torch.where(scored, batch["completion_ids"], IGNORED)
    # At least two columns: what is said about a token stands at the one before it.
    width = max(2, int(mask.sum(1).max()))
    places = torch.arange(width, device=ids.device) + begins  # (B, W)
    beyond = places >= ids.shape[1]
    places = places.clamp(max=ids.shape[1] - 1)
    columns = torch.arange(ids.shape[1] - size, ids.shape[1], device=ids.device) - begins
    return (
        ids.gather(1, places),
        mask.gather(1, places).masked_fill(beyond, 0),
        labels.gather(1, places).masked_fill(beyond, IGNORED),
        columns,
    )


def row_inputs(ids: Tensor, labels: Tensor) -> list[npt.NDArray[np.int64]]:
    """Return the token ids of each row of :func:`left_aligned` that its labels depend on.

    They end before the last labelled token; a row without any is empty.
    """
    columns = torch.arange(labels.shape[1], device=labels.device)
    sizes = torch.where(labels != IGNORED, columns, 0).max(1).values.tolist()  # (B,)
    return [row[:size] for row, size in zip(ids.cpu().numpy(), sizes, strict=True)]


def needed_columns(batch: Inputs) -> Tensor:
    """(B,) columns of the completion up to the last trained token; 0 for rows without one."""
    mask = sampled_mask(batch).long()
    place = torch.arange(1, mask.shape[1] + 1, device=mask.device)  # (T,)
    needed: Tensor = (mask * place).max(1).values
    return needed


def changes_weights(norm: float) -> bool:
    """Return whether a gradient of this norm may change weights.

    It may not if it is exactly 0: there was nothing to learn, but AdamW would still decay the
    weights and move them along its moments. Nor if it is not finite, which would destroy every
    weight.
    """
    return norm != 0.0 and math.isfinite(norm)
