"""Generation that runs ahead of training: always by the same lag, and corrected for."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR

from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import Feed, log, make_trainer, step_context, weights
from trainers.algorithms.presets import get_preset
from trainers.algorithms.schedule import Gated
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.step_plan import StepPlan

CAP = 2.0
"""Largest importance weight of the presets."""


class Picky(ToyEnv):
    """Pays by the length of an action, so that any policy learns something."""

    seconds = 0.0

    def _act(self, action: str) -> Any:
        time.sleep(self.seconds)
        outcome = super()._act(action)
        outcome.reward, outcome.terms = float(len(action) % 5), None
        return outcome


class Slow(Picky):
    seconds = 0.01


def ahead(folder: Any, staleness: int, *, env: Any = Picky, **changes: Any) -> Any:
    """A trainer that learns fast, with all events it told of."""
    args = {"steps": 5, "lr": 0.05} | changes.pop("args", {})
    events: list[RolloutEvent] = []
    trainer = make_trainer(
        folder,
        args=args,
        parts={"async_rollouts": partial(RolloutProducer, staleness=staleness)}
        if staleness
        else {},
        **{
            "envs": TextVectorEnv([env] * 16),
            "on_rollout": events.append,
            **changes,
        },
    )
    trainer.events = events
    return trainer


def versions(events: Sequence[RolloutEvent]) -> list[set[int]]:
    return [{turn.version for e in event.trajectories for turn in e.turns} for event in events]


def same(trainer: Any, other: Any) -> bool:
    pairs = zip(trainer.model.parameters(), other.model.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def producing() -> bool:
    return any(thread.name == "agentgym-rollouts" for thread in threading.enumerate())


# -- the lag -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("staleness", "expected"), [(1, [0, 0, 1, 2, 3]), (2, [0, 0, 0, 1, 2]), (9, [0] * 5)]
)
def test_the_lag_is_a_rule_and_no_race(tmp_path, staleness, expected):
    trainer = ahead(tmp_path / "a", staleness)
    trainer.train()
    assert versions(trainer.events) == [{version} for version in expected]
    ages = [step - version for step, version in enumerate(expected)]
    assert log(trainer, "sampling/staleness") == ages
    slow = ahead(tmp_path / "b", staleness, env=Slow)
    slow.train()
    assert same(trainer, slow)
    assert [e.metrics["rollout/return"] for e in trainer.events] == [
        e.metrics["rollout/return"] for e in slow.events
    ]
    assert not producing()


def test_a_step_of_several_updates_lags_by_steps(tmp_path):
    trainer = ahead(tmp_path, 1, args={"minibatches": 2, "steps": 3})
    trainer.train()
    assert versions(trainer.events) == [{0}, {0}, {2}]
    assert log(trainer, "sampling/staleness") == [0.0, 1.0, 1.0]


def test_without_staleness_the_model_itself_generates(tmp_path):
    trainer = ahead(tmp_path, 0)
    trainer.train()
    assert versions(trainer.events) == [{0}, {1}, {2}, {3}, {4}]
    assert type(trainer.runner.engine) is HFEngine
    assert not log(trainer, "sampling/importance_mean") and not log(trainer, "sampling/staleness")


def test_tasks_are_chosen_once_and_none_for_steps_that_do_not_come(tmp_path):
    feed = Feed()
    trainer = ahead(tmp_path, 2, tasks=feed, args={"steps": 4})
    trainer.train()
    assert [step for step, _, _ in feed.requests] == [1, 2, 3, 4]
    assert [event.step for event in trainer.events] == [1, 2, 3, 4]


def test_stages_begin_after_the_steps_that_are_planned(tmp_path):
    gate, feed = Gated((2, 3), threshold=0.0, window=2), Feed()
    trainer = ahead(tmp_path, 1, horizon=gate, tasks=feed, args={"steps": 6})
    trainer.train()
    # The window is full after step 2; step 3 has been planned by then.
    assert trainer.stage_switches == [(1, 2), (4, 3)]
    assert [event.horizon for event in trainer.events] == [2, 2, 2, 3, 3, 3]
    assert [horizon for _, _, horizon in feed.requests] == [2, 2, 2, 3, 3, 3]
    assert [gate.stage(event.step) for event in trainer.events] == [0, 0, 0, 1, 1, 1]


# -- the correction ----------------------------------------------------------------------------


def logp(model: Any, ids: list[int]) -> torch.Tensor:
    """Log-probability of every token but the first, given those before."""
    scores = model(torch.tensor([ids])).logits[0, :-1].float()
    return torch.log_softmax(scores, -1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]


def reference_gradient(model: Any, episodes: Sequence[Any]) -> tuple[list[Any], list[float]]:
    """Gradient of -1/T sum_k A_k min(pi_old/mu, C) rho_k by the definition, token by token."""
    parts, used = [], []
    total = sum(len(turn.ids) for e in episodes for turn in e.turns)
    for number, episode in enumerate(episodes):
        peers = [
            p.episode_return
            for other_number, p in enumerate(episodes)
            if p.group == episode.group and other_number != number
        ]
        advantage = episode.episode_return - sum(peers) / len(peers)
        ids: list[int] = []
        for turn in episode.turns:
            ids += turn.context
            old = logp(model, ids + turn.ids)[-len(turn.ids) :]
            ids += turn.ids
            weight = (old.detach() - torch.tensor(turn.logprobs)).exp().clamp(max=CAP)
            used += weight.tolist()
            ratio = (old - old.detach()).exp()
            parts.append(-(advantage * weight * ratio).sum() / total)
    gradient = torch.autograd.grad(torch.stack(parts).sum(), list(model.parameters()))
    return list(gradient), used


def with_weights(values: Sequence[torch.Tensor]) -> Any:
    model = tiny_policy.model()
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(value)
    return model


@torch.no_grad()
def assert_sampled_from(model: Any, episode: Any) -> None:
    """The recorded log-probabilities are those of the weights with the recorded version."""
    ids: list[int] = []
    for turn in episode.turns:
        ids += turn.context
        expected = logp(model, ids + turn.ids)[-len(turn.ids) :]
        ids += turn.ids
        assert torch.allclose(expected, torch.tensor(turn.logprobs), atol=1e-4)


@pytest.mark.slow
def test_the_gradient_has_the_truncated_importance_weights(tmp_path):
    rate, snapshots = 0.5, []
    model = tiny_policy.model()
    descent = torch.optim.SGD(model.parameters(), lr=rate)
    trainer = ahead(
        tmp_path,
        1,
        model=model,
        args={"steps": 4, "max_grad_norm": 1e9},
        optimizers=(descent, LambdaLR(descent, lambda step: 1.0)),
        on_rollout=lambda event: snapshots.append((event, weights(trainer.model))),
    )
    trainer.train()
    truncated, at_version = (
        [],
        {event.step - 1: weights_before for event, weights_before in snapshots},
    )
    for (event, before), (_, after) in itertools.pairwise(snapshots):
        for episode in event.trajectories:
            assert_sampled_from(with_weights(at_version[episode.turns[0].version]), episode)
        copy = with_weights(before)
        gradient, used = reference_gradient(copy, event.trajectories)
        for old, new, slope in zip(before, after, gradient, strict=True):
            assert torch.allclose(new - old, -rate * slope, atol=2e-5, rtol=1e-3)
        mean = log(trainer, "sampling/importance_mean")[event.step - 1]
        assert mean == pytest.approx(sum(used) / len(used), rel=1e-4)
        truncated.append(sum(weight == CAP for weight in used) / len(used))
        cut = log(trainer, "sampling/importance_truncated")[event.step - 1]
        assert cut == pytest.approx(truncated[-1])
        off = max(abs(weight - 1.0) for weight in used)
        assert off < 1e-4 if event.step == 1 else off > 0.1
    assert truncated[0] == 0.0 and max(truncated) > 0.0


def test_adapters_are_handed_over_merged(tmp_path):
    from peft import LoraConfig

    config = LoraConfig(r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM")
    trainer = ahead(tmp_path, 2, env=Slow, peft_config=config, probe_every=1)
    trainer.train()
    assert max(log(trainer, "sampling/probe_gap")) <= 1e-5
    assert min(log(trainer, "sampling/importance_mean")) != 1.0


class Reading(HFCopyEngine):
    """Reads the policy at a sync instead of what it is given, as one that serves adapters does."""

    reads_policy = True
    steps_trained: Callable[[], int]

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._policy = model

    def sync(self, named_params: Any, version: int) -> None:
        end = time.monotonic() + 2.0
        while threading.current_thread() is not threading.main_thread() and time.monotonic() < end:
            time.sleep(0.01)
            if self.steps_trained() > version:  # Now it is another one.
                break
        super().sync(policy_weights(self._policy), version)


@pytest.mark.slow
def test_an_engine_that_reads_the_policy_reads_that_of_the_right_step(tmp_path, monkeypatch):
    copying = ahead(tmp_path / "a", 2)
    copying.train()
    monkeypatch.setattr(RolloutProducer, "idle", False)
    reading = ahead(tmp_path / "b", 2, make_engine=Reading)
    reading.runner.engine.steps_trained = lambda: reading.state.global_step
    reading.train()
    assert versions(reading.events) == [{0}, {0}, {0}, {1}, {2}]
    assert same(copying, reading)


# -- what comes in between ---------------------------------------------------------------------


@pytest.mark.slow
def test_playing_in_between_changes_nothing(tmp_path):
    alone = ahead(tmp_path / "a", 2)
    alone.train()
    watched = ahead(tmp_path / "b", 2)
    batches = []

    def look(event: RolloutEvent) -> None:
        batches.append(watched.play(tiny_policy.tasks(4)))
        watched.events.append(event)

    watched._on_rollout = look
    watched.train()
    assert same(alone, watched)
    # The weights of the present step, not those of a batch ahead.
    assert [{t.version for e in p for t in e.turns} for p in batches] == [{0}, {1}, {2}, {3}, {4}]


@pytest.mark.slow
def test_a_resumed_run_plays_what_was_in_flight_anew(tmp_path):
    settings = {"steps": 5, "save_every": 2}
    ahead(tmp_path, 1, args=settings).train()
    runs = []
    for _ in range(2):
        feed = Feed()
        trainer = ahead(tmp_path, 1, args={"steps": 5}, tasks=feed)
        trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
        assert [step for step, _, _ in feed.requests] == [1, 2, 3, 4, 5]
        assert versions(trainer.events) == [{2}, {2}, {3}]
        runs.append(trainer)
    assert same(*runs)


class Failing(Picky):
    """Breaks the promises of an environment once training goes on."""

    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        if info["split"] == "train" and len(threads_seen) > 20:
            del info["state_key"]
        threads_seen.append(threading.current_thread().name)
        return observation, info


threads_seen: list[str] = []


def test_an_error_of_the_thread_is_raised_where_it_trains(tmp_path):
    threads_seen.clear()
    trainer = ahead(tmp_path, 1, envs=TextVectorEnv([Failing] * 16))
    with pytest.raises(ConfigurationError, match="state_key") as caught:
        trainer.train()
    assert "agentgym-rollouts" in threads_seen
    assert any("runner.py" in str(entry.path) for entry in caught.traceback)
    assert not producing()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sync", "thread"])
def test_an_interrupt_gives_up_what_is_in_flight(tmp_path, backend):
    class Sluggish(Picky):
        seconds = 0.05

    trainer = ahead(tmp_path, 1, envs=TextVectorEnv([Sluggish] * 16, backend=backend), horizon=3)

    def interrupted(event: RolloutEvent) -> None:
        if event.step == 2:
            raise KeyboardInterrupt

    trainer._on_rollout = interrupted
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert not producing()
    assert trainer.runner.engine.running == 0
    assert len(trainer.play(tiny_policy.tasks(2))) == 2


def test_an_engine_that_shares_the_weights_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="weights of its own"):
        ahead(tmp_path, 1, make_engine=lambda model: HFEngine(model))


def test_after_an_error_no_batch_is_played() -> None:
    class Runner:
        engine = None
        calls = 0

        def run(self, **_: Any) -> Any:
            self.calls += 1
            raise EnvFailure("gone")

    runner: Any = Runner()
    context = step_context(tiny_policy.model(), get_preset("rloo"))
    producer = RolloutProducer(replace(context, last_step=lambda: 9), 3)
    weights = Mock(due=False, version=lambda: 0)
    weights.copy.return_value = None
    producer.use_runner(runner, weights)
    with pytest.raises(EnvFailure, match="gone"):
        producer.play(1, lambda step: StepPlan(step, 1, {}))
    producer.wait_for_engine()
    assert runner.calls == 1
    producer.end_training()
    assert not producing()
