"""A replay notices every edit of what it says it proves, and no record makes it fail raw."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.episodes import Episode, Recorder, ReplayReport, read_episodes, replay
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.registration import FAMILIES
from agentgym.rewards import InvalidAction, LinearAlpha, Progressive, TurnCost
from tests.toy import TOY_ID

Place = tuple[str | int, ...]

UNPROVEN = (
    "policy", "panel_sha256", "packages", "extra", "raw_text", "reasoning", "finish_reason",
    "verdicts",
)  # fmt: skip
"""What playing an episode again says nothing of, besides the numbers of tokens."""
INPUTS = ("options", "env_id", "env_kwargs", "reward_hooks", "not_stored")
"""What decides an episode, as far as it does: other inputs may lead to the same episode."""
SEEDS = ("seed", "rng")
"""What decides it, and nothing else will do."""
BUFFER = ("has_uint32", "uinteger")
"""Half of a draw that a generator has kept, which the next draw may pass over."""


def recorded(path: Path, env: gymnasium.Env[Any, Any], seed: int | None, good: bool) -> Episode:
    """Record an episode of the expert with a slip, or one that runs into the horizon."""
    recorder = Recorder(env, path, policy="p", panel_sha256="0" * 64)
    observation, info = recorder.reset(seed=seed, options={"horizon": 12 if good else 3})
    expert: Any = env.unwrapped
    over, turn = False, 0
    while not over:
        slip = turn == 1 or not good
        action = "this is not an action" if slip else expert.demonstrator().act(observation, info)
        if turn == 0:
            more: dict[str, Any] = {
                "cached_tokens": 4,
                "reasoning_tokens": 2,
                "reasoning": "so",
                "finish_reason": "stop",
            }
            recorder.annotate("<think>hm</think>", 7, 5, **more)
        observation, _, terminated, truncated, info = recorder.step(action)
        over, turn = terminated or truncated, turn + 1
    return list(read_episodes(path))[-1]


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every leaf of a record, and every list."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    if isinstance(value, list):
        items = list(enumerate(value))
        yield place, value
    if not isinstance(value, dict | list):
        yield place, value
    for key, inner in items:
        yield from leaves(inner, (*place, key))


def edits(value: Any) -> list[Any]:
    """Return what a value could be changed to."""
    if isinstance(value, list):
        return [[], value[:-1]] if value else [["x"]]
    if isinstance(value, str):
        return [f"{value}x", "" if value else "y", f"x{value}"]
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, -value - 1, 10**400, str(value), float(value) + 0.5]
    if isinstance(value, float):
        return [value + 0.125, value + 1e-6, -value - 1.0, 1e308, "1"]
    return [0, "x", True, {}]


def edited(record: dict[str, Any], place: Place, value: Any) -> str:
    changed = copy.deepcopy(record)
    inner: Any = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return json.dumps(changed)


def outcome(line: str, env: gymnasium.Env[Any, Any] | None = None) -> ReplayReport | str:
    """Replay a line; only errors of the house are an answer."""
    try:
        return replay(Episode.from_line(line), env)
    except AgentGymError as error:
        return str(error)


def read_alike(env: gymnasium.Env[Any, Any], text: str, other: str) -> bool:
    """Return whether the environment understands two texts as one action."""
    language: Any = env.unwrapped.language  # type: ignore[attr-defined]
    first, second = language.read(text), language.read(other)
    return bool((first.native, first.problem) == (second.native, second.problem))


def unnoticed(
    record: dict[str, Any], env: gymnasium.Env[Any, Any], brief: bool = False
) -> list[Place]:
    """Return the places of edits that a replay calls equal; ``env`` only saves time.

    In brief every sixth leaf is edited, once, and of the turns the first.
    """
    places = []
    for place, value in list(leaves(record))[:: 6 if brief else 1]:
        if brief and place[0] == "turns" and place[1:2] > (0,):
            continue
        for change in edits(value)[: 1 if brief else None]:
            is_same = place[-1] == "action" and read_alike(env, value, change)
            if is_same or json.dumps(change) == json.dumps(value):
                continue
            replay_env = None if place[0] in INPUTS + SEEDS else env
            report = outcome(edited(record, place, change), replay_env)
            if isinstance(report, ReplayReport) and report.equal:
                places.append(place)
    return places


CASES: dict[str, tuple[str, dict[str, Any], int | None, bool]] = {
    "toy": (TOY_ID, {"horizon": 9, "reward_hooks": [TurnCost(), InvalidAction()]}, 3, True),
    "toy, horizon, unseeded": (TOY_ID, {"grammar": "native"}, None, False),
    "toy, scheduled": (TOY_ID, {"reward_hooks": [Progressive(LinearAlpha())]}, 1, True),
    **{entry.name: (entry.id, {}, 5, True) for entry in FAMILIES},
    "service": ("agentgym/Service-v0", {"difficulty": "easy"}, 5, True),  # short enough
}


BOXED = {entry.name for entry in FAMILIES if entry.boxed}
"""Families that are played in sandboxes."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_edit_is_noticed(case: str, tmp_path: Path) -> None:
    env_id, kwargs, seed, good = CASES[case]
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(env_id, **kwargs), seed, good)
    assert replay(episode).equal, replay(episode).difference
    assert len(episode.turns) > 2 and episode.stop_reason == ("success" if good else "horizon")
    record = json.loads(episode.to_line())
    # In a sandbox every replay takes its time; how values are compared does not depend on it.
    for place in unnoticed(record, gymnasium.make(env_id, **kwargs), brief=case in BOXED):
        tokens = str(place[-1]).endswith("_tokens")
        assert place[0] in (*UNPROVEN, *INPUTS) or place[-1] in UNPROVEN + BUFFER or tokens, place


