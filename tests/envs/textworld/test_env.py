from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from agentgym.core.outcome import total
from agentgym.envs.textworld.env import TextWorldEnv
from agentgym.envs.textworld.session import ENGINES
from agentgym.errors import ConfigurationError
from tests.contract.playing import admissible_action, play, random_action
from tests.envs.textworld.conftest import EACH_ENGINE

pytest.importorskip("textworld", reason="the real engine needs the package textworld")

Make = Callable[..., TextWorldEnv]
GAMES = {"train": 2, "valid": 1, "test": 3}
"""Few, as each is compiled for the real engine."""
COOKING = {"challenge": "cooking", "recipe": 1, "take": 1, "go": 9, "cook": True, "cut": True}


@pytest.fixture(params=EACH_ENGINE)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(engine: str, game_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Make environments that are closed after the test."""
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    envs: list[TextWorldEnv] = []

    def make_one(difficulty: str | None = None, **kwargs: Any) -> TextWorldEnv:
        if "data" not in kwargs:
            kwargs.setdefault("games", GAMES)
        envs.append(TextWorldEnv(difficulty, **{"engine": engine, **kwargs}))
        return envs[-1]

    yield make_one
    for env in envs:
        env.close()


def solve(env: TextWorldEnv, index: int = 0, **options: Any) -> tuple[list[float], dict[str, Any]]:
    """Play the expert; returns the rewards and the last info."""
    observation, info = env.reset(seed=0, options={"split": "test", "index": index, **options})
    oracle, rewards, over = env.demonstrator(), list[float](), False
    while not over:
        observation, reward, terminated, truncated, info = env.step(oracle.act(observation, info))
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info


# -- episodes --------------------------------------------------------------------------------------


def test_reset_tells_the_objective(make: Make) -> None:
    env = make()
    observation, info = env.reset(options={"split": "test", "index": 0})
    assert info["goal"] and observation.startswith(info["goal"])
    assert "-= " in observation and "$$" not in observation and ">" not in observation
    assert info["admissible_actions"] and info["oracle_turns"] == len(env.session.policy() or ())
    assert info["score"] == 0.0 and info["tools"][0]["function"]["name"] == "command"


@pytest.mark.parametrize("reward", ["sparse", "score", "dense"])
@pytest.mark.parametrize("kwargs", [{}, COOKING], ids=["house", "cooking"])
def test_a_won_game_pays_exactly_one(make: Make, reward: str, kwargs: dict[str, Any]) -> None:
    env = make(**kwargs, reward=reward)
    rewards, info = solve(env)
    assert info["success"] and info["score"] == 1.0 and info["stop_reason"] == "success"
    assert total(rewards) == 1.0 and info["oracle_turns"] == 0
    if reward == "dense":
        assert all(value > 0 for value in rewards)


@pytest.mark.parametrize("reward", ["sparse", "score", "dense"])
def test_the_wrong_treasure_never_pays(make: Make, reward: str) -> None:
    env = make("treasure_hunter", level=12, reward=reward)
    losses = 0
    for index in range(2):
        _, info = env.reset(options={"split": "test", "index": index, "horizon": 60})
        rng, rewards, over = random.Random(index), list[float](), False
        while not over:
            plan = env.session.policy() or ("",)
            treasure = [word for word in plan if word.startswith("take ")]
            choices = [word for word in info["admissible_actions"] if word not in treasure]
            takes = [word for word in choices if word.startswith("take ")]
            action = rng.choice(takes or choices)
            _, reward_of_turn, terminated, truncated, info = env.step(action)
            rewards.append(reward_of_turn)
            over = terminated or truncated
        assert not info["success"] and total(rewards) <= 0.0
        if info["stop_reason"] == "failure":
            losses += 1
            assert rewards[-1] <= 0.0 and info["score"] == 0.0 and info["details"]["lost"]
            if reward == "score":
                assert total(rewards) == 0.0
    assert losses, "no game was lost"


@pytest.mark.parametrize("reward", ["sparse", "score", "dense"])
def test_burnt_food_never_pays(make: Make, reward: str) -> None:
    env = make(**COOKING, reward=reward)
    _, info = env.reset(options={"split": "test", "index": 0, "horizon": 40})
    rewards = list[float]()
    while True:
        plan = env.session.policy() or ()
        cook = [word for word in plan if word.startswith("cook ")]
        if not cook:  # it is cooked: once more burns it
            cooked = [word for word in info["admissible_actions"] if word.startswith("cook ")]
            action = cooked[0] if cooked else plan[0]
        else:
            action = plan[0]
        _, reward_of_turn, terminated, truncated, info = env.step(action)
        rewards.append(reward_of_turn)
        if terminated or truncated:
            break
    assert info["stop_reason"] == "failure" and not info["success"]
    assert rewards[-1] <= 0.0 and total(rewards) <= 0.0
    assert info["score"] == 0.0 and info["details"]["lost"] and env.potential() <= 0.0


def test_a_detour_costs_what_the_way_back_regains(make: Make) -> None:
    env = make("coin_collector", level=9, reward="dense")
    _, info = env.reset(options={"split": "test", "index": 0})
    way = info["oracle_turns"]
    assert env.step(env.demonstrator_action() or "")[1] > 0
    phi = env.potential()
    _, loss, *_, info = env.step(f"go {way_back(env)}")
    assert loss < 0 and info["oracle_turns"] == way
    _, gain, *_ = env.step(env.demonstrator_action() or "")
    assert gain == -loss and env.potential() == phi
    assert env.step("look")[1] == 0.0


def way_back(env: TextWorldEnv) -> str:
    back = {"north": "south", "south": "north", "east": "west", "west": "east"}
    return back[(env.last_action or "").removeprefix("go ")]


# -- observations ----------------------------------------------------------------------------------


def test_a_game_without_a_policy_is_won_by_its_script(make: Make) -> None:
    parameters = {"recipe": 1, "take": 1, "cook": True, "drop": True}
    env = make("cooking", reward="dense", **parameters)
    rewards, info = solve(env)
    assert info["success"] and total(rewards) == 1.0
    env.reset(seed=0, options={"split": "test", "index": 0})
    plan_length = len(rewards)
    for look in ("look", "no such verb"):
        assert env.step(look)[-1]["oracle_turns"] == plan_length
    assert env.step(env.demonstrator_action() or "")[-1]["oracle_turns"] == plan_length - 1
    fork = env.snapshot()
    detour = next(
        a for a in env._admissible() if a not in ("look", "inventory", env.demonstrator_action())
    )
    env.step(detour)
    assert (env.demonstrator_action(), env._oracle_turns()) == (None, None)
    env.restore(fork)
    assert env._oracle_turns() == plan_length - 1


def test_parts_of_the_observation(make: Make) -> None:
    plain_env, rich = make(), make(description=True, inventory=True, show_admissible=True)
    options = {"split": "test", "index": 1}
    observation_before, info = plain_env.reset(options=options)
    observation, same_info = rich.reset(options=options)
    assert same_info == info and observation.startswith(observation_before)
    room = plain_env.session.description()
    for action in ("inventory", "look", "dance", info["admissible_actions"][0]):
        short, long = plain_env.step(action), rich.step(action)
        assert short[1:] == long[1:] and long[0].startswith(short[0])
        assert long[0].count("You are carrying") == 1 and "-= " in long[0]
        assert ", ".join(long[4]["admissible_actions"]) in long[0]
    assert room in rich.reset(options=options)[0]


def blind(order: str) -> float:
    """Return how often "the first (or last) command not typed yet" wins a training game."""
    env, wins = TextWorldEnv("w2-o3-q4", show_admissible=True), 0
    for index in range(80):
        observation, info = env.reset(options={"split": "train", "index": index})
        typed, over = set[str](), False
        while not over:
            listed = observation.rpartition("Possible commands: ")[2].split(", ")
            assert listed == info["admissible_actions"]
            fresh = [action for action in listed if action not in typed] or listed
            typed.add(action := fresh[0 if order == "first" else -1])
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        wins += info["success"]
    return wins / 80


@pytest.mark.parametrize("order", ["first", "last"])
def test_the_place_in_the_list_tells_nothing(order: str) -> None:
    assert blind(order) <= 0.25  # alphabetical order: .48


def test_beginnings_of_different_games_have_different_keys(make: Make) -> None:
    env = make()
    keys = [env.reset(options={"split": "test", "index": n})[1]["state_key"] for n in range(3)]
    assert len(set(keys)) == 3


def test_the_state_key_is_of_the_world_not_of_the_way(make: Make) -> None:
    env = make("coin_collector", level=9)
    start = env.reset(options={"split": "test", "index": 0})[1]["state_key"]
    away = env.step(env.demonstrator_action() or "")[4]["state_key"]
    returned = env.step(f"go {way_back(env)}")[4]["state_key"]
    assert start == returned != away
    assert env.step("look")[4]["state_key"] == start


# -- any text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        "\\x look", "look\0", "look\ngo east\ngo north", "\x1b[A\x08\r\nlook", "\u2028\u2029", "",
        "x" * 100_000, "restart", "quit", "undo", "save\nlook", "tw-print player id", "me, quit",
        "北京 🙂 \ud800", "no such action",
    ],
    ids=lambda action: ascii(action)[:20],
)  # fmt: skip
def test_hostile_text_changes_nothing(make: Make, action: str) -> None:
    env = make()
    _, observation_before = env.reset(options={"split": "test", "index": 0})
    room = env.step("look")[0]
    observation, reward, terminated, _, info = env.step(action)
    assert observation and reward == 0.0 and not terminated
    observation.encode("utf-8")
    assert info["state_key"] == observation_before["state_key"]
    assert info["admissible_actions"] == observation_before["admissible_actions"]
    assert json.loads(json.dumps(info)) == info
    assert env.step("look")[0] == room


def test_only_the_first_command_counts(make: Make) -> None:
    env = make("coin_collector", level=9)
    env.reset(options={"split": "test", "index": 0})
    plan = env.session.policy() or ()
    info = env.step(". ".join(plan))[4]
    assert info["details"]["ignored"] == ". ".join(plan[1:])
    assert info["details"]["command"] == plan[0] and info["oracle_turns"] == len(plan) - 1
    info = env.step("undo")[4]
    assert not info["action_valid"] and info["oracle_turns"] == len(plan) - 1


@pytest.mark.parametrize("grammar", ["native", "xml", "react", "tool_call", "action_tag"])
def test_every_grammar_plays(make: Make, grammar: str) -> None:
    rewards, info = solve(make(grammar=grammar))
    assert info["success"] and total(rewards) == 1.0


# -- the two engines -------------------------------------------------------------------------------


def test_the_engines_agree_in_everything(game_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(game_cache))
    kwargs = {"reward": "dense", "description": True, "inventory": True, "expose_oracle": True}
    native, real = (TextWorldEnv(engine=engine, **kwargs) for engine in ENGINES)
    for index in range(3):
        rng = random.Random(index)
        options = {"split": "test", "index": index, "horizon": 40}
        assert native.reset(seed=0, options=options) == real.reset(seed=0, options=options)
        info, over = real.reset(seed=0, options=options)[1], False
        while not over:
            action = rng.choice(info["admissible_actions"])
            action = rng.choice(
                [action] * 6 + ["dance", "take", action.split()[0], "quit", "go up"]
            )
            result = native.step(action)
            assert result == real.step(action)
            over, info = result[2] or result[3], result[4]
    native.close()
    real.close()


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", [random_action, admissible_action])
def test_two_instances_agree(make: Make, choose: Any) -> None:
    assert play(make(), choose, 20) == play(make(), choose, 20)


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "snapshot"])
def test_a_copy_goes_on_like_the_original(make: Make, how: str) -> None:
    env = make(reward="dense", description=True)
    env.reset(options={"split": "test", "index": 0})
    for action in ("look", "take", env.demonstrator_action() or ""):
        env.step(action)
    if how == "snapshot":
        twin = make(reward="dense", description=True)
        twin.restore(pickle.loads(pickle.dumps(env.snapshot())))
    else:
        twin = copy.deepcopy(env) if how == "deepcopy" else pickle.loads(pickle.dumps(env))
    assert twin.render() == env.render()
    for _ in range(2):
        action = env.demonstrator_action() or ""
        assert twin.step(action) == env.step(action)
    twin.close()
    assert env.step("look")[4]["turn"] == 6


@pytest.mark.parametrize("same_game", [True, False])
def test_a_snapshot_of_another_kind_is_refused_and_changes_nothing(
    make: Make, engine: str, same_game: bool
) -> None:
    env = make(reward="dense")
    options = {"split": "test", "index": 0 if same_game else 1}
    other_engine = next(name for name in ENGINES if name != engine)
    kinds = [{"engine": other_engine, "reward": "dense"}, {"reward": "score"}]
    bad_values = []
    for kwargs in kinds:
        other_env = make(**kwargs)
        other_env.reset(options=options)
        bad_values.append(other_env.snapshot())
    dense_env = make(reward="dense")
    dense_env.reset(options=options)
    fork = dense_env.snapshot()
    for engine_state in (None, 3, {}, {**fork.engine, "game": 5}, {**fork.engine, "game": (1, 2)},
                         {**fork.engine, "episode": {}}):  # fmt: skip
        bad_values.append(dataclasses.replace(fork, engine=engine_state))
    for snapshot in bad_values:
        env.reset(options={"split": "test", "index": 0})
        env.step("look")
        pickled = pickle.dumps(env.snapshot().engine)
        with pytest.raises(ConfigurationError, match="expected a snapshot"):
            env._restore(snapshot.engine) if same_game else env.restore(snapshot)
        if same_game:
            assert pickle.dumps(env.snapshot().engine) == pickled
            assert env.step("look")[0].startswith("-= ")
    env.restore(fork)
    assert env.step("look")[4]["turn"] == 1


def test_gymnasiums_checker_has_no_complaint(make: Make) -> None:
    from gymnasium.envs.registration import EnvSpec

    env = make(render_mode="ansi")
    env.spec = EnvSpec("TextWorld-test-v0", TextWorldEnv, kwargs={"engine": env.engine})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env, skip_render_check=True)


def test_close_twice_and_play_again(make: Make) -> None:
    env = make()
    first = env.reset(seed=3)
    env.close()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step("look")
    assert env.reset(seed=3) == first


# -- construction ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"engine": "glulx"}, "inform7"),
        ({"reward": "desne"}, "dense"),
        ({"difficulty": "w2-o3-q4", "challenge": "custom"}, "one of difficulty"),
        ({"difficulty": "w2-o3-q4", "data": "games"}, "one of difficulty"),
        ({"data": "games", "level": 3}, "no parameters"),
        ({"difficulty": "treasure-hunter"}, "treasure_hunter"),
        ({"challenge": "w2-o3-q4"}, "challenge to be one of custom"),
        ({"challenge": "coin_collector", "levle": 3}, "level"),
        ({"horizon": 0}, "horizon"),
        ({"grammar": "latin"}, "grammar"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        TextWorldEnv(**kwargs)


def test_parameters_reach_the_setting() -> None:
    env = TextWorldEnv(challenge="coin_collector", level=7, grammar="xml", horizon=9)
    assert env.default_horizon == 9 and env.language.grammar == "xml"
    assert "level=7" in env.tasks.name or env.tasks.task("test", 0).id.find("level=7") >= 0
    assert TextWorldEnv().default_horizon == 12


def test_game_files_of_ones_own(make: Make, story: Any) -> None:
    file = story("w2-o3-q4").with_suffix(".json")
    env = make(data={"test": [file]}, split="test")
    rewards, info = solve(env)
    assert info["task_id"] == f"textworld/files/{file.stem}" and info["horizon"] == 50
    assert info["success"] and total(rewards) == 1.0


def test_making_does_not_import_textworld() -> None:
    code = (
        "import sys; from agentgym.envs.textworld.env import TextWorldEnv; TextWorldEnv();"
        "assert not {'textworld', 'jericho', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
