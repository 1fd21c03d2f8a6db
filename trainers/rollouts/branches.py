"""The branches of a rollout: forks of live episodes."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from trainers.algorithms.branching import Branching, uncertainty
from trainers.rollouts.live_episode import LiveEpisode
from trainers.rollouts.trajectory import Trajectory

__all__ = ["Branches", "turn_draw", "turn_seed"]


class Branches:
    """Assigns the places of a rollout to forked episodes.

    A root owns as many consecutive numbers as it may become episodes, and every fork divides them.
    So the number of an episode, and its random draws, only depend on its own past.

    Attributes:
        roots: Episodes that start from their task, in the order of their numbers.
    """

    def __init__(
        self,
        branching: Branching | None,
        episodes: list[Trajectory],
        leaves: int,
        seed: int,
        vocabulary: int,
    ) -> None:
        """Assign the places.

        Args:
            branching: How groups branch; None: not at all.
            episodes: One for each place, numbered; forked episodes replace them.
            leaves: Episodes that each root may become.
            seed: Seed of the rollout.
            vocabulary: Number of tokens in the vocabulary.
        """
        self._branching, self._episodes = branching, episodes
        self._seed, self._vocabulary = seed, vocabulary
        self._first = episodes[0].number if episodes else 0
        self.roots = episodes[::leaves]
        self._leaves = {root.number: leaves for root in self.roots}
        for episode in episodes:
            episode.unplayed = episode.number not in self._leaves

    def forked(self, episode: LiveEpisode) -> list[LiveEpisode]:
        """Decide whether an episode is forked in its current state; return the added episodes."""
        branching, number = self._branching, episode.number
        leaves = self._leaves[number]
        if branching is None or leaves == 1:
            return []
        turns = episode.trajectory.turns
        episode.trajectory.chances += 1
        now, first = (
            uncertainty(np.array(turn.entropies), self._vocabulary) if turn.entropies else 0.0
            for turn in (turns[-1], turns[0])
        )
        drawn = turn_draw(self._seed, number, len(turns), "fork")
        shares = branching.shares(leaves, len(turns), now - first, drawn)
        added = []
        self._leaves[number], at = shares[0], number + shares[0]
        for share in shares[1:]:
            copy = episode.forked(at)
            self._episodes[at - self._first], self._leaves[at] = copy.trajectory, share
            added.append(copy)
            at += share
        return added

    def add(self, number: int) -> None:
        """Add an episode that starts later and is not forked."""
        self._leaves[number] = 1

    def left_over(self, number: int) -> Sequence[Trajectory]:
        """Return the episodes to start from their task in places that an ended root left unused."""
        leaves = self._leaves.pop(number)
        if self._branching is None or not self._branching.refill:
            return []
        at = number + 1 - self._first
        fresh = self._episodes[at : at + leaves - 1]
        for episode in fresh:
            episode.unplayed = False
            self._leaves[episode.number] = 1
        return fresh


def turn_seed(seed: int, episode: int, turn: int, purpose: str = "") -> int:
    """Derive the sampling seed of a turn from the rollout's seed and the turn's place in it."""
    text = f"{seed}/{episode}/{turn}{purpose and '/' + purpose}".encode()
    # 63 bits: the range of Request.seed, which fits a server's signed integer.
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


def turn_draw(seed: int, episode: int, turn: int, purpose: str) -> float:
    """Draw a number in [0, 1) for a turn, independent for each ``purpose``."""
    return turn_seed(seed, episode, turn, purpose) / 2.0**63
