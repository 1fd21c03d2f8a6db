"""The warm start of pretrained models: TRL's trainer behind the interface of ``Sft``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import on_two_processes, weights
from trainers.models.sft import Sft, SftSettings
from trainers.models.sft_pretrained import PretrainedSft
from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.trajectory import Row, to_rows

LORA = {"r": 4, "lora_alpha": 8, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}


@functools.cache
def rows() -> list[Row]:
    return to_rows(tiny_policy.demonstrations())


def uneven_rows() -> list[Row]:
    """24 rows of 4 to 200 tokens, of which one to 100 train."""
    shapes = [(4, 1), (200, 100), (10, 5), (60, 2), (5, 4), (120, 1), (7, 1), (33, 30)] * 3
    return [
        Row([4 + (7 * k + i) % 20 for i in range(length)], [0] * (length - own) + [1] * own)
        for k, (length, own) in enumerate(shapes)
    ]


def make(
    output: Path,
    adapters: bool = True,
    shared_prefixes: bool = True,
    system: Sequence[int] = (),
    demonstrations: Callable[[], Sequence[Row]] = rows,
    **changes: Any,
) -> PretrainedSft:
    settings = {"steps": 6, "batch_size": 8, "lr": 1e-2, "warmup": 2, "log_every": 2, **changes}
    torch.manual_seed(0)  # of the adapters
    return PretrainedSft(
        tiny_policy.model(),
        [Row([*system, *row.ids], [*[0] * len(system), *row.mask]) for row in demonstrations()],
        tiny_policy.chat().tokenizer,
        SftSettings(**settings),
        output,
        LoraConfig(**LORA) if adapters else None,
        shared_prefixes=shared_prefixes,
    )


def test_the_loss_is_the_mean_over_action_tokens(tmp_path: Path) -> None:
    model = tiny_policy.model()
    total, count = 0.0, 0
    for row in rows():
        ids, sampled = torch.tensor([row.ids]), torch.tensor(row.mask[1:]).bool()
        with torch.no_grad():
            logps = torch.log_softmax(model(ids).logits[0, :-1], -1)
        total -= logps.gather(1, ids[0, 1:, None])[:, 0][sampled].sum().item()
        count += int(sampled.sum())
    logs: list[dict[str, float]] = []
    for micro_batch in (64, 16):
        sft = make(
            tmp_path, steps=1, batch_size=64, log_every=1, micro_batch=micro_batch, adapters=False
        )
        result = sft.run(progress=lambda step, figures: logs.append(dict(figures)))
        assert result.loss == pytest.approx(total / count, rel=1e-4)
    assert set(logs[0]) == {"loss", "lr", "tokens", "tokens_per_second", "seconds"}


@pytest.mark.parametrize("adapters", [False, True], ids=["weights", "adapters"])
def test_prefixes_computed_once_give_the_same_steps(tmp_path: Path, adapters: bool) -> None:
    weights, losses, tokens = [], [], []
    for shared in (True, False):
        sft = make(tmp_path, adapters, shared, [3] * 60, steps=3, micro_batch=4, log_every=1)
        sizes: list[int] = []
        base_model(sft.model).base_model.register_forward_pre_hook(
            lambda _, inputs, named, sizes=sizes: sizes.append(named["input_ids"].numel()),
            with_kwargs=True,
        )
        losses.append([])
        sft.run(progress=lambda step, figures: losses[-1].append(figures["loss"]))
        weights.append([p.detach() for p in sft.model.parameters() if p.requires_grad])
        tokens.append(sum(sizes))
    assert tokens[0] < 0.9 * tokens[1]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*weights, strict=True))


def run_uneven(folder: Path, adapters: bool, micro_batch: int) -> tuple[float, torch.Tensor]:
    """Imitate all uneven rows once; the loss of the last step and what was learned."""
    sft = make(
        folder, adapters, demonstrations=uneven_rows, steps=3, log_every=1, micro_batch=micro_batch
    )
    result = sft.run()
    return result.loss, torch.cat([p.detach().flatten() for p in sft.model.parameters()])


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="forks of a process with CUDA cannot use it")
@pytest.mark.parametrize(("adapters", "micro_batch"), [(False, 64), (True, 2)])
def test_two_processes_average_over_the_tokens_of_both(tmp_path, adapters, micro_batch):
    """Rows are 50 times as long as others; a mean over rows, or one per process, is another."""
    ranks = on_two_processes(tmp_path, run_uneven, adapters, micro_batch)
    loss, learned = run_uneven(tmp_path / "alone", adapters, micro_batch)
    for other_loss, weights_of_rank in ranks:
        assert other_loss == pytest.approx(loss, rel=1e-4)
        torch.testing.assert_close(weights_of_rank, learned, rtol=1e-3, atol=1e-4)


def test_adapters_alone_are_trained_and_end_up_in_the_weights(tmp_path: Path) -> None:
    sft = make(tmp_path)
    trained = [name for name, p in sft.model.named_parameters() if p.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)
    sft.run()
    merged, weights_before = (
        dict(sft.merged().named_parameters()),
        tiny_policy.model().named_parameters(),
    )
    changed = {name for name, value in weights_before if not torch.equal(merged.pop(name), value)}
    assert not merged
    assert changed
    assert all("_proj" in name for name in changed)


@pytest.mark.parametrize("steps", [1, 6, 10, 40])
def test_both_kinds_of_warm_start_have_one_schedule_whose_first_step_moves(tmp_path, steps):
    """No step is lost, however short the warm start is; what is told is the rate of the step."""
    rates: list[list[float]] = []
    for adapters in (True, None):
        schedule: list[float] = []
        if adapters is None:
            settings = SftSettings(
                steps=steps, batch_size=8, lr=1e-2, warmup=steps // 10, log_every=1
            )
            sft: Any = Sft(tiny_policy.model(), rows()[:16], 0, settings)
        else:
            sft = make(tmp_path, adapters, steps=steps, warmup=30, log_every=1)
        weights_after = [weights(sft.model)]

        def progress(
            step: int,
            figures: Any,
            sft: Any = sft,
            after: Any = weights_after,
            schedule: Any = schedule,
        ) -> None:
            schedule.append(figures["lr"])
            after.append(weights(sft.model))

        sft.run(progress=progress)
        for weights_before, following in pairwise(weights_after):
            assert any(
                not torch.equal(a, b) for a, b in zip(weights_before, following, strict=True)
            )
        rates.append(schedule)
    assert rates[0] == pytest.approx(rates[1]) and len(rates[0]) == steps
    assert max(rates[0]) > 0.9e-2 and min(rates[0]) >= 0.9e-3


def test_a_step_without_anything_to_learn_changes_no_weight(tmp_path, caplog):
    sft = make(tmp_path, adapters=False, steps=4, lr=1e-2, batch_size=4, weight_decay=0.5)
    loss = sft._trainer.compute_loss
    sft._trainer.compute_loss = lambda *a, **k: loss(*a, **k) * (0.0 if sft.step == 2 else 1.0)
    weights_list = [weights(sft.model)]
    sft.settings = replace(sft.settings, log_every=1)
    with caplog.at_level("WARNING"):
        sft.run(progress=lambda *_: weights_list.append(weights(sft.model)))
    still = [
        all(torch.equal(a, b) for a, b in zip(weights_before, weights_after, strict=True))
        for weights_before, weights_after in pairwise(weights_list)
    ]
    assert still == [False, False, True, False]
    assert any("step 3 of the warm start changed no weight" in text for text in caplog.messages)


def test_without_adapters_all_weights_are_trained(tmp_path: Path) -> None:
    sft = make(tmp_path, adapters=False)
    sft.run()
    pairs = zip(weights(sft.merged()), weights(tiny_policy.model()), strict=True)
    assert not any(torch.equal(new, old) for new, old in pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("adapters", "last"), [(True, 2), (False, 2), (True, 3)])
def test_stopped_and_continued_equals_uninterrupted(
    tmp_path: Path, adapters: bool, last: int
) -> None:
    """It is saved where it tells its progress, or between, and dies a step or two later."""
    uninterrupted = make(tmp_path, adapters)
    logs: list[Any] = []
    uninterrupted.run(
        progress=lambda step, figures: logs.append((step, figures["loss"], figures["lr"]))
    )
    checkpoint = tmp_path / "sft"
    checkpoint.mkdir()
    first = make(tmp_path, adapters)

    def save(step: int) -> None:
        if step == 4:
            raise KeyboardInterrupt
        if step == last:
            first.save(checkpoint)

    with pytest.raises(KeyboardInterrupt):
        first.run(after_step=save)
    second = make(tmp_path, adapters)
    second.load(checkpoint)
    assert second.step == last
    later_logs: list[Any] = []
    result = second.run(
        progress=lambda s, figures: later_logs.append((s, figures["loss"], figures["lr"]))
    )
    assert result.steps == 6
    assert later_logs == logs[1:]
    pairs = zip(weights(uninterrupted.merged()), weights(second.merged()), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_the_gate_is_asked_after_the_progress_and_ends_it(tmp_path: Path) -> None:
    calls: list[Any] = []

    def gate(step: int) -> bool:
        calls.append(("gate", step))
        return step == 4

    sft = make(tmp_path, steps=9, eval_every=4, log_every=2)
    result = sft.run(gate, lambda step, figures: calls.append(("progress", step)))
    assert calls == [("progress", 2), ("progress", 4), ("gate", 4)]
    assert (result.steps, result.gated) == (4, True)
    assert not sft.model.training


def test_rows_without_actions_are_refused(tmp_path: Path) -> None:
    empty = Row([1, 2, 3], [0, 0, 0], [0.0, 0.0, 0.0])
    with pytest.raises(ConfigurationError, match="action tokens"):
        PretrainedSft(
            tiny_policy.model(), [empty], tiny_policy.chat().tokenizer, SftSettings(), tmp_path
        )
