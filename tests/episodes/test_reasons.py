"""Records keep why actions were invalid, and what the random generator was; replay proves both."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.envs.webshop.engine.commands import UNREADABLE
from agentgym.episodes import Episode, Recorder, append_episode, read_episodes, replay
from agentgym.evaluation import evaluate
from agentgym.policies import CallablePolicy
from agentgym.registration import FAMILIES
from tests.cli.test_commands import run, wide
from tests.toy import TOY_ID

__all__ = ["wide"]
CALL = '<tool_call>{"name": "press", "arguments": {"colour": "pink"}}</tool_call>'


def record_episode(env_id: str, *actions: str, seed: int = 0, **kwargs: Any) -> Episode:
    """Record an episode of a named task."""
    recorder = Recorder(gymnasium.make(env_id, **kwargs), None)
    options = {"split": "train", "index": 0, "horizon": len(actions)}
    recorder.reset(seed=seed, options=options)
    for action in actions:
        recorder.step(action)
    recorder.close()
    assert recorder.last is not None
    return recorder.last


def reasons(episode: Episode) -> list[str | None]:
    return [turn.reason for turn in episode.turns]


def test_a_family_that_keeps_the_words_of_the_original_gives_its_reason_to_the_record(
    tmp_path: Path,
) -> None:
    policy = CallablePolicy(lambda observation, info: "buy something nice")
    evaluate(policy, "agentgym/WebShop-v0", num_tasks=1, horizon=2, record=tmp_path / "e.jsonl",
             env_kwargs={"observation_mode": "text"})  # fmt: skip
    [episode] = read_episodes(tmp_path / "e.jsonl")
    assert reasons(episode) == [UNREADABLE, UNREADABLE]
    assert UNREADABLE not in episode.turns[0].after.observation, "the page is the original's"


def test_the_grammar_gives_its_reason_too() -> None:
    episode = record_episode(
        TOY_ID, CALL.replace("pink", "red"), "red please", CALL, grammar="tool_call"
    )
    first, second, third = reasons(episode)
    assert first == ""
    assert second == episode.turns[1].after.observation != ""
    assert "pink" in (third or "")
    assert replay(episode).equal


def test_what_only_the_observation_says_is_not_kept_twice() -> None:
    assert reasons(record_episode(TOY_ID, "press pink", "press red")) == ["", ""]


def test_replay_compares_reasons_where_the_record_has_them() -> None:
    episode = record_episode(
        "agentgym/WebShop-v0", "nonsense", "search[shoes]", observation_mode="text"
    )
    first, *later = episode.turns
    other_episode = replace(episode, turns=(replace(first, reason="because"), *later))
    assert replay(other_episode).difference.startswith("turn 1: reason differs at character 0")
    unsaid = replace(episode, turns=(replace(first, reason=None), *later))
    assert replay(unsaid).equal


def test_records_without_the_fields_are_read_and_replay() -> None:
    data = json.loads(record_episode(TOY_ID, "press pink", grammar="tool_call").to_line())
    del data["rng_key"]
    for turn in data["turns"]:
        del turn["reason"]
    episode = Episode.from_line(json.dumps(data))
    assert (episode.rng_key, reasons(episode)) == (None, [None])
    assert replay(episode).equal


@pytest.mark.parametrize("env_id", [TOY_ID, *(entry.id for entry in FAMILIES)])
def test_another_seed_is_noticed_though_the_task_is_named(env_id: str) -> None:
    episode = record_episode(env_id, "nothing", seed=5)
    assert replay(episode).equal
    report = replay(replace(episode, seed=6))
    assert report.difference.startswith("reset: seed 6 leads to another rng_key")


def test_another_generator_is_noticed_though_the_task_is_named(capsys: Any, tmp_path: Path) -> None:
    recorder = Recorder(gymnasium.make(TOY_ID), None)
    recorder.reset(seed=1)
    recorder.reset(options={"split": "test", "index": 3, "horizon": 1})
    recorder.step("press red")
    episode = recorder.last
    assert episode is not None and episode.rng is not None and replay(episode).equal
    state = {**episode.rng["state"], "state": episode.rng["state"]["state"] + 1}
    edited = replace(episode, rng={**episode.rng, "state": state})
    append_episode(tmp_path / "e.jsonl", edited)
    code, out, _ = run(capsys, "replay", str(tmp_path / "e.jsonl"))
    assert code == 1 and "reset: rng leads to another rng_key" in " ".join(out.split())
