"""The episode that a reward function receives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym.authoring.tools.tool_actions import CallRecord


@dataclass(frozen=True)
class ToolEpisode:
    """An episode of tools, at its answer or after a call."""

    task: Mapping[str, Any]
    """The row of the data set: a copy."""
    goal: str
    """The instruction."""
    answer: str | None
    """The final answer; None in an environment without one."""
    calls: tuple[CallRecord, ...]
    """The calls that were carried out, in order; refused ones are not among them."""
    tools: Any
    """The object whose methods are the tools, as the calls left it; None for plain functions."""


Worth = float | None
Reward = Callable[[ToolEpisode], Worth | Awaitable[Worth]]
"""Says what an episode is worth. With an answer it is asked once, at the answer, for a number.
Without, it is asked after each call, and returns None as long as the episode goes on."""
Expert = Callable[[Mapping[str, Any]], Iterable[tuple[str, Mapping[str, Any]]]]
"""Given the row of a task, yields the calls that solve it: ``("add", {"a": 1, "b": 2})``."""
