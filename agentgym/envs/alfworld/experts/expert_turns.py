"""How many turns the experts need, for ordering and choosing tasks by how long they take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from agentgym.envs.alfworld import stored
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.experts.lines import LINES
from agentgym.envs.alfworld.waiting import tracked

PLANS_VERSION = 2
"""Raise it when an expert's play changes."""

_UNSOLVABLE = -1


def plan_length(household: Household, expert: str = "shortest") -> int | None:
    """Return the number of commands with which an expert wins, or None if it cannot.

    Args:
        household: The household, played from its start.
        expert: A key of :data:`~agentgym.envs.alfworld.experts.lines.LINES`.
    """
    commands = LINES[expert]().commands(Session(household))
    return None if commands is None else len(commands)


def plan_lengths(
    key: str, households: Iterable[Household], count: int, expert: str = "shortest"
) -> list[int | None]:
    """Return the lengths of many plans, from the cache folder if they are known.

    Args:
        key: Text that decides the games and their order.
        households: The games; not touched if the lengths are known.
        count: Their number.
        expert: Whose plans.

    Returns:
        The length for each game, None where the expert cannot win.
    """
    full_key = f"{PLANS_VERSION} {expert} {count} {key}"
    path = stored.cache_path("plans", full_key)
    lengths: Any = stored.load(path, full_key)
    if lengths is None:
        measured = partial(plan_length, expert=expert)
        found = map(measured, tracked(households, count, "Measuring the expert's plans"))
        lengths = [_UNSOLVABLE if length is None else length for length in found]
        stored.save(path, full_key, lengths)
    return [None if length == _UNSOLVABLE else length for length in lengths]


def by_length(lengths: Sequence[int | None]) -> list[int]:
    """Return the positions of ``lengths``, shortest first and unknown last, else in order."""
    worst = max((length for length in lengths if length is not None), default=0) + 1

    def rank(position: int) -> tuple[int, int]:
        length = lengths[position]
        return (worst if length is None else length, position)

    return sorted(range(len(lengths)), key=rank)
