from __future__ import annotations

import numpy as np
import pytest
import torch

from agentgym.errors import DataError
from trainers.grpo.tensors import (
    filler,
    gather_tokens,
    row_tensors,
    sampled_mask,
    scatter_tokens,
    trl_columns,
)
from trainers.rollouts.trajectory import Trajectory, Turn, to_rows


def episodes():
    first = Trajectory(turns=[Turn([5, 6, 7], [1, 2], [-1.0, -2.0]), Turn([8], [3], [-3.0])])
    second = Trajectory(turns=[Turn([5], [4], [-4.0]), Turn([9, 9], [1], [-5.0], fresh=True)])
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


def test_columns_for_trl_have_one_row_per_episode():
    columns = trl_columns(episodes(), pad_id=0)
    assert columns["completion_ids"] == [[1, 2, 8, 3], [0], [4]]
    assert columns["env_mask"] == [[1, 1, 0, 1], [0], [1]]
    assert columns["prompt_ids"] == [[5, 6, 7], [0], [5]]
    assert columns["episode_return"] == [0.0, 0.0, 0.0]


def test_scatter_inverts_gather_and_checks_the_count():
    out = row_tensors([*to_rows(episodes()), filler(0)], 0, torch.device("cpu"))
    mask = sampled_mask(out)
    values = np.arange(1.0, 6.0)
    spread = scatter_tokens(values, mask)
    assert gather_tokens(spread, mask).tolist() == values.tolist()
    assert spread.sum() == values.sum()
    with pytest.raises(DataError, match="5 sampled tokens, got 4"):
        scatter_tokens(values[:4], mask)
