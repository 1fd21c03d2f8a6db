"""Trees of episodes in a small decision process whose gradient is known, for the tests of forks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from trainers.algorithms.batch import Batch
from trainers.methods.forks.branching import Branching

Choose = Callable[[float], int]
"""Draws 1 with a probability, else 0."""


class Undecided(Exception):
    """A path ends before all of its choices are made."""


@dataclass(frozen=True)
class Process:
    """Two actions a turn; every history pays and decides by itself. Action 1 may end it early."""

    horizon: int = 3
    ends: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        histories = [h for t in range(self.horizon + 1) for h in product((0, 1), repeat=t)]
        object.__setattr__(self, "pay", {h: float(rng.normal()) for h in histories})
        object.__setattr__(self, "logit", {h: float(rng.normal()) for h in histories})

    def chance(self, history: tuple[int, ...]) -> float:
        return 1.0 / (1.0 + np.exp(-self.logit[history]))

    def over(self, history: tuple[int, ...]) -> bool:
        return len(history) == self.horizon or (self.ends and len(history) > 0 and history[-1] == 1)

    def value(self, history: tuple[int, ...] = ()) -> float:
        """The return that is still to be expected."""
        if self.over(history):
            return 0.0
        p = self.chance(history)
        returns = [self.pay[(*history, a)] + self.value((*history, a)) for a in (0, 1)]
        return (1 - p) * returns[0] + p * returns[1]

    def reach(self, history: tuple[int, ...]) -> float:
        """The probability of coming to a history."""
        chance = 1.0
        for t, a in enumerate(history):
            if self.over(history[:t]):
                return 0.0
            p = self.chance(history[:t])
            chance *= p if a else 1 - p
        return chance

    def gradient(self) -> dict[tuple[int, ...], float]:
        """The derivative of the expected return by the logit of every history."""
        slopes = {}
        for h in self.logit:
            if self.over(h):
                continue
            p = self.chance(h)
            high, low = (self.pay[(*h, a)] + self.value((*h, a)) for a in (1, 0))
            slopes[h] = self.reach(h) * p * (1 - p) * (high - low)
        return slopes


def grow(process: Process, branching: Branching, group_size: int, choose: Choose) -> list:
    """The episodes of one group, by their numbers: (number, parent, shared, actions)."""
    leaves = branching.leaves(group_size)
    waiting = [(root * leaves, None, (), leaves) for root in range(branching.roots)]
    episodes = []
    while waiting:
        number, parent, actions, n_left = waiting.pop(0)
        shared = len(actions)
        while not process.over(actions):
            if len(actions) > shared:
                shares = branching.shares(n_left, len(actions), 0.0, 0.0)
                n_left, place = shares[0], number + shares[0]
                for share in shares[1:]:
                    waiting.append((place, number, actions, share))
                    place += share
            actions = (*actions, choose(process.chance(actions)))
        episodes.append((number, parent, shared, actions))
    return sorted(episodes)


def batch_of(process: Process, groups: list[list]) -> Batch:
    """Pack the episodes of groups, each turn with one token."""
    turns, pays, of, nodes, states = [], [], [], [], []
    for group, episodes in enumerate(groups):
        owners: dict[int, list] = {}
        for number, parent, shared, actions in episodes:
            new_nodes = [(group, number, turn) for turn in range(shared, len(actions))]
            owners[number] = (owners[parent][:shared] if parent is not None else []) + new_nodes
            turns.append([1] * len(actions))
            pays.append([process.pay[actions[: t + 1]] for t in range(len(actions))])
            of.append(group)
            nodes.append(owners[number])
            states.append([actions[:turn] for turn in range(len(actions))])
    return Batch.from_trajectories(turns, pays, of, nodes=nodes, states=states)


def enumerate_outcomes(
    process: Process, play: Callable[[Choose], object]
) -> Iterator[tuple[float, object]]:
    """All that a play with random choices can come to, with the probability of each."""
    paths: list[tuple[int, ...]] = [()]
    while paths:
        path = paths.pop()
        chance, bits = 1.0, iter(path)

        def choose(p: float, bits: Iterator[int] = bits) -> int:
            nonlocal chance
            bit = next(bits, None)
            if bit is None:
                raise Undecided
            chance *= p if bit else 1 - p
            return bit

        try:
            outcome = play(choose)
        except Undecided:
            paths += [(*path, 0), (*path, 1)]
        else:
            yield chance, outcome


def estimate(process: Process, episodes: list, weights: np.ndarray) -> dict[tuple[int, ...], float]:
    """The gradient that weights of all turns give, by the logit of every history."""
    gradient: dict[tuple[int, ...], float] = {}
    start = 0
    for _, _, _, actions in episodes:
        for t, action in enumerate(actions):
            history = actions[:t]
            score = action - process.chance(history)
            gradient[history] = gradient.get(history, 0.0) + score * weights[start]
            start += 1
    return gradient
