"""What tools do to an episode: their errors, time, state and forks, and what it is worth."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.authoring import ToolEnv, ToolEpisode
from agentgym.core.guard import GuardedEnv
from agentgym.errors import ConfigurationError, EnvFailure, NotSupported
from tests.authoring.tools.sums import ROWS, Calculator, expert, reward

TASKS = ROWS[:10]
RELEASE = threading.Event()


def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    return a / b


def total(numbers: list[int]) -> int:
    """Add numbers."""
    return sum(numbers)


def leave() -> None:
    """End the program."""
    raise SystemExit(3)


async def fetch(page: str) -> dict[str, str]:
    """Fetch a page."""
    if page == "slow":
        await asyncio.sleep(60)
    if page == "gone":
        raise LookupError("no such page")
    if page == "exit":
        raise SystemExit(4)
    return {"page": page}


def hang() -> str:
    """Take too long."""
    RELEASE.wait(20)
    return "late"


def lookup() -> str:
    """Need what has failed."""
    raise EnvFailure("the index is gone")


FUNCTIONS = [divide, total, leave, fetch, hang, lookup]


def begun(tools: Any = FUNCTIONS, **options: Any) -> ToolEnv:
    env = ToolEnv(tools, TASKS, options.pop("reward", reward), **options)
    env.reset(options={"split": "train", "index": 0})
    return env


def take_turn(env: ToolEnv, action: str) -> tuple[str, bool, bool]:
    """Return what a call is answered, and whether it was valid and failed."""
    observation, paid, terminated, _, info = env.step(action)
    assert (paid, terminated) == (0.0, False)
    return observation, info["action_valid"], info["details"]["failed"]


def note(text: str, times: int = 1) -> str:
    """Repeat a text."""
    return text * times


PARTS = (
    "note[", "note", "]", "[", "```note\n", "<text>", "</text>", "<times>", "</times>", "\n```",
    "2", "answer", "total[", "1e999", '"', "\ud800", "\x00", "<think>", "</think>", "\n", " x ",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
def test_no_text_breaks_an_episode(text: str) -> None:
    env = begun([note, total], timeout=None)
    env.step(text)
    assert env.turn == 1


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_errors_are_text_and_cost_a_turn(timeout: float | None) -> None:
    env = begun(timeout=timeout)
    assert take_turn(env, "total[[1, 2]]") == ("3", True, False)
    text = "error: ZeroDivisionError: division by zero"
    assert take_turn(env, "```divide\n<a>1</a>\n<b>0</b>\n```") == (text, True, True)
    assert take_turn(env, "leave") == ("error: SystemExit: 3", True, True)
    assert take_turn(env, "fetch[home]") == ('{"page": "home"}', True, False)
    assert take_turn(env, "fetch[gone]") == ("error: LookupError: no such page", True, True)
    assert take_turn(env, "fetch[exit]") == ("error: SystemExit: 4", True, True)
    assert env.turn == 6
    guarded = GuardedEnv(env)
    with pytest.raises(EnvFailure, match="index is gone"):
        guarded.step("lookup")
    env.close()


def test_bad_calls_are_told_what_was_expected() -> None:
    env = begun()
    for action, reason in {
        'total[["one"]]': "invalid: numbers must be a list of integers, got ['one']",
        "total[1]": "invalid: the argument 'numbers' of 'total' must be JSON, an array",
        "```divide\n<a>1</a>\n<b>two</b>\n```": "'b' of 'divide' must be of type integer",
        "add 1 and 2": "invalid: expected one of ```divide",
    }.items():
        observation, valid, failed = take_turn(env, action)
        assert reason in observation and not valid and not failed
    # As models write lists, in the grammar that has them.
    called = begun(grammar="tool_call")
    call = '<tool_call>{"name": "total", "arguments": {"numbers": [20, 22]}}</tool_call>'
    assert take_turn(called, call) == ("42", True, False)


def test_calls_have_a_time_limit() -> None:
    env = begun(timeout=0.05)
    late = ("error: the call took longer than 0.05 seconds", True, True)
    assert take_turn(env, "fetch[slow]") == late
    assert take_turn(env, "fetch[home]")[1:] == (True, False)
    try:
        assert take_turn(env, "hang") == late
        # A thread cannot be ended: until it returns nothing else touches the tools.
        observation, valid, _ = take_turn(env, "total[[1]]")
        assert "still runs" in observation and not valid
        with pytest.raises(NotSupported, match="time limit"):
            env.snapshot()
        env.reset(options={"split": "train", "index": 0})
        assert take_turn(env, "total[[1]]") == ("1", True, False)
    finally:
        RELEASE.set()
        env.close()


def test_every_episode_has_tools_of_its_own_and_they_fork() -> None:
    env, other_env = (begun(Calculator, expert=expert, timeout=None) for _ in range(2))
    take_turn(env, "```add\n<a>1</a>\n<b>2</b>\n```")
    fork = pickle.loads(pickle.dumps(env.snapshot()))
    take_turn(env, "```add\n<a>3</a>\n<b>4</b>\n```")
    assert take_turn(env, "recall")[0] == "7" and take_turn(other_env, "recall[digits]")[0] == "0"
    for fork_env in (other_env, env, env):
        fork_env.restore(fork)
        assert take_turn(fork_env, "recall")[0] == "3" and fork_env.turn == 2
    assert env.reset(seed=0)[1]["oracle_turns"] == 2
    assert take_turn(env, "recall[sign]")[0] == "+"


class Locked:
    """Tools that hold what cannot be copied, and count who closes them."""

    closed = 0

    def __init__(self, task: Mapping[str, Any], rng: np.random.Generator) -> None:
        self._lock, self._low, self._rng = threading.Lock(), min(task["numbers"]), rng

    def draw(self) -> int:
        """Draw a number."""
        return self._low + int(self._rng.integers(10**6))

    def close(self) -> None:
        """Count."""
        Locked.closed += 1


class Kept(Locked):
    """The same, with a state of its own."""

    def snapshot(self) -> Mapping[str, Any]:
        """Return the state."""
        return dict(self._rng.bit_generator.state)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Return to it."""
        self._rng.bit_generator.state = dict(state)


