from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from agentgym.errors import ConfigurationError
from tests.trainers import tiny_policy
from tests.trainers.row_checks import check_rows
from trainers.config.sections import TinyConfig
from trainers.models.sft import Sft, SftSettings
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Row, to_rows


def rows():
    return to_rows(tiny_policy.demonstrations())


def settings(**changes):
    return SftSettings(**{"steps": 8, "batch_size": 8, "lr": 5e-3, "warmup": 2, **changes})


def test_demonstrations_are_rows_of_the_rollout_format():
    episodes = tiny_policy.demonstrations()
    check_rows(episodes, rows(), tiny_policy.chat().action_text)
    assert all(e.success and e.episode_return == 1.0 for e in episodes)
    chat = tiny_policy.chat()
    options = tiny_policy.tasks(4)
    expert = iter([t.text for e in episodes[:4] for t in e.turns])
    runner = RolloutRunner(
        tiny_policy.envs(1), chat, _engine(chat, expert), TokenBudget(8, 200, 250)
    )
    rollout_rows = to_rows(runner.run(options, horizon=8))
    assert [r.ids for r in rollout_rows] == [r.ids for r in rows()[:4]]
    assert [r.mask for r in rollout_rows] == [r.mask for r in rows()[:4]]


def _engine(chat, texts):
    from tests.trainers.scripted_engine import ScriptedEngine

    return ScriptedEngine(chat, texts)


def test_losses_are_means_over_action_and_other_tokens():
    model = tiny_policy.model()
    sft = Sft(model, rows(), tiny_policy.chat().pad_id, settings(micro_batch=3))
    picked = [0, 5, 9, 11, 20]
    model.eval()
    action, other_ids = [], []
    for i in picked:
        ids = torch.tensor([rows()[i].ids])
        with torch.no_grad():
            logps = torch.log_softmax(model(ids).logits[0, :-1], -1)
        nll = -logps.gather(1, ids[0, 1:, None])[:, 0]
        mask = torch.tensor(rows()[i].mask[1:]).bool()
        action += nll[mask].tolist()
        other_ids += nll[~mask].tolist()
    model.train()
    losses = sft._train(picked)
    assert losses[:2] == pytest.approx([np.mean(action), np.mean(other_ids)], rel=1e-5)
    assert losses[2] == len(action) + len(other_ids)


def test_micro_batches_give_the_same_step():
    models = [tiny_policy.model(), tiny_policy.model()]
    for model, size in zip(models, (8, 3), strict=True):
        Sft(model, rows(), 0, settings(steps=2, micro_batch=size)).run()
    pairs = zip(models[0].parameters(), models[1].parameters(), strict=True)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in pairs)


def test_prefixes_computed_once_give_the_same_step():
    """Observation tokens count as often as rows hold them, though they are computed once."""
    models, tokens = [tiny_policy.model(), tiny_policy.model()], []
    for model, shared in zip(models, (True, False), strict=True):
        sizes: list[int] = []
        model.model.register_forward_pre_hook(
            lambda _, inputs, named, sizes=sizes: sizes.append(named["input_ids"].numel()),
            with_kwargs=True,
        )
        system = [3] * 60
        long_rows = [Row([*system, *row.ids], [*[0] * 60, *row.mask]) for row in rows()]
        Sft(model, long_rows, 0, settings(steps=1), shared_prefixes=shared).run()
        tokens.append(sum(sizes))
    assert tokens[0] < 0.8 * tokens[1]
    pairs = zip(models[0].parameters(), models[1].parameters(), strict=True)
    assert all(torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-6) for a, b in pairs)


def test_stopped_and_continued_equals_uninterrupted(tmp_path):
    uninterrupted, parts = tiny_policy.model(), tiny_policy.model()
    expected: list[Any] = []
    Sft(uninterrupted, rows(), 0, settings(log_every=4)).run(
        progress=lambda s, f: expected.append(f)
    )
    first = Sft(parts, rows(), 0, settings(eval_every=1, log_every=4))
    assert first.run(gate=lambda step: step == 3).steps == 3
    second = Sft(parts, rows(), 0, settings(log_every=4))
    first.save(tmp_path)
    second.load(tmp_path)
    logs: list[Any] = []
    assert second.run(progress=lambda s, f: logs.append(f)).steps == 8
    for name in ("loss", "observation_loss", "tokens"):
        assert [f[name] for f in logs] == [f[name] for f in expected], "also between two logs"
    pairs = zip(uninterrupted.parameters(), parts.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_gate_progress_and_schedule():
    sft = Sft(tiny_policy.model(), rows(), 0, settings(steps=9, eval_every=4, log_every=3))
    gate_steps, logs = [], []
    result = sft.run(
        lambda step: gate_steps.append(step) or step >= 8, lambda s, f: logs.append((s, f))
    )
    assert gate_steps == [4, 8]
    assert [step for step, _ in logs] == [3, 6]
    assert set(logs[0][1]) == {
        "loss", "observation_loss", "lr", "tokens", "tokens_per_second", "seconds",
    }  # fmt: skip
    assert (result.steps, result.gated) == (8, True)
    assert sft.settings.learning_rate(0) == pytest.approx(2.5e-3)
    assert sft.settings.learning_rate(9) == pytest.approx(5e-4)
    trained = Sft(tiny_policy.model(), rows(), 0, settings(steps=3, eval_every=2))
    assert not trained.run(gate=lambda step: gate_steps.append(step) or False).gated
    assert gate_steps[2:] == [2, 3]


def test_every_row_comes_once_per_epoch():
    sft = Sft(tiny_policy.model(), rows(), 0, settings(bucket=2))
    batches = sft._batches(0)
    epoch = [next(batches) for _ in range(8)]
    assert sorted(i for batch in epoch for i in batch) == list(range(64))
    resumed = sft._batches(3)
    assert [next(resumed) for _ in range(5)] == epoch[3:]


def test_rows_without_actions_are_refused():
    empty = Row([1, 2, 3], [0, 0, 0], [0.0, 0.0, 0.0])
    with pytest.raises(ConfigurationError, match="action tokens"):
        Sft(tiny_policy.model(), [empty])
    with pytest.raises(ConfigurationError, match="0 rows"):
        Sft(tiny_policy.model(), [])


def test_imitation_learns_the_toy():
    model = tiny_policy.model(size=TinyConfig(hidden=32, layers=2, heads=2, intermediate=64))
    chat = tiny_policy.chat()
    demos = to_rows(tiny_policy.demonstrate(200, chat))
    runner = RolloutRunner(tiny_policy.envs(50), chat, HFEngine(model), TokenBudget(4, 120, 160))

    def success(step):
        episodes = runner.run(tiny_policy.tasks(50, "valid"), horizon=6)
        return sum(e.success for e in episodes) / 50 > 0.4

    run = Sft(model, demos, chat.pad_id, settings(steps=200, batch_size=16, eval_every=20))
    assert run.run(gate=success).gated
