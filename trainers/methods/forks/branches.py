"""The branches of a rollout: forks of live episodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trainers.methods.forks.branching import Branching, uncertainty
from trainers.rollouts.live_episode import LiveEpisode
from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_draw

__all__ = ["Branches"]


class Branches(RolloutPart):
    """Assigns the places of a rollout to forked episodes.

    A root owns as many consecutive numbers as it may become episodes, and every fork divides them.
    So the number of an episode, and its random draws, only depend on its own past.

    Args:
        branching: How groups branch.
        leaves: Episodes that one of them may become: of as many consecutive ones only the first
            begins with its task.
    """

    def __init__(self, branching: Branching, leaves: int) -> None:
        self._branching, self._max_leaves = branching, leaves
        self.reads_entropy = branching.reads_entropy

    def begin(self, episodes: list[Trajectory], seed: int, vocabulary: int) -> None:
        """Deal the places out; episodes that forks lead to take those that are unplayed."""
        self._episodes, self._seed, self._vocabulary = episodes, seed, vocabulary
        self._first = episodes[0].number if episodes else 0
        self._leaves = {root.number: self._max_leaves for root in episodes[:: self._max_leaves]}
        for episode in episodes:
            episode.unplayed = episode.number not in self._leaves

    def fork(self, episode: LiveEpisode) -> list[LiveEpisode]:
        """Decide whether an episode is forked in its current state; return the added episodes."""
        branching, number = self._branching, episode.number
        leaves = self._leaves[number]
        if leaves == 1:
            return []
        turns = episode.trajectory.turns
        episode.trajectory.chances += 1
        latest, first = (
            uncertainty(np.array(turn.entropies), self._vocabulary) if turn.entropies else 0.0
            for turn in (turns[-1], turns[0])
        )
        drawn = turn_draw(self._seed, number, len(turns), "fork")
        shares = branching.shares(leaves, len(turns), latest - first, drawn)
        added = []
        self._leaves[number], place = shares[0], number + shares[0]
        for share in shares[1:]:
            copy = episode.forked(place)
            self._episodes[place - self._first], self._leaves[place] = copy.trajectory, share
            added.append(copy)
            place += share
        return added

    def end(self, episode: Trajectory) -> Sequence[Trajectory]:
        """Return the episodes to start from their task in places that an ended root left unused."""
        leaves = self._leaves.pop(episode.number)
        if not self._branching.refill:
            return []
        index = episode.number + 1 - self._first
        fresh = self._episodes[index : index + leaves - 1]
        for fresh_episode in fresh:
            fresh_episode.unplayed = False
            self._leaves[fresh_episode.number] = 1
        return fresh
