"""The tasks of ALFWorld: generated households, or the official games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentgym.envs.alfworld.engine.game import TASK_TYPES, Game, digest
from agentgym.envs.alfworld.experts.lines import EXPERTS
from agentgym.envs.alfworld.game_tasks import ALIASES, ORDERS, GameTasks, one_of
from agentgym.envs.alfworld.generator import (
    GENERATOR_VERSION,
    SPLIT_ROOMS,
    Knobs,
    full_names,
    generate,
    set_name,
)
from agentgym.envs.alfworld.official.games import DATA_VARIABLE, OfficialGames
from agentgym.envs.alfworld.official.index import Entry
from agentgym.errors import ConfigurationError, DataError
from agentgym.outcome import well_formed

SIZES: dict[str, int] = {"train": 4000, "valid_seen": 500, "valid_unseen": 500}
"""Numbers of generated tasks."""


class HouseholdTasks(GameTasks):
    """Generated households: 4,000 for training and 500 for each validation split.

    ``train`` and ``valid_seen`` have the same rooms and different games; ``valid_unseen`` has rooms
    of its own. Ids read ``alfworld/<knobs>/<split>/<number>`` and say nothing of the order.

    Args:
        knobs: A difficulty's name, a mapping of knobs, or :class:`~agentgym.envs.alfworld.generator
            .Knobs`.
        seed: Names a set of games.
        order: ``random`` or ``oracle``.
        expert: Whose plans are measured: ``shortest`` or ``searching``.

    Raises:
        ConfigurationError: A knob, the seed, the order or the expert is not one.
    """

    splits = tuple(SPLIT_ROOMS)

    def __init__(
        self,
        knobs: Knobs | str | Mapping[str, Any] = "medium",
        *,
        seed: int = 0,
        order: str = "random",
        expert: str = "shortest",
    ) -> None:
        self.knobs = Knobs.of(knobs)
        self.seed = _checked_seed(seed)
        super().__init__(set_name(self.knobs, seed), order, expert)

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _load(self, split: str, number: int) -> Game:
        return generate(self.knobs, split, number, self.seed)

    def _key(self, split: str) -> str:
        return f"generated {GENERATOR_VERSION} {self.knobs.text()} {self.seed} {split}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        head, _, tail = task_id.rpartition("/")
        name, _, split = head.rpartition("/")
        if name != self.name or split not in self.splits:
            return None
        if not (tail.isdecimal() and tail.isascii() and len(tail) <= 6 and str(int(tail)) == tail):
            return None
        return (split, int(tail)) if int(tail) < SIZES[split] else None


class OfficialTasks(GameTasks):
    """The official games, in the order of their names.

    Official names (``pick_and_place_simple-Mug-None-Desk-308/trial_...``) tell the task and where
    it ends, so ids read ``alfworld/official/<split>/<hash>``, the same for folders and packs. The
    name stands in a task's ``content["official_name"]``, and :meth:`find` also takes it in place
    of the hash. Splits are those that the data holds; each is read when it is first used.

    Args:
        data_dir: Where the data is; None for what ``ALFWORLD_DATA`` names. See
            :class:`~agentgym.envs.alfworld.official.games.OfficialGames`.
        task_types: Types of tasks to keep, by their full or short names; None for all.
        human_goals: Whether to use the first sentence that a person wrote for a task, where the
            data has one (``traj_data.json``), instead of the game's own.
        order: ``random`` (that is, as given) or ``oracle``.
        expert: Whose plans are measured: ``shortest`` or ``searching``.

    Raises:
        ConfigurationError: No data is named, or there is no such order, expert or task type.
        DataError: There are no games.
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        task_types: Sequence[str] | None = None,
        human_goals: bool = False,
        order: str = "random",
        expert: str = "shortest",
    ) -> None:
        name = "alfworld/official-human" if human_goals else "alfworld/official"
        super().__init__(name, order, expert)
        self.official = OfficialGames(data_dir)
        self.splits = self.official.splits
        self.aliases = {
            alias: split
            for alias, split in ALIASES.items()
            if split in self.splits and alias not in self.splits
        }
        self.human_goals = human_goals
        self.task_types = TASK_TYPES if task_types is None else full_names(task_types)
        self._rows: dict[str, list[int]] = {}
        self._by_id: dict[str, dict[str, int]] = {}

    @property
    def notes(self) -> Mapping[str, str]:
        """What is to be said about the number of games of each split used so far; empty if good."""
        return self.official.notes

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._chosen(self.check(split)))

    def _chosen(self, split: str) -> list[int]:
        """Return the rows of the games of the types asked for."""
        if split not in self._rows:
            entries = self.official.entries(split)
            rows = [n for n, entry in enumerate(entries) if entry.task_type in self.task_types]
            if not rows:
                raise DataError(
                    f"expected games of type {', '.join(self.task_types)} in {split} of "
                    f"{self.official.path}, but there are none; ask for other task_types"
                )
            self._rows[split] = rows
        return self._rows[split]

    def _load(self, split: str, number: int) -> Game:
        row = self._chosen(split)[number]
        entry = self.official.entries(split)[row]
        goal = entry.human_goal if self.human_goals and entry.human_goal else entry.goal
        problem = self.official.problem(split, row)
        game_id = f"{self.name}/{split}/{_opaque(entry)}"
        return Game(game_id, entry.task_type, entry.scene, goal, problem)

    def _origin(self, split: str, number: int) -> Mapping[str, str]:
        entry = self.official.entries(split)[self._chosen(split)[number]]
        return {"official_name": well_formed(entry.id)}

    def _key(self, split: str) -> str:
        entries = self.official.entries(split)
        return f"official {digest(''.join(entries[row].sha256 for row in self._chosen(split)))}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        for split in self.splits:
            head = f"{self.name}/{split}/"
            if task_id.startswith(head):
                if split not in self._by_id:
                    entries = self.official.entries(split)
                    rows = enumerate(self._chosen(split))
                    self._by_id[split] = {
                        name: number
                        for number, row in rows
                        for name in (_opaque(entries[row]), entries[row].id)
                    }
                number = self._by_id[split].get(task_id[len(head) :])
                return None if number is None else (split, number)
        return None


def _opaque(entry: Entry) -> str:
    """Return a name for an official game that tells nothing to those who do not have the data."""
    return digest(f"{entry.id}\n{entry.sha256}")[:16]


def open_tasks(
    difficulty: Knobs | str | Mapping[str, Any] = "medium",
    knobs: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    order: str = "random",
    expert: str = "shortest",
    data_dir: str | Path | None = None,
    human_goals: bool = False,
) -> GameTasks:
    """Return generated tasks, or the official ones where ``data_dir`` is given.

    Generated sets with equal settings are one object within a process, so that environments share
    what is parsed.

    Args:
        difficulty: A difficulty's name, or knobs; not used with official games.
        knobs: Knobs that differ from the difficulty's; of these, ``task_types`` also chooses among
            official games.
        seed: Names a set of generated games.
        order: ``random`` or ``oracle``.
        expert: Whose plans are measured: ``shortest`` or ``searching``.
        data_dir: Official games; ``"ALFWORLD_DATA"`` stands for what that variable names.
        human_goals: Whether to use sentences that people wrote, where official games have them.

    Returns:
        The task set.

    Raises:
        ConfigurationError: A value is out of range or is not for this kind of games.
        DataError: There are no official games there, or a file is damaged.
    """
    changes = dict(knobs or {})
    if data_dir is None:
        if human_goals:
            raise ConfigurationError(
                "expected human_goals=False for generated households, which nobody wrote sentences "
                "for; give data_dir for the official games"
            )
        chosen = Knobs.of(difficulty)
        merged = Knobs.of({**vars(chosen), **changes}) if changes else chosen
        order, expert = one_of("order", order, ORDERS), one_of("expert", expert, EXPERTS)
        return _generated(merged, _checked_seed(seed), order, expert)
    types = changes.pop("task_types", None)
    if changes:
        raise ConfigurationError(
            f"expected no {', '.join(sorted(changes))} with data_dir, since official games are as "
            "they are; leave data_dir out for generated households"
        )
    return OfficialTasks(
        None if str(data_dir) == DATA_VARIABLE else data_dir,
        task_types=types,
        human_goals=human_goals,
        order=order,
        expert=expert,
    )


def _checked_seed(seed: int) -> int:
    if type(seed) is not int or seed < 0:
        raise ConfigurationError(f"expected a whole number from 0 as seed, got {seed!r}")
    return seed


@lru_cache(maxsize=16)
def _generated(knobs: Knobs, seed: int, order: str, expert: str) -> HouseholdTasks:
    return HouseholdTasks(knobs, seed=seed, order=order, expert=expert)
