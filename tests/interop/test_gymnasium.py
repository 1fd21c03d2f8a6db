from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import agentgym
from agentgym.core.guard import GuardedEnv
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.interop.imported_env import ImportedEnv
from agentgym.registration.making import make_env, resolve
from tests.cli.test_commands import run


def make_imported(name: str, **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"gymnasium:{name}")[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


class Echo(gymnasium.Env[Any, Any]):
    """Text in and text out: say ``stop`` after the word of the seed."""

    observation_space = spaces.Text(100)
    action_space = spaces.Text(100)

    def __init__(self, excited: bool = False) -> None:
        self._mark = "!" if excited else "."

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._word = str(self.np_random.integers(10**6))
        return f"the word is {self._word}{self._mark}", {}

    def step(self, action: Any) -> Any:
        is_right = action == self._word
        return (
            f"you said {action}",
            np.float32(is_right),
            is_right,
            action == "cut",
            {"success": is_right},
        )


class Pixels(Echo):
    observation_space = spaces.Box(0, 255, (64, 64, 3), np.uint8)


class Wheel(Echo):
    action_space = spaces.Box(-1, 1, (1,))


class Parts(Echo):
    observation_space = spaces.Dict({"at": spaces.Discrete(9), "v": spaces.Box(-1, 1, (2,))})
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return {"at": np.int64(3), "v": np.array([0.1234567, -1])}, {"action_mask": [0, 1]}

    def step(self, action: Any) -> Any:
        return {"at": action, "v": np.zeros(2)}, 1, True, False, {}


class Count(gymnasium.Env[Any, Any]):
    """Say a number; the sum ends at 10. A text that is no number raises."""

    observation_space = spaces.Text(100)
    action_space: Any = spaces.Text(100)
    pays = 1.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._sum = 0
        return "count to ten", {}

    def step(self, action: Any) -> Any:
        self._sum += self.value_of(action)
        over = self._sum >= 10
        return f"at {self._sum}", self.pays if over else 0.0, over, False, {}

    def value_of(self, action: str) -> int:
        return int(action)


class Colours(Count):
    """Its words are a secret, and it quotes others."""

    def value_of(self, action: str) -> int:
        return {"ochre": 5, "mauve": 10}[action]


class Words(Count):
    """Texts of five letters, as its space says."""

    action_space = spaces.Text(5, min_length=5)

    def value_of(self, action: str) -> int:
        if len(action) != 5:
            raise ValueError("expected five letters")
        return 1


class Pairs(Count):
    def value_of(self, action: str) -> int:
        first, second = action.split(",")
        return int(first) + int(second)


class Board(Count):
    """A field can be taken once."""

    action_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._free = {0, 1, 2}
        return super().reset(seed=seed)

    def value_of(self, action: int) -> int:
        assert action in self._free, "this field is taken"
        self._free.remove(action)
        return 4


class Jammed(Board):
    """Nothing is left to do, and yet it is not over."""

    def value_of(self, action: int) -> int:
        return super().value_of(action) * 0


class Down(Count):
    def value_of(self, action: str) -> int:
        raise RuntimeError("no licence")


class Ends(gymnasium.Env[Any, Any]):
    """Ends after three turns as its name says."""

    observation_space = spaces.Text(100)
    action_space = spaces.Text(100)

    def __init__(self, ends: Any = (True, False), reward: float = 0.0, success: Any = None) -> None:
        self._ends, self._reward = ends, reward
        self._info = {} if success is None else {"success": success}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._turn = 0
        return "go on", {}

    def step(self, action: Any) -> Any:
        self._turn += 1
        ends = self._ends if self._turn == 3 else (False, False)
        return f"turn {self._turn}", self._reward, *ends, self._info


KINDS = (Echo, Pixels, Wheel, Parts, Count, Colours, Words, Pairs, Board, Jammed, Down, Ends)
for kind in KINDS:
    gymnasium.register(f"tests/{kind.__name__}-v0", entry_point=kind)
gymnasium.register("tests/Balance-v0", entry_point=Ends, reward_threshold=3)
gymnasium.register("tests/Race-v0", entry_point=Ends, reward_threshold=-4)


def test_text_spaces_are_taken_as_they_are() -> None:
    env = make_imported("tests/Echo-v0", excited=True)
    first, _ = env.reset(options={"split": "test", "index": 3})
    assert env.reset(options={"split": "test", "index": 3})[0] == first
    assert env.reset(options={"split": "test", "index": 4})[0] != first
    word = env.reset(options={"split": "test", "index": 3})[0].removesuffix("!").split()[-1]
    observation, reward, terminated, _, info = env.step(word)
    assert (observation, reward, terminated) == (f"you said {word}", 1.0, True)
    assert info["success"] and info["score"] == 1


def test_its_arguments_are_part_of_the_panel() -> None:
    panels = [
        make_imported("tests/Echo-v0", **kwargs).tasks.panel("test", 3).sha256
        for kwargs in ({}, {"excited": True}, {"excited": True, "horizon": 3})
    ]
    assert panels[0] != panels[1] == panels[2]


def test_discrete_actions_have_names_and_may_be_masked() -> None:
    env = make_imported("tests/Parts-v0", action_names=["stay put", "go"])
    observation, info = env.reset(seed=0)
    assert observation == '{"at": 3, "v": [0.123457, -1.0]}'
    assert info["admissible_actions"] == ["go"]
    assert env.step("wait")[0].endswith("invalid: expected one of go; got 'wait'")
    assert env.step(" Stay  put ")[0].startswith('{"at": 5')


def test_without_names_actions_are_numbers() -> None:
    assert make_imported("tests/Parts-v0").action_specs[0].params[0].enum == ("5", "6")


def test_colours_of_a_rendering_are_words() -> None:
    env = make_imported("FrozenLake-v1", is_slippery=False)
    env.reset(seed=0)
    for action in ("down", "down", "right", "right", "down", "right"):
        observation, _, terminated, _, info = env.step(action)
    assert observation.endswith("HFF(red G)") and terminated and info["success"]


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("tests/Pixels-v0", {}, "expected observations in text"),
        ("tests/Wheel-v0", {}, "expected actions that can be typed"),
        ("tests/Parts-v0", {"action_names": ["a"]}, "expected 2 different action_names"),
        ("tests/Parts-v0", {"action_names": ["a", "a "]}, "expected 2 different action_names"),
        ("tests/None-v0", {}, "expected gymnasium:ID that can be opened here"),
        ("tests/Echo-v0", {"quiet": True}, "with the arguments {'quiet': True}"),
        ("no_such_module:X-v0", {}, "No module named"),
        ("agentgym/Search-v0", {}, "name it without the prefix"),
    ],
)
def test_what_cannot_be_played_says_why(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_imported(name, **kwargs)


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("Count", ["3", "2 + 2"]),
        ("Count", ["three"]),
        ("Colours", ["red"]),
        ("Colours", ["ochre", "red"]),
        ("Words", ["hi"]),
        ("Pairs", ["hello"]),
        ("Board", ["0", "0"]),
    ],
)
def test_an_action_that_raises_is_a_wrong_one(name: str, actions: list[str]) -> None:
    report = agentgym.evaluate(
        lambda observation, info: actions[info["turn"]],
        make_imported(f"tests/{name}-v0"),
        num_tasks=3,
    )
    assert report.stop_reasons == {"action_error": 3} and report.errors == 0
    assert report.n == 3 and report.success == 0 and report.turns_mean == len(actions)


