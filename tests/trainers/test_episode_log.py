from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.episodes import read_episodes, replay, rescore
from agentgym.errors import DataError
from agentgym.vector import TextVectorEnv
from tests.trainers import tiny_policy, toy_runs
from trainers.episode_log import EpisodeLog
from trainers.plan import Plan, make_plan
from trainers.reinforce import reward_hooks
from trainers.rollouts.engines.scripted import ScriptedEngine
from trainers.rollouts.runner import Limits, RolloutRunner
from trainers.rollouts.trajectory import Trajectory

ACTIONS = ["press red", "press blue", "jump", "press green", "press gold", "press red"]


def plan(**changes: Any) -> Plan:
    return make_plan(toy_runs.config(Path("unused"), **changes))


def played(made: Plan, count: int = 6, **options: Any) -> list[Trajectory]:
    """Episodes as training plays them: with reward hooks, a horizon and a step."""
    kwargs = {**made.env_kwargs, "reward_hooks": reward_hooks(made)}
    envs = TextVectorEnv.make(made.env_id, count, kwargs)
    chat = tiny_policy.chat()
    engine = ScriptedEngine(chat, iter(ACTIONS * 50))
    limits = options.pop("limits", Limits(6, 200, 250))
    runner = RolloutRunner(envs, chat, engine, limits)
    return runner.run(tiny_policy.tasks(count), horizon=3, seed=5, training_step=7, **options)


def logged(made: Plan, trajectories: list[Trajectory], path: Path) -> list[Any]:
    log = EpisodeLog(made, path, reward_hooks(made))
    log.write(trajectories, 7)
    log.close()
    return list(read_episodes(path)) if path.exists() else []


def test_records_are_the_episodes_that_were_trained_on(tmp_path):
    trajectories = played(plan())
    records = logged(plan(), trajectories, tmp_path / "episodes.jsonl")
    assert len(records) == 6
    for record, trajectory in zip(records, trajectories, strict=True):
        assert record.task_id == trajectory.task_id
        assert record.stop_reason == trajectory.stop_reason
        assert record.options == {**trajectory.options, "training_step": 7}
        assert record.score == trajectory.score
        assert record.start.observation == trajectory.turns[0].observation
        for turn, sampled in zip(record.turns, trajectory.turns, strict=True):
            assert turn.action == sampled.text
            assert turn.reward == sampled.reward
            assert turn.reward_terms == sampled.reward_terms
            assert turn.action_valid == sampled.valid
            assert turn.completion_tokens == len(sampled.ids)
    rewards = {name for record in records for turn in record.turns for name in turn.reward_terms}
    assert rewards == {"task", "success_bonus", "invalid_action"}
    assert any(turn.reward_terms["invalid_action"] < 0 for r in records for turn in r.turns)


def test_records_replay_exactly(tmp_path):
    made = plan()
    env = gymnasium.make(made.env_id, **made.env_kwargs, reward_hooks=reward_hooks(made))
    for record in logged(made, played(made), tmp_path / "episodes.jsonl"):
        for report in (replay(record), replay(record, env)):
            assert report.equal, report.difference


def test_the_episodes_of_a_run_replay_exactly_and_are_rescored_without_a_model(finished):
    made = make_plan(toy_runs.config(finished))
    records = list(read_episodes(finished / "episodes.jsonl"))
    assert len(records) == 6 * 4
    for record in records:
        report = replay(record)
        assert report.equal, report.difference
        again = rescore(record, reward_hooks(made))
        assert again == [turn.reward_terms for turn in record.turns]


def test_episodes_cut_short_or_lost_are_left_out(tmp_path):
    whole, cut, lost, empty = played(plan(), 4)
    cut.stop_reason, lost.stop_reason = "length", "error"
    empty = replace(empty, turns=[])
    records = logged(plan(), [cut, lost, empty, whole], tmp_path / "episodes.jsonl")
    assert [record.task_id for record in records] == [whole.task_id]


def test_an_environment_that_fails_now_costs_that_record_only(tmp_path, caplog):
    """Task 0 of the flaky environment fails at its start, task 3 at its second action."""
    trajectories = played(plan(), 6)
    flaky = plan(env=toy_runs.FLAKY_ID)
    records = logged(flaky, trajectories, tmp_path / "episodes.jsonl")
    assert [record.task_id for record in records] == [trajectories[i].task_id for i in (1, 2, 4, 5)]
    assert "was not recorded" in caplog.text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_not_taken_for_a_failed_environment(tmp_path):
    (tmp_path / "episodes.jsonl").symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        logged(plan(), played(plan(), 1), tmp_path / "episodes.jsonl")


def test_records_are_plain_json_lines(tmp_path):
    logged(plan(), played(plan(), 2), tmp_path / "episodes.jsonl")
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["format"] for line in lines] == ["agentgym.episode/1"] * 2
