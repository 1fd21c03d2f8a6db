"""Search in a world: which states there are, how far they are from the goal, and what to do.

The expert takes the fewest turns on average, which is the shortest plan where nothing is left to
chance. Breadth-first search finds every state that can be reached. From the goal backwards it finds
those from which the goal is reached for sure, however chance turns out; a state from which it is
not is *lost*. Between the others value iteration solves V = 1 + min over actions of the mean of V
behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from agentgym.authoring.synth.world import State, SynthWorld

MOST_STATES = 5000
"""Most states that can be reached in a task."""
SWEEPS = 10_000
EXACT = 1e-6
"""Change of a value below which it counts as found."""

Edge: TypeAlias = "tuple[int, tuple[tuple[int, int], ...]]"
"""An action by its number, and the percentages and numbers of the states that it may lead to."""


class TooManyStates(ValueError):
    """More than `MOST_STATES` can be reached."""


@dataclass(frozen=True)
class Solution:
    """What an expert knows of a task."""

    begin: State
    """The first state."""
    turns: dict[State, float] = field(default_factory=dict)
    """Turns to the goal, on average; lost states are left out."""
    best: dict[State, int] = field(default_factory=dict)
    """The expert's next action, by its number in `SynthWorld.actions`."""
    next: dict[State, tuple[tuple[int, State], ...]] = field(default_factory=dict)
    """What that may lead to, with percentages."""
    states: int = 0
    """How many states can be reached, those behind the goal left out."""

    @cached_property
    def worst(self) -> float:
        """Most turns to the goal from any state from which it is reached for sure."""
        return max(self.turns.values())

    def success(self, horizon: int) -> float:
        """Return how likely the expert reaches the goal within some turns."""
        distribution, won = {self.begin: 1.0}, 0.0
        for _ in range(horizon):
            then: dict[State, float] = {}
            for state, weight in distribution.items():
                for percent, next_state in self.next[state]:
                    share = weight * percent / 100
                    if self.turns[next_state] == 0:
                        won += share
                    else:
                        then[next_state] = then.get(next_state, 0.0) + share
            distribution = then
        return won


def solve(world: SynthWorld, begin: State, reached: Callable[[State], bool]) -> Solution:
    """Solve a task.

    Args:
        world: The world.
        begin: The first state.
        reached: Tells whether the goal holds in a state.

    Raises:
        TooManyStates: There are too many.
    """
    states, edges, goals = _explore(world, begin, reached)
    sure, order = _sure(edges, goals)
    values, best = _values(edges, goals, sure, order, world.spec.chancy)
    solution = Solution(begin, states=len(states))
    for number, state in enumerate(states):
        if number in values:
            solution.turns[state] = values[number]
        if number in best:
            edge = best[number]
            solution.best[state] = edge[0]
            solution.next[state] = tuple((p, states[next_state]) for p, next_state in edge[1])
    return solution


def _explore(
    world: SynthWorld, begin: State, reached: Callable[[State], bool]
) -> tuple[list[State], list[list[Edge]], set[int]]:
    """Return states, what leads out of each, and those in which the goal holds."""
    states, number = [begin], {begin: 0}
    edges: list[list[Edge]] = []
    goals = set[int]()
    for state in states:  # which grows
        out: list[Edge] = []
        edges.append(out)
        if reached(state):
            goals.add(len(edges) - 1)
            continue
        for place, action in enumerate(world.actions):
            if not action.works(state):
                continue
            outcomes = []
            for percent, change, _ in action.results:
                next_state = change(state)
                if next_state not in number:
                    number[next_state] = len(states)
                    states.append(next_state)
                outcomes.append((percent, number[next_state]))
            out.append((place, tuple(outcomes)))
        if len(states) > MOST_STATES:
            raise TooManyStates(f"more than {MOST_STATES:,} states")
    return states, edges, goals


def _sure(edges: list[list[Edge]], goals: set[int]) -> tuple[set[int], list[int]]:
    """Return the states from which the goal is reached for sure, and those by their distance."""
    sure = set(range(len(edges)))
    while True:
        into: list[list[int]] = [[] for _ in edges]
        for state in sure:
            for _, outcomes in edges[state]:
                if all(next_state in sure for _, next_state in outcomes):
                    for _, successor in outcomes:
                        into[successor].append(state)
        order, reached = sorted(goals), set(goals)
        for state in order:  # which grows
            for predecessor in into[state]:
                if predecessor not in reached:
                    reached.add(predecessor)
                    order.append(predecessor)
        if reached == sure:
            return sure, order
        sure = reached


def _values(
    edges: list[list[Edge]], goals: set[int], sure: set[int], order: list[int], chancy: bool
) -> tuple[dict[int, float], dict[int, Edge]]:
    """Return turns to the goal on average, and the best way out of each state."""
    usable = {
        state: [
            edge for edge in edges[state] if all(next_state in sure for _, next_state in edge[1])
        ]
        for state in order
        if state not in goals
    }
    values = dict.fromkeys(order, 0.0)
    best: dict[int, Edge] = {}
    if not chancy:  # one pass suffices, since `order` is by distance
        values = dict.fromkeys(goals, 0.0)
        for state, ways in usable.items():
            best[state] = min(
                (edge for edge in ways if edge[1][0][1] in values),
                key=lambda edge: values[edge[1][0][1]],
            )
            values[state] = 1.0 + values[best[state][1][0][1]]
        return values, best
    for _ in range(SWEEPS):
        change = 0.0
        for state, ways in usable.items():
            least = min(_cost(state, edge, values) for edge in ways)
            change = max(change, abs(least - values[state]))
            values[state] = least
        if change < EXACT:
            break
    for state, ways in usable.items():
        best[state] = min(ways, key=lambda edge: _cost(state, edge, values))
    return values, best


def _cost(state: int, edge: Edge, values: dict[int, float]) -> float:
    """Return the turns to the goal if an action is taken until it leads out of the state."""
    cost, leaves = 100.0, 100
    for percent, next_state in edge[1]:
        if next_state == state:
            leaves -= percent
        else:
            cost += percent * values[next_state]
    return cost / leaves if leaves else float("inf")
