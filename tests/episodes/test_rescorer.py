"""Recorded episodes under another reward: from the record and by playing, always the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.episodes import (
    EnvCache,
    Episode,
    Recorder,
    Rescorer,
    RewardMeans,
    read_episodes,
    replay,
    rescore_episode,
)
from agentgym.episodes.rescorer import CourseChanged
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.registration import FAMILIES
from agentgym.rewards import (
    InvalidAction,
    Potential,
    Progressive,
    Repeat,
    ShapedReward,
    SuccessBonus,
    TurnCost,
    parse_hooks,
)
from tests.prepared import LookedUp
from tests.toy import TOY_ID

HOOKS = [Progressive(0.3), Potential(0.9), InvalidAction(0.2), TurnCost(0.01), Repeat(0.5)]
PREPARED_ID = "agentgym-test/Prepared-v0"
MODEL = {"cached_tokens": 4, "reasoning_tokens": 2, "reasoning": "so", "finish_reason": "stop"}


def recorded(
    env: gymnasium.Env[Any, Any],
    seed: int | None = 5,
    actions: tuple[str, ...] = (),
    **options: Any,
) -> Episode:
    """Record an episode: some actions, then the expert's."""
    recorder = Recorder(env, None, policy="p", panel_sha256="0" * 64)
    recorder.reset(seed=seed, options=options)
    unwrapped: Any = env.unwrapped
    todo = list(actions)
    while recorder.last is None:
        recorder.annotate("<think>hm</think>", 7, 5, **MODEL)
        recorder.step(todo.pop(0) if todo else unwrapped.oracle_action())
    return recorder.last


@settings(max_examples=15, deadline=None)
@given(
    seed=st.none() | st.integers(0, 1000),
    actions=st.lists(st.sampled_from(["press red", "press blue", "press pink"]), max_size=8),
    old=st.booleans(),
)
def test_both_ways_agree_and_the_new_record_replays(
    seed: int | None, actions: list[str], old: bool
) -> None:
    paid = {"reward_hooks": [SuccessBonus(), TurnCost(0.5)]} if old else {}
    env = gymnasium.make(TOY_ID, horizon=6, **paid)
    episode = recorded(env, seed, tuple(actions), training_step=3)
    with Rescorer(HOOKS, play=False) as computed, Rescorer(HOOKS) as player:
        new = computed(episode)
        assert new == player(episode)
    if seed is not None:  # else each draws a task of its own
        env = gymnasium.make(TOY_ID, horizon=6, reward_hooks=HOOKS)
        assert new == recorded(env, seed, tuple(actions), training_step=3)
    assert replay(new).equal and Episode.from_line(new.to_line()) == new


@pytest.mark.parametrize("entry", FAMILIES, ids=lambda entry: entry.name)
def test_every_family(entry: Any) -> None:
    """A rescored record is the one that would have been recorded under the new reward."""
    slip = ("this is not an action",)
    hooks = parse_hooks(["potential:gamma=0.95", "invalid_action=0.05", "repeat"])
    episode = recorded(gymnasium.make(entry.id), actions=slip, split="train", index=0)
    unread = parse_hooks(["invalid_action=0.05", "repeat", "turn_cost", "success_bonus"])
    with Rescorer(unread) as computed, Rescorer(unread, play=True) as player:
        assert computed(episode) == player(episode)
    with Rescorer(hooks, play=False) as computed, Rescorer(hooks) as player:
        # SWE-v0 runs tests along the way only for a hook that reads what they say.
        assert (computed(episode) == player(episode)) == (entry.name != "swe")
    new = rescore_episode(episode, hooks, {"reward": "sparse"})
    env = gymnasium.make(entry.id, reward="sparse", reward_hooks=hooks)
    assert new == recorded(env, actions=slip, split="train", index=0)
    assert new.reward_hooks and replay(new).equal
    back = rescore_episode(new, (), {"reward": episode.env_kwargs.get("reward", "sparse")})
    assert back.reward == 1.0 and set(back.turns[-1].reward_terms) == {"task"}


def test_what_the_model_did_stays(tmp_path: Path) -> None:
    new = rescore_episode(recorded(gymnasium.make(TOY_ID)), [TurnCost(0.5)], {"horizon": 8})
    for turn in new.turns:
        assert (turn.raw_text, turn.prompt_tokens) == ("<think>hm</think>", 7)
        assert {name: getattr(turn, name) for name in MODEL} == MODEL
    assert (new.policy, new.panel_sha256) == ("p", "0" * 64)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon": 2}, "turn 2: truncated differs: expected False, got True"),
        ({"grammar": "xml"}, "turn 1: "),
        ({"split": "test"}, "reset: observation differs"),
    ],
)
def test_settings_that_change_what_happens_are_refused(changes: Any, words: str) -> None:
    episode = recorded(gymnasium.make(TOY_ID), 3, ("press pink",))
    with pytest.raises(CourseChanged, match=words):
        rescore_episode(episode, (), changes)
    with pytest.raises(ConfigurationError, match="expected arguments of ToyEnv among"):
        rescore_episode(episode, (), {"colour": 1})


def test_an_episode_that_goes_on_is_another() -> None:
    episode = recorded(gymnasium.make(TOY_ID, horizon=2), 3, ("press pink",) * 3)
    with pytest.raises(CourseChanged, match="turn 2: truncated differs: expected True, got False"):
        rescore_episode(episode, (), {"horizon": 5})


