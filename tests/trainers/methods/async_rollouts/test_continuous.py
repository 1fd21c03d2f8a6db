"""The thread that plays without end, while its engine fails and weights come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.trainers import tiny_policy
from trainers.methods.async_rollouts import continuous
from trainers.methods.async_rollouts.continuous import ContinuousRollout, PlannedGroup
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.engines.policy_weights import policy_weights
from trainers.rollouts.rollout_runner import RolloutRunner


class Mortal(HFCopyEngine):
    """Raises ``error`` instead of generating, until it gets weights."""

    error: Exception | None = None

    def advance(self, timeout: float | None = None) -> Any:
        if self.error is not None:
            raise self.error
        return super().advance(timeout)

    def sync(self, named_params: Any, version: int) -> None:
        super().sync(named_params, version)
        self.error = None


@pytest.fixture
def rollout() -> Iterator[ContinuousRollout]:
    """A group of four episodes of a policy of version 0 that is about to be played."""
    model = tiny_policy.model()
    engine = Mortal(model)
    runner = RolloutRunner(tiny_policy.envs(4), tiny_policy.chat(), engine, TokenBudget(2, 64, 96))
    runner.recovery = EngineWeights(engine, lambda: model, lambda: 0)
    rollout = ContinuousRollout(runner, Sampling())
    members = runner.episodes_of(tiny_policy.tasks(1), 2, 4)
    rollout.add([PlannedGroup(0, 2, 0, members)])
    yield rollout
    rollout.drop()


def play(rollout: ContinuousRollout) -> None:
    threading.Thread(target=rollout.play, daemon=True).start()


def weights_of(engine: Any) -> Any:
    return [(name, tensor.clone()) for name, tensor in policy_weights(engine.model)]


def test_weights_that_come_in_a_pause_are_loaded_in_it(rollout: ContinuousRollout) -> None:
    """Whoever paused may generate: with these weights, not with those of the last turn."""
    engine = rollout._engine
    engine.error = EngineFailure("it was killed")
    play(rollout)
    assert rollout.take(1) is None
    rollout.pause()
    rollout.load(weights_of(engine), 7)
    rollout.pause()
    assert rollout.failure is None and engine.version == 7
    rollout.go_on()
    (group,) = rollout.take(1) or []
    assert {turn.version for episode in group.members for turn in episode.turns} == {7}


def test_a_thread_whose_engine_failed_sleeps_until_weights_come(
    rollout: ContinuousRollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuous, "ENV_SECONDS", 60.0)
    rounds, asleep = [], threading.Event()
    start = rollout._start

    def count() -> None:
        rounds.append(rollout.failure)
        start()

    monkeypatch.setattr(rollout, "_start", count)
    engine = rollout._engine
    engine.error = EngineFailure("it was killed")
    play(rollout)
    assert rollout.take(1) is None
    asleep.wait(0.2)
    assert sum(failure is not None for failure in rounds) <= 1
    rollout.load(weights_of(engine), 1)
    assert len(rollout.take(1) or []) == 1


def test_an_error_is_raised_even_if_nothing_can_be_abandoned(
    rollout: ContinuousRollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def abort() -> None:
        raise RuntimeError("it hears nothing")

    monkeypatch.setattr(rollout._envs, "abandon_slots", abort)
    rollout._engine.error = ValueError("it is broken")
    play(rollout)
    with pytest.raises(ValueError, match="it is broken"):
        rollout.take(1)