@pytest.mark.parametrize(
    ("name", "actions"), [("Down", ["3"]), ("Down", ["red"]), ("Jammed", ["0", "1", "2", "1"])]
)
def test_a_world_that_always_raises_is_broken(name: str, actions: list[str]) -> None:
    env = GuardedEnv(make_imported(f"tests/{name}-v0"))
    env.reset(seed=0)
    for action in actions[:-1]:
        assert not env.step(action)[2]
    with pytest.raises(EnvFailure):
        env.step(actions[-1])


def ended(env: ImportedEnv, turns: int = 3) -> tuple[Any, ...]:
    """Return the last step of an episode of some turns."""
    env.reset(seed=0)
    for _ in range(turns):
        step = env.step("on")
    return step


@pytest.mark.parametrize(
    ("ends", "flags", "reason"),
    [
        ((True, False), (True, False), "failure"),
        ((False, True), (False, True), "horizon"),
        ((np.False_, np.True_), (False, True), "horizon"),
        ((True, True), (True, False), "failure"),
    ],
)
def test_its_own_ends_come_as_they_are(ends: Any, flags: Any, reason: str) -> None:
    *_, terminated, truncated, info = ended(make_imported("tests/Ends-v0", ends=ends))
    assert (terminated, truncated) == flags and info["stop_reason"] == reason
    assert isinstance(terminated, bool) and isinstance(truncated, bool)


