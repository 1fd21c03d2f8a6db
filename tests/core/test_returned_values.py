"""What own environments return is held to the contract: one sentence where it is something else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import pytest

from agentgym.actions import ActionSpec, Param
from agentgym.core.env import TextEnv
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task, TaskList
from agentgym.errors import EnvFailure
from tests.cli.test_commands import run

OWN_ID = "agentgym-test/Returns-v0"
NAN = float("nan")


class Returns(TextEnv):
    """Returns what the test says."""

    action_specs = (
        ActionSpec("say", "Say it.", (Param("text", description="What."),), native="say {text}"),
    )

    def __init__(self, act: Any = None, start: Any = "hello", more: Any = None, **kwargs: Any):
        splits = ("train", "valid", "test")
        tasks = {s: [Task(f"own/{s}/{i}", s, i, "talk", {}) for i in range(4)] for s in splits}
        super().__init__(TaskList("own", tasks), **{"horizon": 3, **kwargs})
        self.outcome, self.opening, self.more = act, start, more or {}

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        opening: str = self.opening
        return opening

    def _act(self, action: str) -> Outcome:
        outcome: Outcome = self.outcome() if callable(self.outcome) else self.outcome
        return outcome

    def _admissible(self) -> Sequence[str]:
        actions: Sequence[str] = self.more.get("admissible", ["say hello"])
        return actions

    def _oracle_action(self) -> str | None:
        action: str | None = self.more.get("oracle")
        return action

    def _potential(self) -> float:
        phi: float = self.more.get("potential", 0.0)
        return phi


gymnasium.register(OWN_ID, entry_point=f"{__name__}:Returns")


def sentence_of(error: EnvFailure) -> str:
    """Return the sentence of an error, which is one."""
    words = str(error)
    assert words.startswith("expected ") and ", got " in words and "\n" not in words
    return words


@pytest.mark.parametrize("arguments", [{}, {"notes": 2}, {"tries": 2}, {"worker_turns": 2}])
@pytest.mark.parametrize(
    ("act", "words"),
    [
        (("x", 1.0, True, False, {}), "Returns._act to return an Outcome(observation, reward=..."),
        (("x", 1.0, True, False, {}), "got a tuple of 5 values; TextEnv.step makes the five"),
        ("x", "got a str"),
        (None, "got None"),
        (lambda: Outcome(5), "observation of the Outcome that Returns._act returns to be a str"),  # type: ignore[arg-type]
        (lambda: Outcome(b"x"), "got a bytes"),  # type: ignore[arg-type]
        (lambda: Outcome("x", NAN), "reward of the Outcome"),
        (lambda: Outcome("x", float("inf")), "got inf"),
        (lambda: Outcome("x", None), "finite number, got None"),  # type: ignore[arg-type]
        (lambda: Outcome("x", "1"), "finite number, got a str"),  # type: ignore[arg-type]
        (lambda: Outcome("x", score=1.5), "a number from 0 to 1, or None"),
        (lambda: Outcome("x", score=NAN), "got nan"),
        (lambda: Outcome("x", score="high"), "got a str"),  # type: ignore[arg-type]
        (lambda: Outcome("x", terms={"a": NAN}), "terms of the Outcome"),
        (lambda: Outcome("x", terms=[1.0]), "names to finite numbers"),  # type: ignore[arg-type]
        (lambda: Outcome("x", details="why"), "details of the Outcome"),  # type: ignore[arg-type]
        (lambda: Outcome("x", terminated=True, stop_reason="won"), "a StopReason (SUCCESS, "),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_outcome_is_said_in_one_sentence(
    act: Any, words: str, arguments: dict[str, int]
) -> None:
    env = Returns(act, **arguments)
    env.reset(seed=0)
    with pytest.raises(EnvFailure) as raised:
        env.step("say hello")
    assert words in sentence_of(raised.value)


@pytest.mark.parametrize("opening", [None, ("hello", {}), 5, b"hello"])
def test_a_wrong_opening_is_said_in_one_sentence(opening: Any) -> None:
    with pytest.raises(
        EnvFailure, match=r"expected Returns\._start to return a str, got "
    ) as raised:
        Returns(start=opening).reset(seed=0)
    sentence = sentence_of(raised.value)
    assert ("TextEnv.reset adds the info dict" in sentence) == isinstance(opening, tuple)


@pytest.mark.parametrize(
    ("more", "ask", "words"),
    [
        ({"admissible": None}, lambda env, info: info["admissible_actions"], "list of actions"),
        ({"admissible": [3]}, lambda env, info: info["admissible_actions"], "list of actions"),
        ({"oracle": 3}, lambda env, info: env.oracle_action(), "_oracle_action to return a str"),
        (
            {"potential": None},
            lambda env, info: env.potential(),
            "return a finite number, got None",
        ),
        ({"potential": NAN}, lambda env, info: env.potential(), "return a finite number, got nan"),
    ],
)
def test_so_is_what_describes_a_state(
    more: dict[str, Any], ask: Callable[[Returns, Any], Any], words: str
) -> None:
    env = Returns(more=more)
    _, info = env.reset(seed=0)
    with pytest.raises(EnvFailure) as raised:
        ask(env, info)
    assert words in sentence_of(raised.value)


@pytest.mark.parametrize(
    ("outcome", "score"),
    [
        (lambda: Outcome("x", 1.0, True, success=True), 1.0),
        (lambda: Outcome("x", 1.0, True, success=True, score=0.5), 0.5),
        (lambda: Outcome("x", terminated=True), 0.0),
        (lambda: Outcome("x", success=True), 0.0),
        (lambda: Outcome("x", score=1.0 + 1e-12), 1.0),
        (lambda: Outcome("x", score=-1e-12), 0.0),
        (lambda: Outcome(np.str_("x"), np.float32(0.5), score=np.float64(0.5)), 0.5),  # type: ignore[arg-type]
        (lambda: Outcome("x", True, score=True), 1.0),
    ],
)
def test_success_is_a_score_of_1_where_none_is_said(
    outcome: Callable[[], Outcome], score: float
) -> None:
    env = Returns(outcome)
    env.reset(seed=0)
    assert env.step("say hello")[4]["score"] == score


def test_an_evaluation_ends_with_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    gymnasium.registry[OWN_ID].kwargs = {"act": ("x", 0.0, True, False, {})}
    code, _, err = run(capsys, "eval", f"{__name__}:{OWN_ID}", "--num-tasks=3", "--no-scale")
    assert code == 2 and err.count("\n") == 1 and "got a tuple of 5 values" in err


def test_a_certificate_says_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    gymnasium.registry[OWN_ID].kwargs = {"act": ("x", 0.0, True, False, {})}
    code, out, _ = run(capsys, "certify", f"{__name__}:{OWN_ID}", "--checks", "unbroken")
    assert code == 1 and "got a tuple of 5 values" in out


def test_a_traceback_that_comes_again_is_shown_once(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Outcome:
        raise ValueError(f"of turn {json.dumps(len(caplog.records))}")

    gymnasium.registry[OWN_ID].kwargs = {"act": fail}
    run(capsys, "certify", f"{__name__}:{OWN_ID}", "--checks", "unbroken")
    tracebacks = [record for record in caplog.records if record.exc_info]
    assert len(tracebacks) == 1
    assert "the ValueError above was raised" in caplog.records[-1].getMessage()
