"""The replay of earlier turns for off-policy learning: inputs, actions and rewards.

An episode stores its rows of tokens, and for each turn the place of its action in them. The prompt
of a turn is the part of its row before the action, so that nothing is stored twice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from agentgym.core.outcome import StopReason
from agentgym.support.random_stream import Stream
from trainers.rollouts.trajectory import Trajectory

__all__ = ["PlayedEpisode", "PlayedTurn", "TurnReplay", "tells_of_the_policy"]


class PlayedTurn(NamedTuple):
    """A turn as a critic reads it."""

    state: list[int]
    """Tokens that the policy read."""
    action: list[int]
    """Tokens that it wrote."""
    reward: float
    """Reward of the turn."""
    after: list[int] | None
    """Tokens that it read next; None: the episode ended."""


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode as tokens and rewards."""

    rows: list[list[int]]
    """Sequences of tokens: one, or more where the history was rewritten."""
    spans: list[tuple[int, int, int]]
    """Row, first token and end of the action of each turn."""
    rewards: list[float]
    """Reward of each turn."""

    @classmethod
    def of(cls, trajectory: Trajectory) -> PlayedEpisode:
        """Take down a trajectory."""
        rows: list[list[int]] = []
        spans = []
        for turn in trajectory.turns:
            if turn.fresh or not rows:
                rows.append([])
            row = rows[-1]
            row += turn.context
            spans.append((len(rows) - 1, len(row), len(row) + len(turn.ids)))
            row += turn.ids
        return cls(rows, spans, [turn.reward for turn in trajectory.turns])

    def state(self, turn: int) -> list[int]:
        """Return the tokens that the policy read before a turn."""
        row, first, _ = self.spans[turn]
        return self.rows[row][:first]

    def turn(self, number: int) -> PlayedTurn:
        """Return a turn, by its number from 0."""
        row, first, end = self.spans[number]
        next_state = self.state(number + 1) if number + 1 < len(self.spans) else None
        return PlayedTurn(
            self.rows[row][:first], self.rows[row][first:end], self.rewards[number], next_state
        )


class TurnReplay:
    """The turns of the last episodes, as many as fit.

    Args:
        capacity: Most turns; where a new episode would exceed it the oldest ones go, whole. A
            single episode that is longer is not kept.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._episodes: deque[PlayedEpisode] = deque()
        self._turns = 0
        self._ends: list[int] = []

    def __len__(self) -> int:
        """Number of turns."""
        return self._turns

    def add(self, episodes: Sequence[PlayedEpisode]) -> None:
        """Keep episodes, the last ones for longest."""
        for episode in episodes:
            if not 0 < len(episode.spans) <= self.capacity:
                continue
            self._episodes.append(episode)
            self._turns += len(episode.spans)
            while self._turns > self.capacity:
                self._turns -= len(self._episodes.popleft().spans)
        self._ends = list(accumulate(len(episode.spans) for episode in self._episodes))

    def draw(self, count: int, stream: Stream) -> list[PlayedTurn]:
        """Draw turns, all of them equally likely, with replacement."""
        return [self._at(stream.below(self._turns)) for _ in range(count)]

    def _at(self, number: int) -> PlayedTurn:
        """Return a turn, by its number among all."""
        episode = bisect_right(self._ends, number)
        first = self._ends[episode - 1] if episode else 0
        return self._episodes[episode].turn(number - first)

    def state_dict(self) -> dict[str, Any]:
        """Return all of it as plain lists."""
        return {
            "rows": [episode.rows for episode in self._episodes],
            "spans": [episode.spans for episode in self._episodes],
            "rewards": [episode.rewards for episode in self._episodes],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state from ``state_dict``."""
        self._episodes.clear()
        self._turns = 0
        parts = zip(state["rows"], state["spans"], state["rewards"], strict=True)
        self.add([PlayedEpisode(*part) for part in parts])


def tells_of_the_policy(trajectory: Trajectory) -> bool:
    """Return whether the rewards of an episode reflect its actions.

    Not where the environment failed, a judge says that it ruined the episode, or gave no verdict.
    """
    if trajectory.stop_reason == StopReason.ERROR.value:
        return False
    return not any(turn.ruined or turn.unjudged for turn in trajectory.turns)
