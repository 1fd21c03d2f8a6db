"""A hesitant demonstrator: it checks its inventory before each action.

It does so in some tasks only, which takes twice the turns, so that it often runs out of them. The
choice of tasks is independent of their content and cannot be predicted: imitation learns both
habits, and only the reward shows which is better.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentgym.support.random_stream import Stream

HESITATES = 60
"""Per cent of the tasks in which it makes sure."""
CHECK = "inventory"
"""The action with which it does."""


def hesitates(task_id: str) -> bool:
    """Return whether a hesitant demonstrator checks its inventory in a task."""
    return Stream("hesitant", task_id).percent(HESITATES)


def with_checks(plan: Iterable[str]) -> tuple[str, ...]:
    """Return the plan with a check before each action; it is twice as long."""
    return tuple(turn for action in plan for turn in (CHECK, action))
