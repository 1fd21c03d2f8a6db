"""Dynamic sampling (DAPO, arXiv 2503.14476): replace groups without a learning signal.

A step needs n groups. As soon as one turns out to have no signal, the next task is started in its
place; no episode waits for another. The tasks of a step do not depend on which episode ends first:
they are started in order, one for each group without a signal, so the started ones are the shortest
prefix of the order with n informative groups, or the maximum number.

With several families each replaces its own groups, so that its share of the batch is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from trainers.rollouts.rollout_part import RolloutPart
from trainers.rollouts.task_feed import FAMILY
from trainers.rollouts.trajectory import Trajectory

__all__ = ["Refill"]

_SHARED = ("horizon", "training_step")
"""Reset options that all episodes of a family share within a step."""


class Refill(RolloutPart):
    """The groups of one step: finished, informative and replacement groups.

    Args:
        tasks: Reset options of the n initial groups, with ids 0 to n - 1.
        further: Reset options of replacement tasks, by family, in order.
        group_size: Episodes of a group, G.
        limit: Maximum groups played per group of the step, at least 1.
        seed: Environment seed of the members of a group, by its id.
        trains: Returns whether a finished group has a learning signal.

    Attributes:
        replaced: Episodes of the groups left out of the batch, once it has been chosen.
    """

    def __init__(
        self,
        tasks: Sequence[Mapping[str, Any]],
        further: Mapping[str, Iterator[Mapping[str, Any]]],
        *,
        group_size: int,
        limit: int,
        seed: Callable[[int], int],
        trains: Callable[[Sequence[Trajectory]], bool],
    ) -> None:
        self.replaced: list[Trajectory] = []
        self._size, self._seed, self._trains, self._further = group_size, seed, trains, further
        # The family of each started group, by its id.
        self._families = {number: str(task.get(FAMILY, "")) for number, task in enumerate(tasks)}
        self._group_counts = {name: [*self._families.values()].count(name) for name in further}
        self._room = {name: (limit - 1) * n_groups for name, n_groups in self._group_counts.items()}
        # Each family has its own ids, so that these do not depend on the order of ends.
        self._ids = {name: count(len(tasks) + k, len(further)) for k, name in enumerate(further)}
        self._members: dict[int, dict[int, Trajectory]] = {}
        self._flat: set[int] = set()

    def end(self, episode: Trajectory) -> list[Trajectory]:
        """Record an episode that has ended.

        Args:
            episode: The episode, whose number orders the members of a group.

        Returns:
            An empty trajectory for each episode to play now: those of a new group if this one is
            complete and without a signal.
        """
        members = self._members.setdefault(episode.group, {})
        members[episode.number] = episode
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
            Trajectory(
                group=group,
                seed=self._seed(group),
                options={**shared, **task},
                family=episode.family,
                number=group * self._size + member,
            )
            for member in range(self._size)
        ]

    def choose(self, episodes: Sequence[Trajectory]) -> list[Trajectory]:
        """Choose the episodes of the step among all that were played.

        Informative groups come first; if they are too few, groups without a signal fill the batch,
        where the preset's filters drop them. Both keep their order.

        Args:
            episodes: All episodes, the members of a group in order.
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
        """Numbers of groups: played, informative, and missing in the batch."""
        n_played, n_planned = len(self._families), sum(self._group_counts.values())
        missing = n_planned - (n_played - len(self._flat))
        return {"refill/groups_played": float(n_played), "refill/groups_missing": float(missing)}
