"""Records are written from what was played: every episode once, and however it ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.outcome import StopReason
from agentgym.episodes import read_episodes, replay, rescore
from agentgym.episodes.atif import from_atif, to_atif
from agentgym.episodes.spans import tracing
from agentgym.errors import ConfigurationError, DataError
from agentgym.vector import TextVectorEnv
from tests.episodes.collector import collecting
from tests.toy import ToyEnv
from tests.trainers import tiny_policy, toy_runs
from tests.trainers.scripted_engine import ScriptedEngine
from trainers.config.resolve import ResolvedRun, resolve
from trainers.output.episode_log import EpisodeLog
from trainers.phases.rollout_setup import make_envs
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.trajectory import Trajectory, without_terms

ACTIONS = ["press red", "press blue", "jump", "press green", "press gold", "press red"]
LIMITS = TokenBudget(6, 200, 250)


def plan(**changes: Any) -> ResolvedRun:
    return resolve(toy_runs.config(Path("unused"), **changes))


def play_episodes(
    run: ResolvedRun,
    count: int = 6,
    limits: TokenBudget = LIMITS,
    envs: Any = None,
    **options: Any,
) -> list[Trajectory]:
    """Episodes as training plays them: with reward hooks, a horizon and a step."""
    chat = tiny_policy.chat()
    runner = RolloutRunner(
        envs or make_envs(run, [run.envs[0].name] * count, training=True),
        chat,
        ScriptedEngine(chat, iter(ACTIONS * 50)),
        limits,
        families=run.envs[0].name,
    )
    settings = {"horizon": 3, "seed": 5, "training_step": 7, **options}
    return runner.run(tiny_policy.tasks(count), **settings)


def logged(run: ResolvedRun, trajectories: list[Trajectory], path: Path, **extra: Any) -> list[Any]:
    EpisodeLog(run, tiny_policy.chat(), training=True).append(path, trajectories, **extra)
    return list(read_episodes(path)) if path.exists() else []


def test_records_are_the_episodes_that_were_trained_on(tmp_path):
    trajectories = play_episodes(plan())
    records = logged(plan(), trajectories, tmp_path / "episodes.jsonl", note="why")
    assert len(records) == 6
    for record, trajectory in zip(records, trajectories, strict=True):
        assert record.task_id == trajectory.task_id
        assert record.split == "train"
        assert record.goal == trajectory.turns[0].observation.split(" . ")[0]
        assert record.stop_reason == trajectory.stop_reason
        assert record.options == {**trajectory.options, "training_step": 7}
        assert record.score == trajectory.score
        assert record.start.observation == trajectory.turns[0].observation
        assert record.extra == {"note": "why"}
        for turn, sampled in zip(record.turns, trajectory.turns, strict=True):
            assert turn.action == sampled.text
            assert turn.reward == sampled.reward
            assert turn.reward_terms == sampled.reward_terms
            assert turn.action_valid == sampled.valid
            assert (turn.reason is not None) and (not turn.action_valid or turn.reason == "")
    rewards = {name for record in records for turn in record.turns for name in turn.reward_terms}
    assert rewards == {"task", "success_bonus", "invalid_action"}
    assert any(turn.reward_terms["invalid_action"] < 0 for r in records for turn in r.turns)


def test_records_hold_what_the_model_read_and_wrote(tmp_path):
    chat = tiny_policy.chat()
    trajectories = play_episodes(plan())
    for record, trajectory in zip(
        logged(plan(), trajectories, tmp_path / "e.jsonl"), trajectories, strict=True
    ):
        n_read = 0
        for turn, sampled in zip(record.turns, trajectory.turns, strict=True):
            n_read += len(sampled.context)
            assert turn.prompt_tokens == n_read
            assert turn.completion_tokens == len(sampled.ids)
            assert turn.raw_text == chat.tokenizer.decode(sampled.ids)
            assert turn.raw_text != turn.action, "the token that ends a turn is part of it"
            n_read += len(sampled.ids)


def test_tokens_are_recorded_on_request_and_become_an_atif_trajectory(tmp_path):
    trajectories = play_episodes(plan())
    records = logged(plan(rl__log_tokens=True), trajectories, tmp_path / "e.jsonl")
    for record, trajectory in zip(records, trajectories, strict=True):
        document = to_atif(record)
        assert from_atif(document) == record
        text: list[int] = []
        for step, turn in zip(document["steps"][1:], trajectory.turns, strict=True):
            text = turn.context if turn.fresh else text + turn.context
            metrics = step["metrics"]
            assert metrics["prompt_token_ids"] == text
            assert metrics["prompt_tokens"] == len(text) == turn.prompt_tokens
            assert metrics["completion_token_ids"] == turn.ids
            assert metrics["logprobs"] == turn.logprobs
            assert len(turn.ids) == len(turn.logprobs) == metrics["completion_tokens"]
            text = text + turn.ids


def test_rollouts_are_traced(tmp_path, monkeypatch):
    """Spans of a turn touch, and lie within their episode."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel")
    with collecting(monkeypatch) as collector:
        trajectories = play_episodes(plan())
        with tracing():
            records = logged(plan(), trajectories, tmp_path / "e.jsonl")
    roots = [span for span in collector.spans if "parentSpanId" not in span]
    assert len(roots) == len(records) > 0
    for root, record, trajectory in zip(roots, records, trajectories, strict=True):
        assert root["attributes"]["agentgym.task_id"] == record.task_id
        assert root["attributes"]["agentgym.training_step"] == 7
        spans = [span for span in collector.spans if span.get("parentSpanId") == root["spanId"]]
        names = ["chat tiny", "execute_tool act"] * len(record.turns)
        assert [span["name"] for span in spans] == names
        tokens = [span["attributes"].get("gen_ai.usage.output_tokens") for span in spans[::2]]
        assert tokens == [len(turn.ids) for turn in trajectory.turns]
        ends = [int(span["endTimeUnixNano"]) for span in spans]
        starts = [int(span["startTimeUnixNano"]) for span in spans]
        assert starts == [int(root["startTimeUnixNano"]), *ends[:-1]]
        assert ends == sorted(ends) and ends[-1] == int(root["endTimeUnixNano"])