def test_the_fields_that_are_not_proven_are_named() -> None:
    from agentgym.episodes.replay import NOT_PROVEN

    tokens = {f"{kind}_tokens" for kind in ("prompt", "completion", "cached", "reasoning")}
    assert {name.split(".")[-1] for name in NOT_PROVEN} == {*UNPROVEN, *tokens}


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"turns": ()}, "stop_reason"),
        ({"stop_reason": "failure"}, "expected 'failure' (wrong answer), got 'success' (solved)"),
        ({"stop_reason": "error"}, "expected '' (still running), got 'success' (solved)"),
        ({"stop_reason": "token_limit"}, "stop_reason"),
        ({"goal": "press nothing"}, "goal"),
        ({"split": "test"}, "split"),
        ({"details": {"bonus": 1}}, "details"),
        ({"hooks": ("other",)}, "hooks"),
        ({"seed": 4}, "task_id"),
    ],
)
def test_what_the_difference_is(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), 3, True)
    report = replay(replace(episode, **changes))
    assert not report.equal and words in report.difference


def test_edits_of_a_turn_are_named(tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), 3, True)
    turn = episode.turns[0]
    for change, words in (
        (replace(turn, executed="press gold then"), "turn 1: executed"),
        (replace(turn, after=replace(turn.after, potential=0.9)), "turn 1: potential"),
        (replace(turn, reward_terms={"task": 0.0, "bonus": 0.0}), "turn 1: reward_terms"),
    ):
        report = replay(replace(episode, turns=(change, *episode.turns[1:])))
        assert report.difference.startswith(words)
    cut = replay(replace(episode, turns=episode.turns[:-1]))
    assert cut.difference.startswith("end: stop_reason") and cut.turns == len(episode.turns) - 1


@pytest.mark.parametrize(
    "changes",
    [
        {"rng": {"bit_generator": "PCG64"}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": -1, "inc": 1}, "has_uint32": 0,
                 "uinteger": 0}},
        {"rng": {"bit_generator": "PCG64", "state": {"state": 10**60, "inc": 1}, "has_uint32": 0,
                 "uinteger": 0}},
        {"rng": {"bit_generator": "PCG64", "state": 3, "has_uint32": 0, "uinteger": 0}},
        {"rng": {}},
        {"seed": -1},
        {"options": {"index": "a"}},
        {"options": {"split": ["train"]}},
        {"options": {"horizon": 1e30}},
        {"options": {"training_step": {}}},
        {"options": {"colour": 1}},
        {"env_kwargs": {"colour": 1}},
        {"env_kwargs": {"id": "x"}},
        {"env_kwargs": {"render_mode": 5}},
        {"env_kwargs": {"max_episode_steps": "x"}},
        {"env_kwargs": {"horizon": []}},
        {"env_kwargs": {"reward_hooks": 5}},
        {"env_id": "agentgym-test/Gone-v0"},
        {"reward_hooks": ({"class": "TurnCost", "fields": {"weight": -1e400}},)},
        {"reward_hooks": ({"class": "TurnCost", "fields": {"name": "task"}},)},
    ],
)  # fmt: skip
def test_damaged_inputs_are_answered_by_the_house(changes: dict[str, Any], tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), None, True)
    with pytest.raises(AgentGymError, match="expected"):
        replay(replace(episode, **changes))


def test_sums_of_a_line_must_be_those_of_its_turns(tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), 3, True)
    record = json.loads(episode.to_line())
    for name, value in (("reward", 2.0), ("score", 0.5), ("success", False), ("reward", "1")):
        assert "line has been changed" in str(outcome(json.dumps({**record, name: value})))


def test_an_episode_broken_off_from_outside_still_ran(tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), 3, True)
    for reason in ("token_limit", "error"):
        cut = replace(episode, turns=episode.turns[:1], stop_reason=reason, details={"error": "x"})
        assert replay(cut).equal
        assert not replay(replace(cut, turns=episode.turns)).equal


def test_arguments_no_environment_can_be_made_with_are_named(tmp_path: Path) -> None:
    episode = recorded(tmp_path / "e.jsonl", gymnasium.make(TOY_ID), 3, True)
    with pytest.raises(ConfigurationError, match="max_episode_steps"):
        replay(replace(episode, env_kwargs={"max_episode_steps": "x"}))
