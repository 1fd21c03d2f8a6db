from __future__ import annotations

import copy
import json
import pickle
import random
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from agentgym.actions import GRAMMARS
from agentgym.core.env import TextEnv
from agentgym.core.spaces import UnicodeText
from agentgym.errors import ConfigurationError, TaskNotFound
from tests.contract.conftest import SLOW, Make, recorded, share, short
from tests.contract.playing import (
    admissible_action,
    finish,
    framed_rubbish,
    random_action,
)
from tests.toy import TOY_ID

KEYS = {
    "task_id": str,
    "split": str,
    "turn": int,
    "horizon": int,
    "action_valid": bool,
    "admissible_actions": list,
    "success": bool,
    "score": float,
    "reward_terms": dict,
    "state_key": str,
    "stop_reason": str,
    "oracle_turns": int,
    "details": dict,
    "trailing_text": str,
}
OF_AGENTS = {"agent": str, "agent_task": str}
"""Of an environment with workers."""
RESET_ONLY = {"goal": str, "tools": list}
REASONS = ("", "success", "failure", "answer", "horizon", "error")


def test_gymnasiums_checker_has_no_complaint(make: Make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(render_mode="ansi"))


def test_spaces(env: TextEnv) -> None:
    assert env.observation_space == UnicodeText(32768)
    assert env.action_space == UnicodeText(env.action_length)
    assert env.spec is not None and env.spec.max_episode_steps is None


def test_what_is_running_is_given_after_the_first_reset(make: Make, env_id: str) -> None:
    env = make(split=None)
    assert env.split == ("train" if "train" in env.tasks.splits else env.tasks.splits[0])
    for name in ("session", "task"):
        with pytest.raises(ResetNeeded, match=r"call env\.reset\(\) first"):
            getattr(env, name)
    env.reset(seed=0)
    assert env.task.split == env.split
    assert env_id == TOY_ID or env.session is not None


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_info_has_the_same_keys_at_every_step(make: Make, env_id: str, choose: Any) -> None:
    env = make(**short(env_id))
    for entry in recorded(env_id, choose).log:
        observation, info = entry[0], entry[-1]
        keys = {**KEYS, **OF_AGENTS} if env.delegation else KEYS
        expected = {**keys, **RESET_ONLY} if len(entry) == 2 else keys
        assert set(info) == set(expected)
        for key, kind in expected.items():
            assert isinstance(info[key], kind), key
            assert kind is not int or type(info[key]) is int, key
        assert observation in env.observation_space
        assert 0.0 <= info["score"] <= 1.0 and info["stop_reason"] in REASONS
        assert 0 <= info["turn"] <= info["horizon"]
        assert all(isinstance(action, str) for action in info["admissible_actions"])
        assert json.loads(json.dumps(info, allow_nan=False)) == info


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_flags_and_rewards(env_id: str, choose: Any) -> None:
    for entry in recorded(env_id, choose).log:
        if len(entry) == 2:
            assert entry[1]["turn"] == 0 and sum(entry[1]["reward_terms"].values()) == 0.0
            continue
        _, reward, terminated, truncated, info = entry
        assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
        assert not (terminated and truncated)
        assert (info["stop_reason"] != "") == (terminated or truncated)
        assert (info["stop_reason"] == "horizon") == truncated
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)


def test_infos_are_fresh(env: TextEnv) -> None:
    def spoil(info: dict[str, Any]) -> None:
        for value in info.values():
            if isinstance(value, list):
                value.append("spoiled")
                for item in value:
                    if isinstance(item, dict):
                        item["spoiled"] = {}
            if isinstance(value, dict):
                value["spoiled"] = 1.0

    spoil(env.reset(seed=3)[1])
    for _ in range(2):
        result = env.step("look")
        assert "spoiled" not in json.dumps(result[4])
        spoil(result[4])
    assert "spoiled" not in json.dumps(env.reset(seed=3)[1])


def test_the_horizon_is_a_reset_option(env: TextEnv) -> None:
    for horizon in (1, 3):
        _, info = env.reset(seed=0, options={"horizon": horizon})
        assert info["horizon"] == horizon
        for turn in range(horizon):
            _, _, terminated, truncated, info = env.step("no such action")
            assert (terminated, truncated) == (False, turn + 1 == horizon)
        assert info["stop_reason"] == "horizon" and info["turn"] == horizon
    _, info = env.reset(seed=0)
    assert info["horizon"] == env.default_horizon


def test_wrong_reset_options(env: TextEnv) -> None:
    for options in ({"horizn": 3}, {"horizon": 0}, {"horizon": 2.5}, {"horizon": True}):
        with pytest.raises(ConfigurationError):
            env.reset(options=options)
    for options in (
        {"split": "nowhere"},
        {"split": "test", "index": env.tasks.len("test")},
        {"split": "test", "index": -1},
        {"task_id": "no such task"},
    ):
        with pytest.raises(TaskNotFound):
            env.reset(options=options)


def test_a_step_needs_a_running_episode(env: TextEnv) -> None:
    with pytest.raises(ResetNeeded):
        env.step("look")
    env.reset(seed=0, options={"horizon": 1})
    env.step("no such action")
    with pytest.raises(ResetNeeded):
        env.step("look")


def test_an_action_must_be_text(env: TextEnv) -> None:
    env.reset(seed=0)
    for action in (None, 3, b"look", ["look"]):
        with pytest.raises(ConfigurationError, match="str"):
            env.step(action)  # type: ignore[arg-type]


ANY_TEXT = (
    "",
    " \n\t\r ",
    "żółć 🙂 — «look»",
    "\ud800 \udfff",
    "".join(map(chr, range(32))) + "\x7f\x85\u2028\ufeff\u202e",
    "look" * 250_000,
    "[" * 2000 + "]" * 2000,
    "search[" + "a" * 4000,
    "<think>" * 50 + "look",
    "no such action",
)