def test_nothing_is_played_again(tmp_path, monkeypatch):
    run = plan()
    trajectories = play_episodes(run)
    for name in ("reset", "step"):
        monkeypatch.setattr(ToyEnv, name, lambda *_, **__: pytest.fail("played again"))
    assert len(logged(run, trajectories, tmp_path / "e.jsonl")) == 6


@pytest.mark.parametrize("seeds", [None, [None] * 6])
def test_records_replay_exactly(tmp_path, seeds):
    """Also where the seed of an episode is that of the episode before it."""
    run = plan()
    env = gymnasium.make(
        run.envs[0].env_id, **run.envs[0].kwargs, reward_hooks=run.envs[0].make_hooks()
    )
    trajectories = play_episodes(run, seeds=seeds)
    for record in logged(run, trajectories, tmp_path / "episodes.jsonl"):
        assert (record.seed is None) == (record.rng is not None) == (seeds is not None)
        for report in (replay(record), replay(record, env)):
            assert report.equal, report.difference


@pytest.mark.slow
def test_the_episodes_of_a_run_replay_exactly_and_are_rescored_without_a_model(finished):
    run = resolve(toy_runs.config(finished))
    records = list(read_episodes(finished / "episodes.jsonl"))
    assert len(records) == 6 * 4
    for record in records:
        report = replay(record)
        assert report.equal, report.difference
        rescored = rescore(record, run.envs[0].make_hooks())
        assert rescored == [turn.reward_terms for turn in record.turns]


