"""Between packed action tokens (numpy) and the padded tensors of TRL's batch.

Sampled tokens stand in the same order in both: ``values[k]`` belongs to the k-th true entry, row by
row, of the boolean mask of sampled tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agentgym.errors import DataError
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

__all__ = [
    "episode_return",
    "filler",
    "gather_tokens",
    "row_tensors",
    "sampled_mask",
    "scatter_tokens",
    "trl_columns",
]

FloatArray = npt.NDArray[np.float64]


def filler(token: int) -> Row:
    """A row of two tokens that trains nothing, for trajectories without turns and for padding."""
    row = Row(prompt_length=1)
    row.append_context([token, token])
    return row


def row_tensors(
    rows: Sequence[Row], pad_id: int, device: torch.device, parts: int = 1, least: int = 1
) -> dict[str, Tensor]:
    """Padded tensors under TRL's names: prompts on the left, completions on the right.

    Args:
        rows: Rows, each with at least one token after its prompt.
        pad_id: Id used for padding.
        device: Where to put them.
        parts: TRL splits the batch into that many micro-batches: the number of rows B is rounded
            up to a multiple of it with rows that train nothing.
        least: Fewest rows before rounding up: all processes need the same number.

    Returns:
        ``prompt_ids, prompt_mask`` (B, P); ``completion_ids, completion_mask, tool_mask`` (B, T),
        where ``tool_mask`` is 1 on sampled tokens; ``sampling_per_token_logps`` (B, T).
    """
    count = max(len(rows), least)
    count += -count % parts
    rows = [*rows, *[filler(pad_id)] * (count - len(rows))]
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
    logps = np.zeros((count, width), dtype=np.float32)
    for i, row in enumerate(rows):
        start, size = row.prompt_length, len(row.ids) - row.prompt_length
        prompt_ids[i, prompts - start :] = row.ids[:start]
        masks["prompt_mask"][i, prompts - start :] = 1
        completion_ids[i, :size] = row.ids[start:]
        masks["completion_mask"][i, :size] = 1
        tool_mask[i, :size] = row.mask[start:]
        logps[i, :size] = row.logprobs[start:]
    arrays = {
        "prompt_ids": prompt_ids,
        "completion_ids": completion_ids,
        "tool_mask": tool_mask,
        "sampling_per_token_logps": logps,
        **masks,
    }
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def trl_columns(trajectories: Sequence[Trajectory], pad_id: int) -> dict[str, list[Any]]:
    """What TRL's ``rollout_func`` must return: the first row of each trajectory.

    Args:
        trajectories: N episodes.
        pad_id: Id of the filler that stands for an episode without turns.

    Returns:
        N entries for each of ``prompt_ids, completion_ids, logprobs, env_mask, episode_return``.
    """
    empty = filler(pad_id)
    first: dict[int, Row] = {}
    for row in to_rows(trajectories):
        first.setdefault(row.trajectory, row)
    rows = [first.get(i, empty) for i in range(len(trajectories))]
    return {
        "prompt_ids": [row.ids[: row.prompt_length] for row in rows],
        "completion_ids": [row.ids[row.prompt_length :] for row in rows],
        "logprobs": [row.logprobs[row.prompt_length :] for row in rows],
        "env_mask": [row.mask[row.prompt_length :] for row in rows],
        "episode_return": [trajectory.episode_return for trajectory in trajectories],
    }


def episode_return(episode_return: list[float], **_: Any) -> list[float]:
    """Reward function for TRL's logs: the undiscounted return of each episode."""
    return episode_return


def sampled_mask(output: dict[str, Any]) -> Tensor:
    """(B, T) boolean mask of the sampled tokens of a TRL batch."""
    mask: Tensor = (output["completion_mask"] * output["tool_mask"]).bool()
    return mask


def gather_tokens(values: Tensor, mask: Tensor) -> FloatArray:
    """Pack padded values.

    Args:
        values: (B, T) values.
        mask: (B, T) sampled tokens, K of them.

    Returns:
        (K,) values.
    """
    packed: FloatArray = values[mask].detach().double().cpu().numpy()
    return packed


def scatter_tokens(values: npt.NDArray[Any], mask: Tensor) -> Tensor:
    """Unpack values to their places.

    Args:
        values: (K,) values of the sampled tokens.
        mask: (B, T) sampled tokens.

    Returns:
        (B, T) tensor, 0 elsewhere: float32, or int64 for integers and booleans.

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
