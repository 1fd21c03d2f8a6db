from __future__ import annotations

import numpy as np
import pytest
import torch

from agentgym.errors import DataError
from trainers.rollouts.scoring.tensors import (
    gather_tokens,
    left_aligned,
    row_tensors,
    sampled_mask,
    scatter_tokens,
    trimmed,
)
from trainers.rollouts.trajectory import SampledTurn, Trajectory, to_rows


def episodes():
    first = Trajectory(
        turns=[SampledTurn([5, 6, 7], [1, 2], [-1.0, -2.0]), SampledTurn([8], [3], [-3.0])]
    )
    second = Trajectory(
        turns=[SampledTurn([5], [4], [-4.0]), SampledTurn([9, 9], [1], [-5.0], fresh=True)]
    )
    return [first, Trajectory(stop_reason="error"), second]


def test_rows_become_the_tensors_trl_makes_itself():
    out = row_tensors(to_rows(episodes()), 0, torch.device("cpu"))
    assert out["prompt_ids"].tolist() == [[5, 6, 7], [0, 0, 5], [0, 9, 9]]
    assert out["prompt_mask"].tolist() == [[1, 1, 1], [0, 0, 1], [0, 1, 1]]
    assert out["completion_ids"].tolist() == [[1, 2, 8, 3], [4, 0, 0, 0], [1, 0, 0, 0]]
    assert sampled_mask(out).int().tolist() == [[1, 1, 0, 1], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert gather_tokens(out["sampling_per_token_logps"], sampled_mask(out)).tolist() == [
        -1.0, -2.0, -3.0, -4.0, -5.0,
    ]  # fmt: skip


def test_rows_are_moved_to_the_left():
    out = row_tensors(to_rows(episodes()), 0, torch.device("cpu"))
    scored = sampled_mask(out)
    ids, mask, labels, columns = left_aligned(out, scored)
    assert ids.tolist()[0] == [5, 6, 7, 1, 2, 8, 3]
    assert (ids * mask).tolist()[1:] == [[5, 4, 0, 0, 0, 0, 0], [9, 9, 1, 0, 0, 0, 0]]
    assert mask.sum(1).tolist() == [7, 2, 3]
    assert labels.tolist() == [
        [-100, -100, -100, 1, 2, -100, 3],
        [-100, 4, -100, -100, -100, -100, -100],
        [-100, -100, 1, -100, -100, -100, -100],
    ]
    assert columns.tolist() == [[3, 4, 5, 6], [1, 2, 3, 4], [2, 3, 4, 5]]
    # Of the two short rows alone, the columns that they do not need are left out.
    ids, mask, _, _ = left_aligned({k: v[1:] for k, v in out.items()}, scored[1:])
    assert (ids * mask).tolist() == [[5, 4, 0], [9, 9, 1]]


def test_batches_are_filled_up_with_rows_that_train_nothing():
    rows = to_rows(episodes())
    out = row_tensors(rows, 7, torch.device("cpu"), count=4)
    assert sampled_mask(out).sum(1).tolist() == [3, 1, 1, 0]
    assert out["completion_mask"][3].sum() == out["prompt_mask"][3].sum() == 1
    assert len(row_tensors([], 7, torch.device("cpu"), count=2)["prompt_ids"]) == 2


def test_scatter_inverts_gather_and_checks_the_count():
    out = row_tensors(to_rows(episodes()), 0, torch.device("cpu"), count=4)
    mask = sampled_mask(out)
    values = np.arange(1.0, 6.0)
    spread = scatter_tokens(values, mask)
    assert gather_tokens(spread, mask).tolist() == values.tolist()
    assert spread.sum() == values.sum()
    with pytest.raises(DataError, match="5 sampled tokens, got 4"):
        scatter_tokens(values[:4], mask)


def batch(lengths, trained, width=6):
    count = len(lengths)
    completion = torch.tensor([[int(t < n) for t in range(width)] for n in lengths])
    tool = torch.tensor([[int(t < n) for t in range(width)] for n in trained])
    prompt = torch.tensor([[int(p >= 3 - i % 3) for p in range(4)] for i in range(count)])
    return {
        "prompt_ids": torch.arange(count)[:, None].expand(count, 4),
        "prompt_mask": prompt,
        "completion_ids": torch.arange(count)[:, None].expand(count, width),
        "completion_mask": completion,
        "tool_mask": tool,
        "advantages": torch.rand(count, width),
        "num_items_in_batch": torch.tensor(7),
    }


def test_columns_behind_the_last_trained_token_go():
    out = trimmed(batch([6, 4], [2, 3]))
    assert out["completion_ids"].shape == out["advantages"].shape == (2, 3)
    assert out["prompt_ids"].shape == out["prompt_mask"].shape == (2, 2)
    assert sampled_mask(out).any()
    nothing = trimmed(batch([6, 4], [0, 0]))
    assert nothing["completion_ids"].shape == (2, 1)
    assert not sampled_mask(nothing).any()
