"""Environments that fail on request, for the tests of what happens then."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from typing import Any

import numpy as np

from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.errors import EnvFailure
from tests.toy import ToyEnv


class FaultyEnv(ToyEnv):
    """The toy environment with a dice in its pocket and some actions that break things."""

    def __init__(self, bad_reset: str = "", **kwargs: Any) -> None:
        super().__init__(**{"horizon": 30, **kwargs})
        self.bad_reset = bad_reset

    def _start(self, task: Task, rng: np.random.Generator) -> str:
        if self.bad_reset and task.index % 2:
            self._break(self.bad_reset)
        return super()._start(task, rng)

    def _act(self, action: str) -> Outcome:
        self._break(action)
        if action == "roll":
            return Outcome(f"rolled {self.np_random.integers(1000)}")
        if action == "pid":
            return Outcome(str(os.getpid()))
        return super()._act(action)

    def _break(self, how: str) -> None:
        if how == "raise":
            raise ZeroDivisionError("on request")
        if how == "fail":
            raise EnvFailure("the retriever is down")
        if how == "exit":
            raise SystemExit(3)
        if how == "hang":
            time.sleep(60)
        if how == "spin":
            sum(range(10**12))  # never lets go of the interpreter
        if how == "crash":
            os._exit(17)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)


class HangingEnv(ToyEnv):
    """Every fourth task hangs at its second action. Workers import this file, which is light."""

    def _act(self, action: str) -> Outcome:
        if self.task.index % 4 == 0 and self.turn == 1:
            time.sleep(30)
        return super()._act(action)


class Unshowable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Uncopyable:
    """Can be pickled, but not read again."""

    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise ImportError("there is no such class here")


STEP_GARBAGE: dict[str, Any] = {
    "none": None,
    "short": ("text", 0.0, False, False),
    "long": ("text", 0.0, False, False, {}, 1),
    "no text": (None, 0.0, False, False, {}),
    "bytes": (b"text", 0.0, False, False, {}),
    "text reward": ("text", "1", False, False, {}),
    "no reward": ("text", None, False, False, {}),
    "nan": ("text", float("nan"), False, False, {}),
    "infinite": ("text", float("-inf"), False, False, {}),
    "number flag": ("text", 0.0, 1, False, {}),
    "no flag": ("text", 0.0, False, None, {}),
    "no info": ("text", 0.0, False, False, None),
    "list info": ("text", 0.0, False, False, [("turn", 1)]),
}
"""What a step may return that is no transition."""
RESET_GARBAGE: dict[str, Any] = {
    "none": None,
    "text": "ab",
    "short": ("text",),
    "no info": ("text", None),
    "no text": (3, {}),
}
"""What a reset may return that is no beginning."""
RAISED: dict[str, BaseException] = {
    "cancelled": asyncio.CancelledError(),
    "generator": GeneratorExit(),
    "exit": SystemExit(3),
    "unshowable": Unshowable(),
    "recursion": RecursionError(),
    "memory": MemoryError(),
}
"""What may be raised besides ordinary exceptions."""


class GarbageEnv(ToyEnv):
    """The toy environment, whose step and reset return and raise what the action asks for."""

    def __init__(self, bad_reset: str = "", **kwargs: Any) -> None:
        super().__init__(**{"horizon": 30, **kwargs})
        self.bad_reset = bad_reset

    def reset(self, **kwargs: Any) -> Any:
        beginning = super().reset(**kwargs)
        if not self.bad_reset or self.task.index % 2 == 0:
            return beginning
        if self.bad_reset in RAISED:
            raise RAISED[self.bad_reset]
        if self.bad_reset == "lock info":
            return beginning[0], {**beginning[1], "lock": threading.Lock()}
        if self.bad_reset == "unreadable info":
            return beginning[0], {**beginning[1], "odd": Uncopyable()}
        return RESET_GARBAGE[self.bad_reset]

    def answer(self, kind: str) -> Any:
        if kind in RAISED:
            raise RAISED[kind]
        return threading.Lock() if kind == "lock" else Uncopyable()

    def step(self, action: str) -> Any:
        result = super().step(action)
        if action in RAISED:
            raise RAISED[action]
        if action == "lock info":
            return *result[:4], {**result[4], "lock": threading.Lock()}
        if action == "unreadable info":
            return *result[:4], {**result[4], "odd": Uncopyable()}
        return STEP_GARBAGE.get(action, result)


class SlowEnv(ToyEnv):
    """The toy environment with turns that take a while, a way to hang, and much to carry."""

    def __init__(self, seconds: float = 0.0, ballast: int = 0, **kwargs: Any) -> None:
        super().__init__(**{"horizon": 100_000, **kwargs})
        self.seconds, self.ballast = seconds, "x" * ballast

    def _act(self, action: str) -> Outcome:
        time.sleep(60 if action == "hang" else self.seconds)
        if action == "roll":
            return Outcome(f"rolled {self.np_random.integers(1000)}")
        return super()._act("press nothing" if action == "wait" else action)

    def _snapshot(self) -> Any:
        return self._pressed, self.ballast

    def _restore(self, state: Any) -> None:
        super()._restore(state[0])
