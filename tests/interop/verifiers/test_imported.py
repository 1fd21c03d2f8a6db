from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.errors import ConfigurationError
from agentgym.interop.imported_env import ImportedEnv
from agentgym.registration.making import make_env, resolve

pytest.importorskip("verifiers", reason="verifiers is in .ci/peers")

TASKSET = """
import verifiers.v1 as vf

__all__ = ["Adding"]


class Config(vf.TasksetConfig):
    most: int = 20
    image: str | None = None


class Data(vf.TaskData):
    answer: str


class Add(vf.Task[Data, vf.State, vf.TaskConfig]):
    @vf.reward(weight=1.0)
    async def right(self, task, trace) -> float:
        return float(trace.last_reply == task.answer)

    @vf.reward(weight=0.5)
    async def short(self, trace) -> float:
        if trace.last_reply == "raise":
            raise ValueError("no such length")
        if trace.last_reply == "nan":
            return float("nan")
        return float(len(trace.last_reply) < 5)


class Adding(vf.Taskset[Add, Config]):
    def load(self):
        for n in range(self.config.most):
            data = Data(
                prompt=f"{n} + 1?",
                system_prompt="Add.",
                answer=str(n + 1),
                image=self.config.image,
            )
            yield Add(data, self.config.task)
"""


@pytest.fixture(autouse=True)
def adding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "adding_v1.py").write_text(TASKSET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def make_imported(name: str = "adding-v1", **kwargs: Any) -> ImportedEnv:
    env = make_env(resolve(f"verifiers:{name}")[1], kwargs, "--env-kwargs")
    assert isinstance(env, ImportedEnv)
    return env


def test_its_own_rewards_score_a_reply() -> None:
    env = make_imported()
    observation, info = env.reset(options={"split": "test", "index": 1})
    assert observation == "Add.\n\n5 + 1?" and info["goal"] == "5 + 1?"
    _, reward, terminated, _, info = env.step("6")
    assert (reward, terminated, info["success"], info["score"]) == (1.5, True, True, 1.0)
    assert info["details"]["rewards"] == {"right": 1.0, "short": 0.5}
    env.reset(options={"split": "test", "index": 1})
    _, reward, _, _, info = env.step("5")
    assert (reward, info["success"]) == (0.5, False)


def test_a_field_of_the_data_may_be_the_expert() -> None:
    env = make_imported(answer_field="answer")
    assert agentgym.evaluate("oracle", env, num_tasks=4).success == 1
    assert make_imported().oracle_action() is None


@pytest.mark.parametrize("kwargs", [{}, {"answer_field": "answer"}])
@pytest.mark.parametrize("reply", ["raise", "nan"])
def test_a_reward_that_fails_on_a_reply_is_a_wrong_answer(
    reply: str, kwargs: dict[str, Any]
) -> None:
    env = make_imported(**kwargs)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(reply)
    assert (reward, terminated, info["success"], info["score"]) == (0.0, True, False, 0.0)
    assert info["stop_reason"] == "action_error"


def test_it_may_be_stepped_in_an_event_loop() -> None:
    async def play() -> float:
        env = make_imported()
        env.reset(options={"split": "test", "index": 0})
        return env.step("1")[1]

    assert asyncio.run(play()) == 1.5


def test_splits_are_dealt_and_the_data_is_hashed() -> None:
    env = make_imported(most=12)
    assert [env.tasks.len(split) for split in ("train", "valid", "test")] == [6, 3, 3]
    assert env.tasks.panel("test", 3) == make_imported(most=12).tasks.panel("test", 3)


@pytest.mark.parametrize(
    ("name", "kwargs", "words"),
    [
        ("adding-v2", {}, "can be opened here"),
        ("adding-v1", {"image": "python:3.12"}, "needs a container"),
        ("adding-v1", {"answer_field": "right"}, "expected answer_field"),
        ("adding-v1", {"most": 0}, "expected tasks"),
        ("adding-v1", {"many": 3}, "with the arguments {'many': 3}"),
        ("textarena", {"game": "Wordle-v0"}, "can be opened here|environment of its own"),
    ],
)
def test_what_is_wrong_is_told(name: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make_imported(name, **kwargs)
