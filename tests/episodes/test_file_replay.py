"""``agentgym.replay_file`` and ``rescore_file``: what ``agentgym replay`` prints, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import agentgym
from agentgym.episodes import Episode, read_episodes, replay
from agentgym.errors import ConfigurationError, DataError
from agentgym.rewards import TurnCost
from tests.cli.test_replay import changed, good, path, remove_task, write
from tests.raising import RAISING_ID, faulty_method

__all__ = ["good", "path"]  # fixtures


def test_the_outcome_of_every_episode(path: Path, good: Episode) -> None:
    write(path, good, changed(good), remove_task(good), good)
    with path.open("a") as file:
        file.write(good.to_line()[:99])
    calls: list[int] = []
    report = agentgym.replay_file(path, on_episode=lambda: calls.append(1))
    assert (report.equal, report.not_played, report.torn, len(calls)) == (2, 1, (5,), 4)
    [change], [group] = report.changes, report.unplayed
    assert (change.episode, change.task_id) == (2, good.task_id)
    assert change.difference.startswith("turn 1: action_valid differs")
    assert (group.reason, group.episodes) == ("the task is gone", 1)
    counts = "2 equal, 1 changed, 1 cannot be played again (the task is gone: "
    assert str(report).startswith(counts)
    assert json.loads(json.dumps(report.to_dict()))["changes"][0]["episode"] == 2
    assert agentgym.replay_file(path, max_episodes=1).to_dict()["equal"] == 1


def test_new_rewards_with_their_means(path: Path, good: Episode) -> None:
    write(path, good, remove_task(good))
    new = path.with_name("new.jsonl")
    report = agentgym.rescore_file(path, [TurnCost(0.25)], {"horizon": 9}, out=new)
    assert (report.equal, report.not_played) == (1, 1) and "1 rescored" in str(report)
    assert report.before["return"] == good.reward and report.after["n"] == 1
    [episode] = read_episodes(new)
    assert report.after["return"] == episode.reward and replay(episode).equal


def test_an_environment_that_raises_costs_one_episode(path: Path) -> None:
    env = gymnasium.make("agentgym-test/Toy-v0", grammar="xml")
    tasks = [env.unwrapped.tasks.task("train", index) for index in (0, 3)]  # type: ignore[attr-defined]
    agentgym.evaluate("oracle", env, tasks=[task.id for task in tasks], record=path)
    path.write_text(path.read_text().replace("agentgym-test/Toy-v0", RAISING_ID))
    report = agentgym.replay_file(path)
    assert [faulty_method(task) for task in tasks] == ["", "_act"]
    assert (report.equal, report.not_played) == (1, 1)
    assert str(report.unplayed[0]) == "the environment failed: 1, first: RuntimeError: _act"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"max_episodes": 0}, ConfigurationError),
        ({"workers": 0}, ConfigurationError),
        ({"env": "nothing"}, ConfigurationError),
        ({}, DataError),
    ],
)
def test_bad_arguments(path: Path, good: Episode, arguments: Any, error: type[Exception]) -> None:
    write(path, remove_task(good))
    output = path.with_name("new.jsonl")
    with pytest.raises(error):
        agentgym.replay_file(path, **arguments)
    with pytest.raises(error):
        agentgym.rescore_file(path, env_kwargs={"horizon": 9}, out=output, **arguments)
    assert not output.exists()
