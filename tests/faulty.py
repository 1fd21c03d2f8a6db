"""An environment that fails on request, for the tests of what happens then."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np

from agentgym.errors import EnvFailure
from agentgym.outcome import Outcome
from agentgym.tasks import Task
from tests.toy import ToyEnv


class FaultyEnv(ToyEnv):
    """The toy environment with a dice in its pocket and some actions that break things."""

    def __init__(self, bad_reset: str = "", **kwargs: Any) -> None:
        super().__init__(**{"max_turns": 30, **kwargs})
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
        if how == "crash":
            os._exit(17)
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
