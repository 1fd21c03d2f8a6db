"""Environments that raise cost a run the episodes in which they do: demonstrations and rollouts."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from agentgym.core.guard import GuardedEnv
from agentgym.core.oracle import DemonstratorPolicy
from agentgym.core.tasks import Task
from agentgym.episodes import RecordFacts
from agentgym.vector import TextVectorEnv
from tests.interop.worlds import make
from tests.raising import METHODS, RaisingEnv, faulty_method
from trainers.rollouts.expert_demonstrations import watch

TASKS: list[Task] = [RaisingEnv().tasks.task("train", index) for index in range(4 * len(METHODS))]
ASIDE = ("", "_snapshot", "_restore")


def expert(env: Any, seed: int) -> DemonstratorPolicy:
    return DemonstratorPolicy(env)


def test_an_expert_is_watched_wherever_an_environment_raises() -> None:
    options = [{"task_id": task.id} for task in TASKS]
    for count in (1, 2):
        envs = [GuardedEnv(RaisingEnv()) for _ in range(count)]
        task_ids = {episode.info["task_id"] for episode in watch(envs, options, expert)}
        well = {task.id for task in TASKS if faulty_method(task) in (*ASIDE, "_potential")}
        assert task_ids == well


def test_rollouts_whose_facts_are_recorded_end_with_an_error() -> None:
    with closing(TextVectorEnv([lambda: RecordFacts(RaisingEnv())], backend="sync")) as envs:
        for task in TASKS:
            [(observation, info)] = envs.reset_slots([0], [0], [{"task_id": task.id}])
            while not info["stop_reason"]:
                action = "" if faulty_method(task) == "_misread" else _press(observation)
                [(observation, _, _, _, info)] = envs.step_slots([0], [action])
            failed = faulty_method(task) not in (*ASIDE, "_oracle_action", "_demonstrator_action")
            assert info["stop_reason"] == ("error" if failed else "success")


@pytest.mark.parametrize(
    ("actions", "reason"), [(["raise"], "action_error"), (["jam", "next"], "error")]
)
def test_rollouts_tell_failures_of_imported_worlds_from_those_of_the_policy(
    actions: list[str], reason: str
) -> None:
    with closing(TextVectorEnv([lambda: make("x")], backend="sync")) as envs:
        envs.reset_slots([0], [0], [{"split": "train", "index": 0}])
        for action in actions:
            [(_, reward, _, _, info)] = envs.step_slots([0], [action])
    assert (reward, info["stop_reason"]) == (0.0, reason)


def _press(observation: str) -> str:
    return f"<press>{observation.split()[-1]}</press>"