@pytest.mark.parametrize("success", [True, np.True_, 1, 1.0, np.array([True])])
def test_success_that_it_tells_is_a_full_score(success: Any) -> None:
    info = ended(make_imported("tests/Ends-v0", success=success))[4]
    assert info["success"] is True and info["score"] == 1.0
    info = ended(make_imported("tests/Ends-v0", success=success, reward=-1.0))[4]
    assert info["success"] is True and "success_unknown" not in info["details"]


@pytest.mark.parametrize("success", [False, np.False_, 0, 0.0])
def test_failure_that_it_tells_is_one_whatever_it_pays(success: Any) -> None:
    info = ended(make_imported("tests/Ends-v0", success=success, reward=1.0))[4]
    assert info["success"] is False


@pytest.mark.parametrize("success", ["yes", 0.4, None, np.array([1, 0])])
def test_other_values_tell_nothing(success: Any) -> None:
    assert ended(make_imported("tests/Ends-v0", success=success, reward=0.5))[4]["success"] is True


@pytest.mark.parametrize(
    ("name", "kwargs", "success"),
    [
        ("Balance", {"ends": (False, False), "reward": 1.0, "horizon": 3}, True),
        ("Balance", {"ends": (False, True), "reward": 1.0}, True),
        ("Balance", {"ends": (True, False), "reward": 0.9}, False),
        ("Race", {"reward": -1.0}, True),
        ("Race", {"reward": -2.0}, False),
        ("Race", {"ends": (False, True), "reward": -1.0}, False),
        ("Race", {"ends": (False, False), "reward": -1.0, "horizon": 3}, False),
        ("Ends", {"reward": -1.0, "solved_at": -3}, True),
        ("Ends", {"reward": -1.0, "solved_at": -2}, False),
    ],
)
def test_a_threshold_may_be_negative_and_be_reached_at_the_limit(
    name: str, kwargs: dict[str, Any], success: bool
) -> None:
    env = make_imported(f"tests/{name}-v0", **kwargs)
    info = ended(env)[4]
    assert info["stop_reason"] and info["success"] is success
    assert info["score"] == 1.0 if success else info["score"] < 1
    assert not any("solved_at=NUMBER (" in limit for limit in env.limits)


BEST = ["up", *["right"] * 11, "down"]


def test_where_nothing_tells_success_it_is_asked_for(capsys: Any) -> None:
    """The best walk along the cliff returns -13; no threshold is known."""

    def walk(observation: str, info: Any) -> str:
        return BEST[info["turn"]]

    report = agentgym.evaluate(walk, "gymnasium:CliffWalking-v1", num_tasks=3)
    assert report.success_unknown and {row.reward for row in report.rows} == {-13.0}
    text = report.markdown().replace("\\", "")
    assert "solved_at=NUMBER" in text and "cannot be told" in text and "0.000" not in text
    assert report.to_dict()["success_unknown"] is True and "wrong answer" not in text
    assert "cannot be told" in repr(report)
    solved = agentgym.evaluate(
        walk, "gymnasium:CliffWalking-v1", num_tasks=3, env_kwargs={"solved_at": -13}
    )
    assert (solved.success, solved.score_mean) == (1.0, 1.0) and not solved.success_unknown
    code, out, _ = run(capsys, "list", "gymnasium:CliffWalking-v1")
    assert code == 0 and "solved_at=NUMBER" in out


def test_a_threshold_is_told() -> None:
    assert any("reward_threshold" in limit for limit in make_imported("Taxi-v4").limits)
