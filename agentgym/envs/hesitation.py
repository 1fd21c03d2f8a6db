"""A demonstrator that makes sure before it acts: what its habit does to a plan.

In some tasks it asks what it carries before each of its actions, which takes twice the turns and so
is often too late. Which tasks these are does not depend on what they are like, so that nobody can
tell in advance: what imitates it learns both ways, and which of them is worth more only the reward
tells.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentgym.support.random_stream import Stream

HESITATES = 60
"""Per cent of the tasks in which it makes sure."""
CHECK = "inventory"
"""The action with which it does."""


def hesitates(task_id: str) -> bool:
    """Return whether a hesitant demonstrator makes sure in a task."""
    return Stream("hesitant", task_id).percent(HESITATES)


def with_checks(plan: Iterable[str]) -> tuple[str, ...]:
    """Return a plan in which each action comes after a check; twice as long."""
    return tuple(each for action in plan for each in (CHECK, action))
