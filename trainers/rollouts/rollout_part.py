"""What an optional method does while episodes are played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainers.rollouts.live_episode import LiveEpisode
from trainers.rollouts.trajectory import Trajectory

__all__ = ["RolloutPart"]


class RolloutPart:
    """Leave a rollout as it is: the base class of all parts, each for one rollout."""

    reads_entropy: bool = False
    """Whether engines must report the entropy of each sampled token."""
    replaced: Sequence[Trajectory] = ()
    """Episodes that were played and do not train, once :meth:`choose` replaced them."""

    @property
    def figures(self) -> Mapping[str, float]:
        """Figures for the log."""
        return {}

    def begin(self, episodes: list[Trajectory], seed: int, vocabulary: int) -> None:
        """Take the episodes before they are played, and mark those ``unplayed`` that wait.

        Args:
            episodes: The numbered episodes of the rollout; others may take their places.
            seed: Seed of the rollout.
            vocabulary: Tokens that the policy chooses from.
        """

    def plays_stale(self, episode: LiveEpisode) -> bool:
        """Return whether the stale policy plays the next turn of an episode."""
        return False

    def fork(self, episode: LiveEpisode) -> Sequence[LiveEpisode]:
        """Return the episodes that go on from where an episode is now."""
        return ()

    def end(self, episode: Trajectory) -> Sequence[Trajectory]:
        """Return the episodes to begin, with their numbers, since one has ended."""
        return ()

    def choose(self, episodes: list[Trajectory]) -> list[Trajectory]:
        """Return those that train of all episodes, which are begun ones and those that ended."""
        return episodes
