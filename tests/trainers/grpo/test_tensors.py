from __future__ import annotations

import numpy as np
import pytest
import torch

from agentgym.errors import DataError
from tests.trainers.grpo.helpers import trainer
from trainers.grpo.tensors import (
    bucketed,
    gather_tokens,
    row_tensors,
    sampled_mask,
    scatter_tokens,
    trimmed,
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


def test_batches_are_filled_up_with_rows_that_train_nothing():
    rows = to_rows(episodes())
    for out in (
        row_tensors(rows, 7, torch.device("cpu"), parts=4),
        row_tensors(rows, 7, torch.device("cpu"), parts=2, least=4),
    ):
        assert sampled_mask(out).sum(1).tolist() == [3, 1, 1, 0]
        assert out["completion_mask"][3].sum() == out["prompt_mask"][3].sum() == 1
    assert len(row_tensors([], 7, torch.device("cpu"), parts=2, least=1)["prompt_ids"]) == 2


def test_scatter_inverts_gather_and_checks_the_count():
    out = row_tensors(to_rows(episodes()), 0, torch.device("cpu"), least=4)
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


def test_rows_of_like_length_come_together_and_keep_their_columns():
    parts = [batch([6, 2], [6, 2]), batch([1, 5], [0, 5])]
    parts[1]["completion_ids"] = parts[1]["completion_ids"] + 2
    out = bucketed(parts)
    assert [part["completion_ids"][:, 0].tolist() for part in out] == [[2, 1], [0, 3]]
    assert all(part["num_items_in_batch"] == 7 for part in out)
    assert torch.equal(out[1]["advantages"][0], parts[0]["advantages"][0])


def test_columns_behind_the_last_trained_token_go():
    out = trimmed(batch([6, 4], [2, 3]))
    assert out["completion_ids"].shape == out["advantages"].shape == (2, 3)
    assert out["prompt_ids"].shape == out["prompt_mask"].shape == (2, 2)
    assert sampled_mask(out).any()
    nothing = trimmed(batch([6, 4], [0, 0]))
    assert nothing["completion_ids"].shape == (2, 2)
    assert not sampled_mask(nothing).any()


@pytest.mark.parametrize("micro", [4, 16])
def test_gradient_is_that_of_the_whole_batch(tmp_path, micro):
    made = trainer(tmp_path, args={"micro_batch": micro}, probe_every=0)
    made.current_gradient_accumulation_steps = made.args.gradient_accumulation_steps
    made.model.train()
    inputs = [{"prompt": ""}] * 16
    parts = [made._prepare_inputs(inputs)]
    parts += made._buffered_inputs[1:]
    generator = torch.Generator().manual_seed(0)
    for part in parts:
        part["advantages"] = torch.randn(part["advantages"].shape, generator=generator)
        part["tool_mask"] = (
            part["tool_mask"] * (torch.arange(len(part["tool_mask"])) % 3 > 0)[:, None]
        )
    trim = [p.grad for p in gradients(made, parts)]
    plain = [p.grad for p in gradients(made, parts, super_loss=True)]
    assert any(grad.abs().max() > 0 for grad in trim)
    for a, b in zip(trim, plain, strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def gradients(made, parts, super_loss=False):
    """Parameters with the summed gradient of the micro-batches."""
    from trl import GRPOTrainer

    made.model.zero_grad()
    for part in parts:
        loss = (
            GRPOTrainer._compute_loss(made, made.model, part)
            if super_loss
            else made._compute_loss(made.model, part)
        )
        loss.backward()
    out = [torch.nn.Parameter(p.detach().clone()) for p in made.model.parameters()]
    for copy, parameter in zip(out, made.model.parameters(), strict=True):
        copy.grad = parameter.grad.clone()
    return out
