"""Generation that waits neither for training nor for the slowest episode."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from agentgym.errors import ConfigurationError
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import Feed, log, make_trainer
from tests.trainers.methods.async_rollouts.test_producer import assert_sampled_from, with_weights
from trainers.methods.async_rollouts.fully_async import PENDING_FILE, FullyAsync
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.trajectory import Trajectory

SLOW = 0.15
"""Seconds of a turn of a slow task."""


class Uneven(ToyEnv):
    """Every fourth task is slow and long, the others are quick."""

    def _start(self, task: Any, rng: Any) -> str:
        self._slow = task.index % 4 == 0
        return super()._start(task, rng)

    def _act(self, action: str) -> Any:
        time.sleep(SLOW if self._slow else 0.002)
        outcome = super()._act(action)
        outcome.reward, outcome.terms = float(len(action) % 5), None
        # The quick ones end early: lengths differ with slowness.
        outcome.terminated = outcome.terminated or (not self._slow and self.turn >= 1)
        return outcome


class Numbered(Feed):
    """The tasks in turn, none twice."""

    def __call__(self, step: int, count: int, horizon: int) -> list[dict[str, Any]]:
        self.requests.append((step, count, horizon))
        return [{"split": "train", "index": (step - 1) * count + i} for i in range(count)]


def asynchronous(folder: Any, staleness: int = 2, **changes: Any) -> Any:
    """A trainer whose slots are threads, with the episodes of all its updates."""
    events: list[RolloutEvent] = []
    parts = {"async_rollouts": partial(FullyAsync, staleness=staleness)} if staleness else {}
    slots = changes.pop("slots", 32)
    trainer = make_trainer(
        folder,
        **{
            "args": {"steps": 8, "lr": 0.05} | changes.pop("args", {}),
            "parts": parts,
            "envs": TextVectorEnv([Uneven] * slots, backend="thread", workers=slots),
            "on_rollout": events.append,
            "tasks": Numbered(),
            "probe_every": 0,
            **changes,
        },
    )
    trainer.events = events
    return trainer


def episodes_of(trainer: Any) -> list[Trajectory]:
    return [episode for event in trainer.events for episode in event.trajectories]


def played(episodes: Sequence[Trajectory]) -> Counter[Any]:
    """The episodes by task, seed and everything that was sampled."""
    return Counter(
        (e.task_id, e.seed, tuple(tuple(turn.ids) for turn in e.turns)) for e in episodes
    )


def producing() -> bool:
    return any(thread.name == "agentgym-rollouts" for thread in threading.enumerate())


@pytest.mark.slow
def test_lengths_are_those_of_the_synchronous_run(tmp_path):
    """Without learning both play the same episodes, so that only their choice could differ."""
    synchronous = asynchronous(tmp_path / "a", 0, args={"lr": 0.0})
    synchronous.train()
    free = asynchronous(tmp_path / "b", 4, args={"lr": 0.0})
    free.train()
    assert played(episodes_of(free)) == played(episodes_of(synchronous))
    lengths = [sorted(len(e.turns) for e in episodes_of(t)) for t in (free, synchronous)]
    assert lengths[0] == lengths[1] and len(set(lengths[0])) > 1
    order = [[number(e) for e in episodes_of(trainer)] for trainer in (free, synchronous)]
    assert order[0] != order[1]  # Quick groups did overtake slow ones.
    assert all(not turn.stale for e in episodes_of(free) for turn in e.turns)
    assert not producing()


@pytest.mark.slow
def test_a_slow_group_trains_as_soon_as_it_is_complete(tmp_path):
    trainer = asynchronous(tmp_path, 4, args={"lr": 0.0, "steps": 10})
    trainer.train()
    trained_at = {number(e): event.step for event in trainer.events for e in event.trajectories}
    late = {place: step - 1 - place // 4 for place, step in trained_at.items()}
    quick = [lateness for index, lateness in late.items() if index % 4]
    slow = [lateness for index, lateness in late.items() if index % 4 == 0]
    assert np.mean(slow) > np.mean(quick)
    assert sum(late.values()) == 0  # Whoever is overtaken, nobody is left out.


def number(episode: Trajectory) -> int:
    """The place of an episode's task among those of the run."""
    return int(episode.options["index"])


@pytest.mark.slow
def test_episodes_go_on_under_new_weights_and_old_turns_do_not_train(tmp_path):
    """Each turn has the log-probabilities of the weights whose version it names."""
    snapshots: dict[int, list[Any]] = {}
    trainer = asynchronous(tmp_path, 1, args={"steps": 8}, slots=32, horizon=4)

    def note(event: RolloutEvent) -> None:
        snapshots[event.step - 1] = [p.detach().clone() for p in trainer.model.parameters()]
        trainer.events.append(event)

    trainer._on_rollout = note
    trainer.train()
    mixed = 0
    for event in trainer.events:
        for episode in event.trajectories:
            versions = [turn.version for turn in episode.turns]
            assert versions == sorted(versions)
            mixed += len(set(versions)) > 1
            for turn in episode.turns:
                assert turn.trains == (event.step - 1 - turn.version <= 1)
    assert mixed
    slow = next(e for e in episodes_of(trainer) if len({t.version for t in e.turns}) > 1)
    for version in {turn.version for turn in slow.turns}:
        assert_turns_from(with_weights(snapshots[version]), slow, version)
    left_out, oldest = log(trainer, "sampling/too_old"), log(trainer, "sampling/staleness_max")
    assert max(left_out) > 0.0 and max(oldest) <= 1.0
    assert max(log(trainer, "rollout/partial")) > 0.0


