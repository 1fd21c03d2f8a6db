"""Dynamic sampling (DAPO, arXiv 2503.14476): replace groups without a learning signal.

A step wants n groups. As soon as one is found to be flat, the next task is begun in its place; no
episode waits for another. Which tasks a step ends up with does not depend on who ends first: tasks
are begun in their order, one for each that was found to be flat, so those begun are in the end the
shortest beginning of the order that holds n groups which train, or all that may be begun.

Of several families each replaces its own groups, so that its share of the batch stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

__all__ = ["Refill"]

_SHARED = ("horizon", "training_step")
"""Reset options that all episodes of a family have in common in a step."""


class Refill:
    """The groups of one step: finished, informative and replacement groups.

    Args:
        tasks: Reset options of the n groups that the step begins with, whose ids are 0 to n - 1.
        further: Reset options of the tasks that may replace them, by family, in their order.
        group_size: Episodes of a group, G.
        most: Groups that may be played for each that the step wants, at least 1.
        seed: Environment seed of the members of a group, by its id.
        trains: Whether a group that has ended has anything to train on.

    Attributes:
        replaced: Episodes of the groups that the batch does without, once it has been chosen.
    """

    def __init__(
        self,
        tasks: Sequence[Mapping[str, Any]],
        further: Mapping[str, Iterator[Mapping[str, Any]]],
        *,
        group_size: int,
        most: int,
        seed: Callable[[int], int],
        trains: Callable[[Sequence[Trajectory]], bool],
    ) -> None:
        self.replaced: list[Trajectory] = []
        self._size, self._seed, self._trains, self._further = group_size, seed, trains, further
        # The family of each group that has begun, by its id.
        self._families = {number: str(task.get(FAMILY, "")) for number, task in enumerate(tasks)}
        self._group_counts = {name: [*self._families.values()].count(name) for name in further}
        self._room = {name: (most - 1) * n_groups for name, n_groups in self._group_counts.items()}
        # Ids do not depend on who ends first: each family has its own.
        self._ids = {name: count(len(tasks) + k, len(further)) for k, name in enumerate(further)}
        self._members: dict[int, dict[int, Trajectory]] = {}
        self._flat: set[int] = set()

    def ended(self, number: int, episode: Trajectory) -> list[tuple[int, Trajectory]]:
        """Take down an episode that has ended.

        Args:
            number: Orders the members of a group, whoever ends first.
            episode: The episode.

        Returns:
            Number and blank record of each episode that is to be played now: those of a new group
            if this one is whole and flat.
        """
        members = self._members.setdefault(episode.group, {})
        members[number] = episode
        if len(members) < self._size or self._trains([members[k] for k in sorted(members)]):
            return []
        self._flat.add(episode.group)
        family = self._families[episode.group]
        if not self._room[family]:
            return []
        self._room[family] -= 1
        group = next(self._ids[family])
        self._families[group] = family
        shared = {key: episode.options[key] for key in _SHARED if key in episode.options}
        task = {k: v for k, v in next(self._further[family]).items() if k != FAMILY}
        return [
            (
                group * self._size + member,
                Trajectory(
                    group=group,
                    seed=self._seed(group),
                    options={**shared, **task},
                    family=episode.family,
                ),
            )
            for member in range(self._size)
        ]

    def batch(self, episodes: Sequence[Trajectory]) -> list[Trajectory]:
        """Choose the episodes of the step, as many as were wanted, among all that were played.

        Groups that train go first; where they are too few, flat ones fill the batch, of which the
        preset's filters leave out what they would have left out anyway. Both are in their order.

        Args:
            episodes: All of them, the members of a group in their order.
        """
        selected: set[int] = set()
        for name, n_groups in self._group_counts.items():
            groups = sorted(group for group, family in self._families.items() if family == name)
            selected.update(sorted(groups, key=self._flat.__contains__)[:n_groups])
        ordered = sorted(episodes, key=lambda episode: episode.group)
        self.replaced = [episode for episode in ordered if episode.group not in selected]
        return [episode for episode in ordered if episode.group in selected]

    @property
    def figures(self) -> dict[str, float]:
        """Groups that were played, and those that train and are missing of the batch."""
        n_played, n_planned = len(self._families), sum(self._group_counts.values())
        missing = n_planned - (n_played - len(self._flat))
        return {"refill/groups_played": float(n_played), "refill/groups_missing": float(missing)}