def test_any_text_is_a_legal_action(make: Make) -> None:
    results = []
    env = make(render_mode="ansi")
    for action in ANY_TEXT:
        env.reset(seed=0)
        observation, _, terminated, _, info = result = env.step(action)
        assert observation in env.observation_space and observation, action[:20]
        assert not terminated and json.dumps(info), action[:20]
        observation.encode("utf-8")  # no lone surrogates come back out
        str(env.render()).encode("utf-8", "surrogatepass")
        results.append(copy.deepcopy(result))
    env.close()
    twin = make()
    for action, result in zip(ANY_TEXT, results, strict=True):
        twin.reset(seed=0)
        assert twin.step(action) == result, action[:20]


def test_nonsense_is_called_invalid_and_changes_nothing(env: TextEnv) -> None:
    _, observation_before = env.reset(seed=0)
    observation, _, _, _, info = env.step("qqq no such action qqq")
    assert info["action_valid"] is False and observation
    assert info["state_key"] == observation_before["state_key"]
    assert info["admissible_actions"] == observation_before["admissible_actions"]


def test_close_twice(make: Make) -> None:
    env = make()
    env.close()
    env = make()
    env.reset(seed=0)
    env.close()
    env.close()


def test_render(make: Make) -> None:
    env = make(render_mode="ansi")
    observation, _ = env.reset(seed=0)
    assert observation in str(env.render())
    observation = env.step("look")[0]
    assert observation in str(env.render()) and "look" in str(env.render())
    env.close()
    silent = make()
    silent.reset(seed=0)
    assert silent.render() is None


def test_the_spec_survives_copies(env_id: str) -> None:
    spec = gymnasium.spec(env_id)
    for copied in (
        pickle.loads(pickle.dumps(spec)),
        copy.deepcopy(spec),
        gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()),
    ):
        env = gymnasium.make(copied)
        env.reset(seed=0)
        env.close()


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_the_global_generators_are_left_alone(env_id: str, choose: Any) -> None:
    assert not recorded(env_id, choose).drawn


def test_the_expert_is_shown_only_on_request(make: Make) -> None:
    env = make(expose_oracle=True)
    observation, info = env.reset(seed=1)
    assert info["oracle_action"] == env.oracle().act(observation, info)
    _, _, terminated, truncated, info = env.step(info["oracle_action"])
    assert terminated or truncated or isinstance(info["oracle_action"], str)


def types_of(info: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the type of every entry, those of nested ones included."""
    for key, value in info.items():
        if isinstance(value, dict):
            yield from types_of(value, f"{path}{key}.")
        else:
            yield path + key, type(value).__name__


@pytest.mark.parametrize("episodes", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_an_entry_of_info_has_one_type_in_all_turns(make: Make, env_id: str, episodes: int) -> None:
    """An array of Gymnasium's vector environments has the type of its first value."""
    env, rng, types = make(horizon=12), random.Random(3), defaultdict[str, set[str]](set)
    for episode in range(share(env_id, episodes)):
        info, over, turns = env.reset(seed=episode)[1], False, 0
        while not over:
            by_plan = turns < 6 or episode % 2
            shown_action = env.demonstrator_action() if by_plan else None
            action = admissible_action(rng, env, info) if shown_action is None else shown_action
            for path, name in types_of(info):
                types[path].add(name)
            _, _, terminated, truncated, info = env.step(action)
            over, turns = terminated or truncated, turns + 1
        for path, name in types_of(info):
            types[path].add(name)
    assert {path: names for path, names in types.items() if len(names) > 1} == {}


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_rubbish_in_a_frame_of_the_grammar_is_a_legal_action(make: Make, grammar: str) -> None:
    env = make(grammar=grammar)
    env.reset(seed=0)
    for action in framed_rubbish(grammar, env.language.specs):
        observation, reward, terminated, truncated, info = env.step(action)
        assert observation in env.observation_space and type(reward) is float
        assert not info["success"], action
        if terminated or truncated:
            env.reset()


OUTCOME = ("success", "turn", "state_key", "action_valid")


def play_expert(env: TextEnv, tasks: int, turns: int | None) -> list[dict[str, Any]]:
    """Let the expert play some tasks, all or so many turns of them; returns how each ended."""
    ends = []
    for index in range(tasks):
        options = {"split": "test", "index": index}
        observation, info = env.reset(options=options | ({"horizon": turns} if turns else {}))
        offered = len(info["admissible_actions"])
        info = finish(env, env.oracle(), observation, info)
        ends.append({"offered": offered, **{key: info[key] for key in OUTCOME}})
    return ends


@cache
def play_natively(env_id: str, tasks: int, turns: int | None) -> list[dict[str, Any]]:
    """Let the expert play in the native grammar, once for all grammars compared with it."""
    env = gymnasium.make(env_id).unwrapped
    assert isinstance(env, TextEnv)
    ends = play_expert(env, tasks, turns)
    env.close()  # of the original engines the first of a process is the fastest
    return ends


@pytest.mark.parametrize("grammar", ["xml", "react", "tool_call", "action_tag"])
def test_the_expert_speaks_every_grammar(make: Make, env_id: str, grammar: str) -> None:
    """Where every turn asks another process, one grammar is spoken to the end and the others once.

    What the process is asked is the same in all: actions are parsed before, and that what is
    rendered is parsed back is a property of actions.
    """
    tasks = 1 if env_id in SLOW else 3
    turns = 1 if env_id in SLOW and grammar != "tool_call" else None
    assert play_natively(env_id, tasks, turns) == play_expert(make(grammar=grammar), tasks, turns)