def test_what_cannot_be_copied_says_so() -> None:
    env = begun(Locked)
    with pytest.raises(NotSupported, match="expected Locked to be one that copy"):
        env.snapshot()
    closed = Locked.closed
    env.close()
    env.close()
    assert Locked.closed == closed + 1
    drawer = begun(Kept)
    fork = drawer.snapshot()
    drawn = take_turn(drawer, "draw")
    drawer.restore(fork)
    assert take_turn(drawer, "draw") == drawn
    other_env = begun(Kept)
    other_env.reset(seed=5)
    drawer.reset(seed=5)
    assert take_turn(other_env, "draw") == take_turn(drawer, "draw") != drawn


def make_functions(task: Mapping[str, Any]) -> list[Callable[..., Any]]:
    """Make a function of a task."""

    def first() -> int:
        """Tell the first number."""
        return int(task["numbers"][0])

    return [first]


def test_functions_can_be_made_of_a_task() -> None:
    env = begun(make_functions)
    assert take_turn(env, "first") == (str(env.task.content["numbers"][0]), True, False)
    with pytest.raises(NotSupported, match="functions made for a task"):
        env.snapshot()


async def judged(episode: ToolEpisode) -> float | None:
    """Pay half for a second call of a tool, read from its state."""
    await asyncio.sleep(0)
    assert episode.answer is None and episode.calls[-1].tool == "add"
    return 0.5 if episode.tools.total == 7 and len(episode.calls) == 2 else None


def test_rewards_may_wait_and_read_the_state() -> None:
    env = begun(Calculator, reward=judged, answer=False)
    assert [spec.name for spec in env.action_specs] == ["add", "recall"]
    take_turn(env, "```add\n<a>3</a>\n<b>4</b>\n```")
    end = env.step("```add\n<a>3</a>\n<b>4</b>\n```")
    assert end[:3] == ("7", 0.5, True)
    assert (end[4]["success"], end[4]["score"]) == (False, 0.5)
    named = begun(Calculator, answer="submit", expert=None)
    number = str(sum(named.task.content["numbers"]))
    end = named.step(f"submit[{number}]")
    assert end[:3] == ("correct", 1.0, True) and end[4]["success"]
    env.close()


def wrong(_task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Call what there is not."""
    yield "subtract", {}


def test_faults_of_ours_break_the_episode() -> None:
    env = begun(reward=lambda _episode: float("nan"))
    with pytest.raises(EnvFailure, match="finite number"):
        env.step("answer[1]")
    env = begun(reward=lambda episode: episode.nothing)
    with pytest.raises(EnvFailure, match="AttributeError"):
        env.step("answer[1]")
    with pytest.raises(EnvFailure, match="there is no action 'subtract'"):
        begun(expert=wrong)
    for options in (
        {"tools": Calculator()}, {"tools": []}, {"tools": [divide, divide]}, {"timeout": 0},
        {"answer": "divide"}, {"answer": None}, {"reward": 1}, {"expert": 1}, {"solved_at": 0},
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match="expected"):
            begun(**options)


def strict(episode: ToolEpisode) -> float:
    """A reward that reads numerals alone."""
    return float(int(episode.answer or "") == sum(episode.task["numbers"]))


def by_last_call(episode: ToolEpisode) -> float | None:
    """A reward that reads what a tool answered."""
    return 1.0 if episode.calls and float(episode.calls[-1].answer) == 4 else None


@pytest.mark.parametrize("answer", ["four", "2 + 2", "", "nan"])
def test_an_answer_on_which_the_reward_raises_is_a_wrong_one(answer: str) -> None:
    with closing(ToolEnv(Calculator, ROWS, strict)) as env:
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step(f"answer[{answer}]" if answer else "answer[ ]")
    assert (reward, terminated, info["success"], info["score"]) == (0.0, True, False, 0.0)
    assert info["stop_reason"] == "action_error" and "ValueError" in info["details"]["reason"]


def test_a_call_on_which_the_reward_raises_ends_the_episode() -> None:
    def word() -> str:
        """Say a word."""
        return "four"

    with closing(ToolEnv([word], ROWS, by_last_call, answer=False)) as env:
        env.reset(seed=0)
        assert env.step("word")[4]["stop_reason"] == "action_error"


def test_a_reward_that_raises_on_every_answer_breaks_the_episode() -> None:
    def down(episode: ToolEpisode) -> float:
        raise LookupError("no licence")

    def unavailable(episode: ToolEpisode) -> float:
        raise EnvFailure("the judge is down" if episode.answer == "four" else "")

    for raising, words in ((down, "no licence"), (unavailable, "the judge is down")):
        with closing(ToolEnv(Calculator, ROWS, raising)) as env:
            env.reset(seed=0)
            with pytest.raises(EnvFailure, match=words):
                env.step("answer[four]")
