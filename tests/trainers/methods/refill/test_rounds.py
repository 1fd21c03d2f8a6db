"""Groups that replace others, shared by several processes and played ahead of the training."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv, ToyTasks
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.grpo.helpers import BUDGET, Feed, make_trainer, weights
from trainers import processes
from trainers.algorithms.presets import get_preset
from trainers.algorithms.schedule import Constant, PerFamily
from trainers.config.resolve import resolve
from trainers.methods.async_rollouts.producer import RolloutProducer
from trainers.methods.async_rollouts.settings import check_processes
from trainers.methods.refill.refill import Refill
from trainers.methods.refill.rounds import play_in_rounds
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.step_plan import StepPlan, plan_step
from trainers.rollouts.task_feed import MixedTasks, TrainingTasks, further_tasks
from trainers.rollouts.trajectory import Trajectory

GROUPS, SIZE = 3, 2


class Partial(ToyEnv):
    """Pays by the length of an action, in every third task alone: the others are flat."""

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        pays = self.task.index % 3 == 0
        outcome.reward, outcome.terms = float(len(action) % 5) if pays else 0.0, None
        outcome.terminated = False
        return outcome


def plan(rank: int, world: int, step: int = 1, limit: int = 6) -> StepPlan:
    """A step of three pairs, of which about two in three are flat."""
    tasks = TrainingTasks(ToyTasks(), "train", 0, True)
    return plan_step(
        step,
        schedule=Constant(5),
        tasks=tasks,
        group_size=SIZE,
        count=GROUPS * SIZE // world,
        rank=rank,
        world=world,
        seed=0,
        sampling=Sampling(),
        make_parts=lambda plan: [
            Refill(
                plan.tasks,
                further_tasks(tasks, step, len(plan.tasks), plan.horizon),
                group_size=SIZE,
                limit=limit,
                seed=plan.env_seed,
                trains=lambda group: sum(group[0].turns[0].ids) % 3 == 0,
            )
        ],
    )


def refill_of(plan: StepPlan) -> Refill:
    (refill,) = plan.parts
    assert isinstance(refill, Refill)
    return refill


def runner() -> RolloutRunner:
    chat = tiny_policy.chat()
    model = tiny_policy.model()
    return RolloutRunner(tiny_policy.envs(4), chat, HFEngine(model, chat.pad_id), BUDGET)


class Meeting:
    """Gathers what two threads bring."""

    def __init__(self) -> None:
        self.brought: list[list[Trajectory]] = [[], []]
        self.barrier = threading.Barrier(2, timeout=500)

    def gather_of(self, rank: int) -> Callable[[list[Trajectory], str], list[Trajectory]]:
        def gather(episodes: list[Trajectory], place: str) -> list[Trajectory]:
            self.brought[rank] = episodes
            self.barrier.wait()
            gathered = [episode for part in self.brought for episode in part]
            self.barrier.wait()
            return gathered

        return gather


def describe_episodes(episodes: Sequence[Trajectory]) -> list[Any]:
    return [(e.group, e.task_id, e.seed, [turn.ids for turn in e.turns]) for e in episodes]


@pytest.mark.slow
def test_two_processes_end_up_with_the_groups_of_one():
    alone = plan(0, 1)
    expected = runner().run(**alone.arguments, parts=alone.parts)
    meeting = Meeting()
    parts: dict[int, list[Trajectory]] = {}
    plans = {rank: plan(rank, 2) for rank in (0, 1)}
    runners = {rank: runner() for rank in (0, 1)}  # Here: weights are drawn from one generator.

    def play(rank: int) -> None:
        gather = meeting.gather_of(rank)
        parts[rank] = play_in_rounds(
            runners[rank], plans[rank], refill_of(plans[rank]), rank, 2, gather
        )

    threads = [threading.Thread(target=play, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(500)
    assert describe_episodes([*parts[0], *parts[1]]) == describe_episodes(expected)
    assert len(parts[0]) == len(parts[1]) == 3
    assert alone.replaced
    for other_plan in plans.values():
        assert describe_episodes(other_plan.replaced) == describe_episodes(alone.replaced)
        assert other_plan.figures == alone.figures


def test_each_family_replaces_its_own_groups():
    """Drawn ones follow those of the step, and have the turns of their family."""
    sources = {
        "a": TrainingTasks(ToyTasks(), "train", 0, True),
        "b": TrainingTasks(ToyTasks(), "train", 1, False),
    }
    schedule = PerFamily({"a": Constant(3), "b": Constant(6)})
    mixed = MixedTasks(sources, {"a": 1.0, "b": 1.0}, schedule)
    step = mixed(2, 6, 0)
    further = mixed.further(2, 6, 0)
    for name, horizon in (("a", 3), ("b", 6)):
        ids = [task["task_id"] for task in step if task["family"] == name]
        more = [next(further[name]) for _ in range(4)]
        assert {(task["family"], task["horizon"]) for task in more} == {(name, horizon)}
        drawn = sources[name](2, 7, horizon)
        assert ids + [task["task_id"] for task in more] == [task["task_id"] for task in drawn]


def test_learning_meanwhile_does_not_change_the_replacements():
    feed = TrainingTasks(ToyTasks(), "train", 0, True)
    tasks_before = [next(feed.further(1, 3, 5)[""]) for _ in range(1)]
    (late,) = feed.further(1, 3, 5).values()
    feed.learn([Trajectory(task_id=str(tasks_before[0]["task_id"]), success=True)])
    assert next(late) == tasks_before[0]


@pytest.mark.slow
@pytest.mark.parametrize("staleness", [0, 1])
def test_a_trainer_replaces_groups_also_ahead_of_the_training(tmp_path, staleness):
    """Twice the same settings give the same weights; without the refill others."""
    ended_slots = []
    for name, refill in (("a", 6), ("b", 6), ("c", 0)):
        events: list[Any] = []
        trainer = make_trainer(
            tmp_path / f"{name}{staleness}",
            preset=replace(get_preset("dapo"), refill=refill),
            tasks=TrainingTasks(ToyTasks(), "train", 0, False),
            envs=TextVectorEnv([Partial] * 16),
            args={"steps": 2, "lr": 0.05},
            parts={"async_rollouts": partial(RolloutProducer, staleness=1)} if staleness else {},
            on_rollout=events.append,
        )
        trainer.train()
        ended_slots.append(weights(trainer.model))
        counts = [len(event.trajectories) for event in events]
        groups_played = [event.metrics.get("refill/groups_played") for event in events]
        if refill:
            assert counts == [4 * count for count in groups_played] and max(counts) > 16
        else:
            assert counts == [16, 16] and groups_played == [None, None]
    equal = [
        all(map(lambda a, b: bool((a == b).all()), ended_slots[0], a_copy))
        for a_copy in ended_slots[1:]
    ]
    assert equal == [True, False]


def test_a_source_without_further_tasks_is_named(tmp_path):
    trainer = make_trainer(tmp_path, preset=get_preset("dapo"), tasks=Feed())
    with pytest.raises(ConfigurationError, match="a task source with the method `further`"):
        trainer.train()


def test_processes_do_not_refill_ahead_of_the_training(tmp_path, monkeypatch):
    config = toy_runs.config(tmp_path / "run", preset="dapo", async_rollouts__staleness=1)
    monkeypatch.setattr(processes, "world", lambda: 2)
    with pytest.raises(ConfigurationError, match=r"staleness 0 where several processes"):
        check_processes(resolve(config))
