"""Questions about a definition; guards are taken to agree."""

from __future__ import annotations

from collections import deque

from statewalk.definition import Definition


def reachable(definition: Definition, start: str | None = None) -> list[str]:
    """List the states that can be reached, nearest first, the start included.

    Args:
        definition: The definition.
        start: Where to begin; the initial state if not given.
    """
    return list(_paths(definition, definition.initial if start is None else start))


def unreachable(definition: Definition) -> list[str]:
    """List the states to which no way leads from the initial state."""
    found = reachable(definition)
    return [state for state in definition.states if state not in found]


def dead_ends(definition: Definition) -> list[str]:
    """List the states that nothing leaves although they are not final."""
    return [
        state
        for state in definition.states
        if state not in definition.final
        and all(transition.target == state for transition in definition.outgoing(state))
    ]


def shortest(definition: Definition, source: str, target: str) -> list[str] | None:
    """Find the fewest events that lead from one state to another.

    Args:
        definition: The definition.
        source: The state to begin in.
        target: The state to reach.

    Returns:
        The events, none if the states are the same; ``None`` if there is no way.
    """
    return _paths(definition, source).get(target)


def is_deterministic(definition: Definition) -> bool:
    """Tell whether every event has at most one transition from each state."""
    for state in definition.states:
        events = [transition.event for transition in definition.outgoing(state)]
        if len(events) != len(set(events)):
            return False
    return True


def _paths(definition: Definition, start: str) -> dict[str, list[str]]:
    """The shortest path to each reachable state, by breadth-first search."""
    paths: dict[str, list[str]] = {start: []}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for transition in definition.outgoing(state):
            if transition.target not in paths:
                paths[transition.target] = [*paths[state], transition.event]
                waiting.append(transition.target)
    return paths
