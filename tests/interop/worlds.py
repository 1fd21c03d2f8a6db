"""A world for tests: it counts to three, and misbehaves when told so."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from agentgym.core.tasks import Task
from agentgym.interop.imported_env import ImportedEnv
from agentgym.interop.seeded_tasks import SeededTasks
from agentgym.interop.world import World, WorldTurn


class Counting(World):
    """Say ``next`` three times; other words make it do wrong."""

    def reset(self, task: Task, seed: int) -> str:
        self._at, self._jammed = 0, False
        if task.index == 13:
            raise OSError("no world today")
        return f"at 0 of game {task.content['seed']}"

    def step(self, text: str) -> WorldTurn:
        bad_inputs: dict[str, Any] = {
            "nan": float("nan"), "inf": float("inf"), "huge": 10**400, "word": "1", "none": None
        }  # fmt: skip
        if self._jammed:
            raise RuntimeError("it is jammed")
        if text == "jam":
            self._jammed = True
            return WorldTurn("it clicks")
        if text in bad_inputs:
            return WorldTurn("hm", bad_inputs[text])
        if text == "bytes":
            return WorldTurn(b"no text")  # type: ignore[arg-type]
        if text == "long":
            return WorldTurn("x" * 10**7)
        if text == "exit":
            sys.exit(3)
        if text == "raise":
            raise RuntimeError("the world broke")
        if text == "cut":
            return WorldTurn("enough", truncated=True)
        if text != "next":
            return WorldTurn(f"at {self._at}", reason="say next", valid=False)
        self._at += 1
        return WorldTurn(f"at {self._at}", 1 / 4 if self._at < 3 else 1 / 2, self._at == 3)

    def expert(self) -> str:
        return "next"


def make(reference: str, sizes: Mapping[str, int] = {"train": 50}, **options: Any) -> ImportedEnv:
    tasks = SeededTasks(f"counting:{reference}", "Count to three.", {}, sizes)
    return ImportedEnv(Counting(), tasks, has_expert=reference != "unknown", **options)
