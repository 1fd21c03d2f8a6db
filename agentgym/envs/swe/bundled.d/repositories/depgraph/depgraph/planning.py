"""When tasks can begin and which of them must not be late (critical path method)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from depgraph.graph import Graph
from depgraph.ordering import sort


@dataclass(frozen=True)
class Slot:
    """When a task is done.

    Attributes:
        start: When it can begin at the earliest.
        end: When it is done then.
        slack: How much later it may begin without delaying the whole.
    """

    start: int
    end: int
    slack: int


def schedule(tasks: Graph, durations: Mapping[str, int]) -> dict[str, Slot]:
    """Return when each task is done if every one begins as early as it can.

    Args:
        tasks: The tasks; an edge leads from one to another that needs it.
        durations: How long each takes; 0 for those that are not named.

    Returns:
        The tasks in an order in which they can be done, with their times.

    Raises:
        CycleError: Tasks need each other.
    """
    order = sort(tasks)
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    for name in order:
        starts[name] = max((ends[other] for other in tasks.predecessors(name)), default=0)
        ends[name] = starts[name] + durations.get(name, 0)
    total = max(ends.values(), default=0)
    latest: dict[str, int] = {}
    for name in reversed(order):
        due = min((latest[other] for other in tasks.successors(name)), default=total)
        latest[name] = due - durations.get(name, 0)
    return {name: Slot(starts[name], ends[name], latest[name] - starts[name]) for name in order}


def critical_path(tasks: Graph, durations: Mapping[str, int]) -> list[str]:
    """Return the tasks that have no slack, in the order of their start."""
    slots = schedule(tasks, durations)
    critical = [name for name, slot in slots.items() if slot.slack == 0]
    return sorted(critical, key=lambda name: slots[name].start)
