"""An environment whose every method raises, each in the episodes of tasks of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from agentgym.core.family_contract import OVERRIDABLE
from agentgym.core.tasks import Task
from tests.toy import ToyEnv

RAISING_ID = "agentgym-test/RaisingMethods-v0"
METHODS = (*(name for name in OVERRIDABLE if name != "_idle"), "reset", "step")
"""What raises, in the order of the tasks; `close` always does, `_idle` is for workers alone."""


def faulty_method(task: Task) -> str:
    """Return the method that raises in a task; in every second none does."""
    return METHODS[task.index // 2 % len(METHODS)] if task.index % 2 else ""


class RaisingEnv(ToyEnv):
    """The toy environment; its expert types nothing first where `_misread` is to raise."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"grammar": "xml", **kwargs})  # native text is never misread

    def close(self) -> None:
        raise RuntimeError("close")

    def _oracle_action(self) -> str | None:
        if faulty_method(self.task) == "_misread" and self.turn == 0:
            return ""
        return super()._oracle_action()


def _raising(name: str) -> Callable[..., Any]:
    """Return a method that raises in its tasks, and else is what it was."""
    usual = getattr(RaisingEnv, name)

    def method(self: RaisingEnv, *args: Any, **kwargs: Any) -> Any:
        options = kwargs.get("options")
        task = self.tasks.find(options["task_id"]) if options else self.task
        if faulty_method(task) == name:
            raise RuntimeError(name)
        return usual(self, *args, **kwargs)

    return method


for _name in METHODS:
    setattr(RaisingEnv, _name, _raising(_name))

if RAISING_ID not in gymnasium.registry:
    gymnasium.register(RAISING_ID, entry_point="tests.raising:RaisingEnv")