def assert_turns_from(model: Any, episode: Trajectory, version: int) -> None:
    """The turns of a version are those of its weights; the others are context."""
    for last, turn in enumerate(episode.turns):
        if turn.version == version:
            context = [token for t in episode.turns[:last] for token in (*t.context, *t.ids)]
            alone = Trajectory(
                turns=[turn.__class__([*context, *turn.context], turn.ids, turn.logprobs)]
            )
            assert_sampled_from(model, alone)


def test_a_turn_that_is_too_old_has_no_gradient(tmp_path):
    from trainers.algorithms.presets import get_preset
    from trainers.grpo.advantages import assign_credit, trained_tokens

    preset = get_preset("rloo")
    episodes = tiny_policy.demonstrate(4, tiny_policy.chat())
    for number_, episode in enumerate(episodes):
        episode.group, episode.turns[-1].reward = 0, float(number_)
    episodes[0].turns[0].trains = False
    credit = assign_credit(episodes, preset)
    first = len(episodes[0].turns[0].ids)
    assert not credit.train[:first].any() and credit.train[first:].all()
    assert not credit.weight[:first].any()
    assert credit.weight.sum() == pytest.approx(credit.train.sum())
    assert (trained_tokens(episodes, preset, None) == credit.train).all()
    episodes[0].turns[0].trains = True
    whole = assign_credit(episodes, preset)
    # Its reward counts, so that the other turns have the same advantages.
    assert np.allclose(whole.advantage[first:], credit.advantage[first:])


@pytest.mark.slow
def test_a_resumed_run_trains_what_was_planned(tmp_path):
    settings = {"steps": 6, "save_every": 2, "lr": 0.0}
    undisturbed = asynchronous(tmp_path, 2, args=settings)
    undisturbed.train()
    before = [e for event in undisturbed.events[:2] for e in event.trajectories]
    state = json.loads((tmp_path / "checkpoint-2" / PENDING_FILE).read_text())
    assert state["planned"] == 3 and len(state["groups"]) == 4
    resumed = asynchronous(tmp_path, 2, args={"steps": 6, "lr": 0.0})
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert [event.step for event in resumed.events] == [3, 4, 5, 6]
    assert played([*before, *episodes_of(resumed)]) == played(episodes_of(undisturbed))


@pytest.mark.slow
def test_a_rollback_that_reseeds_changes_what_was_planned(tmp_path):
    """The groups of the checkpoint are those of a run that had the new seed from the start."""
    settings = {"steps": 4, "lr": 0.0}
    undisturbed = asynchronous(tmp_path / "old", 2, args={**settings, "save_every": 2})
    undisturbed.train()
    resumed = asynchronous(tmp_path / "resumed", 2, args=settings)
    resumed.adapt(1, 1.0, reseed=True)
    resumed.train(resume_from_checkpoint=str(tmp_path / "old" / "checkpoint-2"))
    reference = asynchronous(tmp_path / "new", 2, args={**settings, "seed": resumed.args.seed})
    reference.train()
    episodes = played(episodes_of(resumed))
    assert episodes and episodes <= played(episodes_of(reference))
    assert not episodes & played(episodes_of(undisturbed))


@pytest.mark.slow
def test_held_out_episodes_and_probes_come_in_between(tmp_path):
    trainer = asynchronous(tmp_path, 2, args={"steps": 5}, probe_every=1)
    versions = []

    def look(event: RolloutEvent) -> None:
        trainer.events.append(event)
        if event.step % 2:
            episodes = trainer.play(tiny_policy.tasks(4))
            versions.append({turn.version for e in episodes for turn in e.turns})

    trainer._on_rollout = look
    trainer.train()
    assert versions == [{0}, {2}, {4}]
    assert max(log(trainer, "sampling/probe_gap")) <= 1e-5
    assert len({number(e) for e in episodes_of(trainer)}) == 20


class Reading(HFCopyEngine):
    """Takes its weights from the policy itself, as an engine that serves adapters does."""

    reads_policy = True


@pytest.mark.slow
def test_an_engine_that_reads_the_policy_is_idle_meanwhile(tmp_path):
    trainer = asynchronous(tmp_path, 2, make_engine=Reading, args={"steps": 5})
    trainer.train()
    assert len({number(e) for e in episodes_of(trainer)}) == 20


class Failing(Uneven):
    """Breaks the promises of an environment after some tasks."""

    def reset(self, **kwargs: Any) -> Any:
        observation, info = super().reset(**kwargs)
        if kwargs["options"]["index"] > 8:
            del info["state_key"]
        return observation, info


def test_an_error_of_the_thread_is_raised_where_it_trains(tmp_path):
    trainer = asynchronous(tmp_path, 1, envs=TextVectorEnv([Failing] * 16))
    with pytest.raises(ConfigurationError, match="state_key"):
        trainer.train()
    assert not producing()


def test_an_engine_that_shares_the_weights_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="weights of its own"):
        asynchronous(tmp_path, 1, make_engine=lambda model: HFEngine(model))
