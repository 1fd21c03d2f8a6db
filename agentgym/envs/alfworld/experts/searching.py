"""The expert that looks for things: it uses only what it has read, so that it can be imitated.

It visits the receptacles in the order in which the first text lists them, opens those that are
closed, and as soon as it has seen all that the task needs it follows the shortest plan among what
it has seen. The expert of :mod:`agentgym.envs.alfworld.experts.oracle` knows from the start where
everything is, which no policy can learn to know.
"""

from __future__ import annotations

from typing import NamedTuple

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import Session
from agentgym.envs.alfworld.engine.state import State
from agentgym.envs.alfworld.experts.oracle import plan


class Memory(NamedTuple):
    """What has been read so far; an immutable value."""

    explored: frozenset[int] = frozenset()
    """Receptacles whose contents have been shown."""
    seen: frozenset[int] = frozenset()
    """Objects that have been shown or taken."""
    last: int = -1
    """The receptacle that was shown last, open or closed."""


def remember(memory: Memory, session: Session, command: str) -> Memory:
    """Add what the answer to a command tells.

    Args:
        memory: What was known before.
        session: The play after the command.
        command: The command, which was carried out.

    Returns:
        What is known now.
    """
    house, state = session.household, session.state
    shown = _shown(house, state, command)
    if shown is None:
        return memory
    if shown in house.openable and shown not in state.opened:
        return memory._replace(last=shown)
    seen = memory.seen.union(state.contents[shown])
    return Memory(memory.explored | {shown}, seen, shown)


def next_command(memory: Memory, session: Session) -> str | None:
    """Return what the searching expert does now.

    Returns:
        A command, or None where everything has been seen and there is no plan.
    """
    house, state = session.household, session.state
    known = memory.seen | {state.held}
    believed = Session(house)
    believed.restore(
        state._replace(
            contents=tuple(
                tuple(thing for thing in things if thing in known) for things in state.contents
            )
        )
    )
    commands = plan(believed)
    if commands is None:
        return _explore(memory, house, state)
    return commands[0] if commands else None


def _explore(memory: Memory, house: Household, state: State) -> str | None:
    """Return the command that shows one more receptacle."""
    unexplored = [r for r in house.intro if r not in memory.explored]
    for receptacle in unexplored:
        if receptacle in house.here.get(state.place, ()):
            closed = receptacle in house.openable and receptacle not in state.opened
            return f"{'open' if closed else 'examine'} {house.names[receptacle]}"
    order = [r for r in unexplored if r > memory.last] + unexplored
    return f"go to {house.names[order[0]]}" if order else None


def _shown(house: Household, state: State, command: str) -> int | None:
    """Return the receptacle whose contents the answer to a command describes, or None."""
    verb, _, name = command.strip().partition(" ")
    if verb == "go":
        name = name.removeprefix("to ")
    elif verb not in ("open", "examine"):
        return None
    return next((r for r in house.here.get(state.place, ()) if house.names[r] == name), None)