def test_an_episode_that_the_token_budget_cut_is_written_as_it_stands(tmp_path):
    cut = play_episodes(plan(), 3, TokenBudget(6, 30, 250), horizon=50)
    assert {trajectory.stop_reason for trajectory in cut} == {StopReason.TOKEN_LIMIT.value}
    records = logged(plan(), cut, tmp_path / "e.jsonl")
    assert [len(record.turns) for record in records] == [len(t.turns) for t in cut]
    assert {record.stop_reason for record in records} == {StopReason.TOKEN_LIMIT.value}
    assert not any(turn.terminated or turn.truncated for r in records for turn in r.turns)
    assert all(replay(record).equal for record in records)


def test_an_episode_that_no_prompt_fitted_is_written_without_turns(tmp_path):
    (record,) = logged(
        plan(), play_episodes(plan(), 1, TokenBudget(6, 200, 8)), tmp_path / "e.jsonl"
    )
    assert (record.stop_reason, record.turns) == (StopReason.TOKEN_LIMIT.value, ())
    assert record.start.observation.startswith("press")
    assert replay(record).equal


def test_a_failed_environment_is_recorded_with_its_error(tmp_path):
    """Task 0 of the flaky environment fails at its start, task 3 at its second action."""
    flaky = plan(env=toy_runs.FLAKY_ID)
    trajectories = play_episodes(flaky, 6)
    records = logged(flaky, trajectories, tmp_path / "e.jsonl")
    assert [record.stop_reason == "error" for record in records] == [
        True, False, False, True, False, False,
    ]  # fmt: skip
    unbegun, broken = records[0], records[3]
    assert unbegun.details == {"error": "RuntimeError: no power"}
    assert (unbegun.turns, unbegun.began) == ((), False)
    failed = trajectories[3].turns[-1]
    assert broken.details == {
        "error": "ZeroDivisionError: short circuit\nin the second line",
        "unanswered_action": failed.text,
    }
    assert [turn.action for turn in broken.turns] == [trajectories[3].turns[0].text]
    assert all(replay(record).equal for record in records)


def test_rewards_of_training_can_be_taken_off(tmp_path):
    run = plan()
    trained = play_episodes(run)
    names = {hook.name for hook in run.envs[0].make_hooks()}
    path = tmp_path / "e.jsonl"
    bare = [without_terms(trajectory, names) for trajectory in trained]
    EpisodeLog(run, tiny_policy.chat()).append(path, bare)
    assert any(t.episode_return != o.episode_return for t, o in zip(trained, bare, strict=True))
    for record in read_episodes(path):
        assert {name for turn in record.turns for name in turn.reward_terms} == {"task"}
        assert replay(record).equal


def test_environments_that_do_not_tell_enough_are_named(tmp_path):
    run = plan()
    envs = TextVectorEnv.make(run.envs[0].env_id, 2, run.envs[0].kwargs)
    with pytest.raises(ConfigurationError, match="RecordFacts"):
        logged(run, play_episodes(run, 2, envs=envs), tmp_path / "e.jsonl")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_full_disk_is_said(tmp_path):
    (tmp_path / "episodes.jsonl").symlink_to("/dev/full")
    with pytest.raises(DataError, match="No space left"):
        logged(plan(), play_episodes(plan(), 1), tmp_path / "episodes.jsonl")


def test_a_file_is_replaced_as_a_whole(tmp_path):
    log, path = EpisodeLog(plan(), tiny_policy.chat()), tmp_path / "eval" / "trained.jsonl"
    trajectories = play_episodes(plan(), 4)
    log.replace(path, trajectories)
    log.replace(path, trajectories[:2], arm="trained")
    records = list(read_episodes(path))
    assert [record.task_id for record in records] == [t.task_id for t in trajectories[:2]]
    assert [record.extra for record in records] == [{"arm": "trained"}] * 2


def test_records_are_plain_json_lines(tmp_path):
    logged(plan(), play_episodes(plan(), 2), tmp_path / "episodes.jsonl")
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    assert [json.loads(line)["format"] for line in lines] == ["agentgym.episode/1"] * 2