def test_wrapped_rewards_are_replaced() -> None:
    wrapped = ShapedReward(gymnasium.make(TOY_ID), [TurnCost(0.5)])
    episode = recorded(wrapped)
    assert episode.not_stored == ("ShapedReward",) and episode.hooks == ("turn_cost",)
    for play in (None, True):
        with Rescorer([Repeat()], play=play) as rescore:
            new = rescore(episode)
            assert new.not_stored == () and new.hooks == ("repeat",)
            assert replay(new).equal


class OwnCost(TurnCost):
    """Not one of the supplied hooks, which reads as little as that one."""


def test_what_needs_no_environment_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = recorded(gymnasium.make(TOY_ID), 3)
    monkeypatch.setattr(EnvCache, "get", lambda *_: pytest.fail("an environment was asked for"))
    assert rescore_episode(episode, [OwnCost(0.5), Repeat()]).hooks == ("turn_cost", "repeat")
    with pytest.raises(pytest.fail.Exception, match="asked for"):
        rescore_episode(episode, [Potential()])


def test_hooks_that_a_record_cannot_hold_are_named() -> None:
    class Unnamed(TurnCost):
        """Of a class that no module holds by name."""

    episode = recorded(gymnasium.make(TOY_ID, reward_hooks=[Unnamed(0.5)]))
    for play in (None, True):
        with Rescorer([Unnamed(0.25)], play=play) as rescore:
            assert rescore(episode).not_stored == ("reward_hooks",)
        with Rescorer([], play=play) as rescore:
            new = rescore(episode)
            assert new.not_stored == () and new.reward == 1.0
            assert replay(new).equal


@pytest.fixture
def prepared() -> Iterator[str]:
    gymnasium.register(PREPARED_ID, entry_point="tests.prepared:PreparedEnv")
    yield PREPARED_ID
    gymnasium.registry.pop(PREPARED_ID)


def test_hooks_that_need_details_are_played(prepared: str) -> None:
    episode = recorded(gymnasium.make(prepared), 0, ("nonsense",))
    new = rescore_episode(episode, [LookedUp()])
    assert [turn.reward_terms["looked_up"] for turn in new.turns] == [1.0] * len(new.turns)
    with pytest.raises(ConfigurationError, match="that need the environment's answers"):
        Rescorer([LookedUp()], play=False)


@pytest.mark.parametrize("reason", ["error", "token_limit", "stopped"])
def test_broken_off_episodes_keep_their_end(reason: str) -> None:
    full = recorded(gymnasium.make(TOY_ID), 3)
    cut = replace(full, turns=full.turns[:1], stop_reason=reason, details={"error": "x"})
    unbegun = replace(cut, turns=(), start=replace(cut.start, state_key=""))
    for episode in (cut, unbegun) if reason == "error" else (cut,):
        with Rescorer([TurnCost(0.5)]) as computed, Rescorer([TurnCost(0.5)], play=True) as player:
            new = computed(episode)
            assert new == player(episode)
            assert (new.stop_reason, new.details) == (reason, {"error": "x"})
            assert new.reward == -0.5 * len(episode.turns)


def test_environments_are_made_once_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = [recorded(gymnasium.make(TOY_ID, horizon=n), 3) for n in (6, 7, 6, 8)]
    closed: list[int] = []
    monkeypatch.setattr("tests.toy.ToyEnv.close", lambda env: closed.append(env.default_horizon))
    with EnvCache(size=2) as envs:
        first = envs.get(episodes[0])
        assert envs.get(episodes[1]) is not first and envs.get(episodes[2]) is first
        envs.get(episodes[3])
        assert closed == [7]
        envs.discard(episodes[0])
        envs.discard(episodes[0])
        assert closed == [7, 6]
    assert closed == [7, 6, 8]


def test_a_failed_environment_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = recorded(gymnasium.make(TOY_ID), 3)
    act = gymnasium.make(TOY_ID).unwrapped.__class__._act  # type: ignore[attr-defined]

    def fail(*_: Any) -> Any:
        monkeypatch.setattr("tests.toy.ToyEnv._act", act)
        raise EnvFailure("the disk is gone")

    monkeypatch.setattr("tests.toy.ToyEnv._act", fail)
    with Rescorer([TurnCost(0.5)], play=True) as rescore:
        with pytest.raises(EnvFailure):
            rescore(episode)
        assert rescore(episode).hooks == ("turn_cost",)


def test_means() -> None:
    means = RewardMeans()
    assert means.to_dict()["return"] is None
    episode = recorded(gymnasium.make(TOY_ID, reward_hooks=[TurnCost(0.5)]), 3)
    failed = recorded(gymnasium.make(TOY_ID), 3, ("press pink",) * 8)
    means.add(episode)
    means.add(failed)
    assert means.to_dict() == {
        "n": 2,
        "return": episode.reward / 2,
        "score": 0.5,
        "success": 0.5,
        "terms": {"task": 0.5, "turn_cost": -0.25 * len(episode.turns)},
    }


def test_a_torn_line_is_told_and_a_changed_one_raises(tmp_path: Path) -> None:
    line = recorded(gymnasium.make(TOY_ID), 3).to_line()
    path, torn = tmp_path / "e.jsonl", []
    for cut in (1, 30, len(line) // 2, len(line) - 3):
        path.write_text(f"{line}{line[:cut]}\n{line}{line[: cut + 1]}")
        torn.clear()
        assert len(list(read_episodes(path, on_torn=torn.append))) == 2
        assert torn == [2, 4]
    for broken in ("{}\n", "[1\n", '{"a": }\n', line.replace('"score"', '"scores"'), "\0\0\0"):
        path.write_text(line + broken)
        with pytest.raises(Exception, match="line 2"):
            list(read_episodes(path, on_torn=torn.append))
