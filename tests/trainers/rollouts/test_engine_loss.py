"""An engine that dies costs time: its turns are generated again, with the same samples."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, same, weights
from trainers.methods.async_rollouts.fully_async import FullyAsync
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.rollouts.engines.engine_weights import MOST_FAILURES, EngineWeights
from trainers.rollouts.engines.failure import EngineFailure, EngineLost
from trainers.rollouts.engines.hf_copy import HFCopyEngine

DEATHS, STEPS = 20, 40


class Mortal(HFCopyEngine):
    """Dies at random, while it generates, while it is asked, or while it gets weights."""

    def __init__(self, model: Any, share: float = 0.06, deaths: int = DEATHS) -> None:
        super().__init__(model)
        self.left, self._share, self._rng = deaths, share, np.random.default_rng(0)
        self._alive = True
        self.deaths: list[str] = []

    def submit(self, requests: Any, sampling: Any) -> None:
        self._may_die("submit")
        super().submit(requests, sampling)

    def advance(self, timeout: float | None = None) -> Any:
        if self.running:
            self._may_die("advance")
        return super().advance(timeout)

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        self._alive = True
        self._may_die("sync")
        super().sync(named_params, version)

    def _may_die(self, place: str) -> None:
        if self._alive and self.left and self._rng.random() < self._share:
            self.left -= 1
            self.deaths.append(place)
            self._alive = False
            super().abort()
            with torch.no_grad():  # A new one would have other weights.
                for weight in self.model.parameters():
                    weight.zero_()
        if not self._alive:
            raise EngineFailure("it was killed")


def mortal_trainer(
    folder: Any, part: Any = None, kind: type[Mortal] = Mortal, **engine: Any
) -> Any:
    events: list[Any] = []
    trainer = make_trainer(
        folder,
        args={"steps": STEPS, "lr": 0.02},
        envs=TextVectorEnv([ToyEnv] * 16),
        parts={"async_rollouts": part} if part else {},
        make_engine=partial(kind, **engine),
        probe_every=0,
        on_rollout=events.append,
    )
    trainer.events = events
    return trainer


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, partial(FullyAsync, staleness=2)], ids=["sync", "async"])
def test_twenty_deaths_cost_no_episode(tmp_path, part, caplog):
    trainer = mortal_trainer(tmp_path, part)
    trainer.train()
    assert trainer.state.global_step == STEPS
    engine = trainer.runner.engine
    assert len(engine.deaths) == DEATHS and set(engine.deaths) >= {"submit", "advance"}
    assert caplog.text.count("the engine failed") >= DEATHS // 2  # Newer weights may come first.
    episodes = [episode for event in trainer.events for episode in event.trajectories]
    assert not any(episode.error for episode in episodes)
    # It generates with the right weights again, whatever came in between.
    trainer._weights.send()
    assert trainer._probe(episodes) < 1e-5
    assert len(trainer.play(tiny_policy.tasks(4))) == 4


@pytest.mark.slow
def test_a_synchronous_run_is_the_undisturbed_one(tmp_path):
    trainers = [mortal_trainer(tmp_path / str(n), deaths=n) for n in (0, DEATHS)]
    for trainer in trainers:
        trainer.train()
    assert len(trainers[1].runner.engine.deaths) == DEATHS
    assert same(*(weights(trainer.model) for trainer in trainers))


@pytest.mark.slow
def test_log_probabilities_are_those_of_the_weights_that_were_sent_again(tmp_path):
    """Without learning all episodes are of one policy, so no importance weight is off."""
    trainer = mortal_trainer(tmp_path, partial(FullyAsync, staleness=2))
    trainer.args.learning_rate = 0.0  # Before the optimizer is made.
    trainer.train()
    assert log(trainer, "sampling/importance_mean") == pytest.approx([1.0] * STEPS, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("part", [None, partial(FullyAsync, staleness=2)], ids=["sync", "async"])
def test_an_engine_that_always_dies_ends_the_run_with_a_sentence(tmp_path, part):
    trainer = mortal_trainer(tmp_path, part, share=1.0, deaths=10**6)
    with pytest.raises(EngineFailure, match=f"failed {MOST_FAILURES} times.*--resume"):
        trainer.train()


def test_a_probe_is_repeated_if_the_engine_dies_in_it(tmp_path):
    trainer = mortal_trainer(tmp_path, share=1.0, deaths=0)
    episodes = trainer.play(tiny_policy.tasks(2))
    trainer.runner.engine.left = 1
    assert trainer._probe(episodes) < 1e-5
    assert trainer.runner.engine.deaths == ["submit"]


def test_the_sentence_at_the_end_has_the_failure_at_which_it_began():
    model = tiny_policy.model()
    engine_weights = EngineWeights(HFCopyEngine(model), lambda: model, lambda: 0)
    engine_weights.count_failure(EngineFailure("another time"))
    engine_weights.note_turn()
    for number in range(1, MOST_FAILURES):
        engine_weights.count_failure(EngineFailure(f"failure {number}"))
    with pytest.raises(EngineFailure, match=r"at first so: failure 1; .*--resume"):
        engine_weights.count_failure(EngineFailure("it died before"))


class Lost(Mortal):
    """Dies once and for all, as an engine in this process does."""

    def _may_die(self, place: str) -> None:
        try:
            super()._may_die(place)
        except EngineFailure as error:
            raise EngineLost("the process has lost it") from error


@pytest.mark.parametrize("part", [None, partial(FullyAsync, staleness=2)], ids=["sync", "async"])
def test_an_engine_that_cannot_come_back_ends_the_run_at_once(tmp_path, part):
    trainer = mortal_trainer(tmp_path, part, Lost, share=0.2)
    with pytest.raises(EngineLost, match="the process has lost it"):
        trainer.train()
    assert len(trainer.runner.engine.deaths) == 1


def test_a_fixed_lag_ends_with_the_engines_own_sentence(tmp_path):
    """Its weights are of an earlier step, which nobody has any more."""
    part = partial(RolloutProducer, staleness=1)
    trainer = mortal_trainer(tmp_path, part, share=0.5, deaths=10**6)
    with pytest.raises(EngineFailure):
        trainer.train()
