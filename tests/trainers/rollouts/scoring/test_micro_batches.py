"""Micro-batches by tokens: what shares a pass, and that the gradient is that of one batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig

from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, train_on_two_processes
from tests.trainers.grpo.test_objective import WINDOWED, Mixed
from trainers.rollouts.scoring.micro_batches import divided, micro_batches
from trainers.rollouts.scoring.tensors import sampled_mask

INPUTS = [{"prompt": ""}] * 16


def batch(prompts: list[int], trained: list[int], width: int = 8) -> dict[str, Any]:
    """Rows with prompts and trained tokens of these lengths."""
    place, positions = torch.arange(width), torch.arange(4)
    mask = torch.stack([(place < n).long() for n in trained])
    return {
        "prompt_mask": torch.stack([(positions >= 4 - n).long() for n in prompts]),
        "completion_ids": torch.zeros_like(mask),
        "completion_mask": torch.ones_like(mask),
        "tool_mask": mask,
    }


def test_rows_share_a_pass_while_their_padded_size_is_within_the_budget():
    widths = [(4, 8), (2, 8), (4, 3), (1, 3), (1, 1)]
    assert divided(widths, None) == [slice(0, 5)]
    assert divided(widths, 24) == [slice(0, 2), slice(2, 5)]
    assert divided(widths, 13) == [slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 5)]
    assert divided(widths, 1) == [slice(k, k + 1) for k in range(5)], "a row is never cut"


def test_the_longest_rows_come_first_and_those_that_train_nothing_not_at_all():
    parts = micro_batches(batch([1, 2, 4, 1, 3], [3, 0, 6, 1, 2]), 14)
    assert [part.rows.tolist() for part in parts] == [[2], [4, 0], [3]]
    assert [part.share for part in parts] == pytest.approx([6 / 12, 5 / 12, 1 / 12])
    [nothing] = micro_batches(batch([1, 2], [0, 0]), 14)
    assert nothing.rows.tolist() == [0]


def test_processes_make_as_many_micro_batches_of_as_many_rows():
    """Each counts a row as long as the longest of its rank among the rows of any process."""
    first, second = batch([1, 1, 1], [8, 0, 0]), batch([4, 1, 2], [2, 5, 0])
    sizes: list[torch.Tensor] = []
    for inputs in (first, second):
        micro_batches(inputs, 12, lambda counts: sizes.append(counts) or counts)
    all_sizes = torch.cat(sizes)
    parts = [micro_batches(inputs, 12, lambda counts: all_sizes) for inputs in (first, second)]
    assert [[len(part.rows) for part in split] for split in parts] == [[1, 1], [1, 1]]
    assert [part.rows.tolist() for part in parts[1]] == [[0], [1]]
    assert [part.share for part in parts[0]] == [part.share for part in parts[1]]
    assert sum(part.share for part in parts[0]) == pytest.approx(1.0)


def gradients(folder: Path, **changes: Any) -> tuple[list[torch.Tensor], int]:
    """The gradient of every update of one batch of episodes, and the number of passes."""
    torch.manual_seed(0)  # of the adapters
    changes.setdefault("envs", TextVectorEnv([Mixed] * 16))
    trainer = make_trainer(folder, probe_every=0, args=changes.pop("args", {}), **changes)
    trainer.model.train()
    if trainer.args.gradient_checkpointing:  # as transformers does when training begins
        trainer.model.gradient_checkpointing_enable(trainer.args.gradient_checkpointing_kwargs)
    first = trainer._prepare_inputs(INPUTS)
    passes, vectors = 0, []
    for update in [first, *trainer._buffered_inputs[1:]]:
        trainer.model.zero_grad()
        passes += len(trainer._micro_batches(update))
        trainer.compute_loss(trainer.model, update).backward()
        trained = (p for p in trainer.model.parameters() if p.requires_grad)
        vectors.append(torch.cat([p.grad.flatten() for p in trained]).double())
    return vectors, passes


ADAPTERS = {"r": 4, "target_modules": "all-linear", "init_lora_weights": False}


@pytest.mark.parametrize("adapters", [False, True], ids=["weights", "adapters"])
@pytest.mark.parametrize("preset", ["default", "reinforce++", "gspo"])
def test_gradients_are_those_of_one_batch(tmp_path, preset, adapters):
    """Rows of several lengths, several updates, a KL, a ratio of whole rows, adapters."""
    options: dict[str, Any] = {"preset": preset, "args": {"minibatches": 2}, **WINDOWED}
    if adapters:
        options["peft_config"] = LoraConfig(task_type="CAUSAL_LM", **ADAPTERS)
    unsplit, few_passes = gradients(tmp_path, **options)
    parts, many_passes = gradients(tmp_path, micro_tokens=60, logits_mib=1, **options)
    assert few_passes == 2 < 4 < many_passes
    for expected, split_weight in zip(unsplit, parts, strict=True):
        assert (expected - split_weight).norm() / expected.norm() < 1e-6


def test_logits_never_exceed_their_size(tmp_path, monkeypatch):
    """The tile is counted where TRL makes it; several of them give what a single one gives."""
    from trl.trainer import utils

    trainer = make_trainer(tmp_path, probe_every=0)
    scored = trainer._generate_and_score_completions(INPUTS)
    untiled = trainer._forward.logps(trainer.model, scored)
    sizes = []
    apply = utils._ChunkedLogProbFunction.apply

    def noted(hidden, weight, bias, targets, temperature, width, *rest):
        sizes.append((min(len(hidden), 4096) * width * 4, width))
        return apply(hidden, weight, bias, targets, temperature, width, *rest)

    monkeypatch.setattr(utils._ChunkedLogProbFunction, "apply", noted)
    trainer._forward._logits_bytes = 8000
    tiled = trainer._forward.logps(trainer.model, scored)
    [(size, width)] = sizes
    assert size <= 8000
    assert 1 < width < trainer.model.config.vocab_size / 2
    assert torch.allclose(untiled, tiled, atol=1e-6)


def test_log_probabilities_of_parts_are_those_of_the_batch(tmp_path):
    trainer = make_trainer(tmp_path, probe_every=0, micro_tokens=60, **WINDOWED)
    scored = trainer._generate_and_score_completions(INPUTS)
    parts = [part.rows for part in trainer._micro_batches(scored)]
    assert len(parts) > 3
    mask = sampled_mask(scored)
    undivided, divided_up = (
        trainer._forward.logps(trainer.model, scored, p) for p in (None, parts)
    )
    assert torch.allclose(undivided[mask], divided_up[mask], atol=1e-5)


def test_checkpointing_changes_no_gradient(tmp_path):
    plain_gradients, _ = gradients(tmp_path, micro_tokens=90)
    checkpointed, _ = gradients(tmp_path, micro_tokens=90, args={"gradient_checkpointing": True})
    assert torch.equal(plain_gradients[0], checkpointed[0])


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="forks of a process with CUDA cannot use it")
def test_two_processes_train_the_same_with_and_without_micro_batches(tmp_path):
    """DDP reduces the sum of all passes once, and the number of passes is theirs in common."""
    undivided, parts = (
        train_on_two_processes(tmp_path / str(budget), micro_tokens=budget) for budget in (None, 60)
    )
    assert parts[0]["passes"] == parts[1]["passes"] > undivided[0]["passes"] == 2
    for weight, split_weight in zip(undivided[0]["weights"], parts[0]["weights"], strict=True):
        assert torch.allclose(weight, split_weight, rtol=1e-5, atol=1e-7)
    for weight, split_weight in zip(parts[0]["weights"], parts[1]["weights"], strict=True):
        assert torch.equal(weight, split_weight)


@pytest.mark.slow
def test_the_reported_loss_and_entropy_do_not_depend_on_the_passes(tmp_path):
    logs = []
    for budget in (None, 70):
        trainer = make_trainer(
            tmp_path, tiny_policy.model(), micro_tokens=budget, envs=TextVectorEnv([Mixed] * 16)
        )
        trainer.train()
        logs.append([log(trainer, name) for name in ("loss", "entropy", "grad_norm")])
    for figures, other_figures in zip(*logs, strict=True):
        assert figures == pytest.approx(other_figures, rel=1e-4, abs=1e-6)
