"""The tasks of ALFWorld: generated households, or the official games."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from agentgym.core.options import choice, integer
from agentgym.core.outcome import well_formed
from agentgym.core.tasks import NumberedTasks
from agentgym.envs.alfworld.engine.household import (
    TASK_TYPES,
    Game,
    Household,
    digest,
    shared_household,
)
from agentgym.envs.alfworld.experts import EXPERTS, PLANS_VERSION, plan_length
from agentgym.envs.alfworld.generator.config import GeneratorConfig, full_names
from agentgym.envs.alfworld.generator.households import GENERATOR_VERSION, generate, set_name
from agentgym.envs.alfworld.generator.rooms import SPLIT_ROOMS
from agentgym.envs.alfworld.official.gamefile import GameEntry
from agentgym.envs.alfworld.official.games import DATA_VARIABLE, OfficialGames
from agentgym.envs.alfworld.progress_bar import tracked
from agentgym.errors import ConfigurationError, DataError
from agentgym.support import caching

ALIASES: dict[str, str] = {"valid": "valid_seen", "test": "valid_unseen"}
ORDERS = ("random", "oracle_turns")
SIZES: dict[str, int] = {"train": 4000, "valid_seen": 500, "valid_unseen": 500}
"""Numbers of generated tasks."""


class GameTasks(NumberedTasks[Game]):
    """Tasks over numbered games.

    Args:
        name: Name of the set, which begins every id.
        order: ``random``: the index is the number; ``oracle_turns``: games are ordered by the
            length of the expert's plan, so that a curriculum may take the first ones. Lengths are
            measured once, one or two milliseconds a game, and kept in the cache folder.
        expert: Whose plans are measured, here and by :meth:`oracle_turns`: one of
            :data:`~agentgym.envs.alfworld.experts.EXPERTS`.

    Raises:
        ConfigurationError: Order or expert is unknown.
    """

    aliases: Mapping[str, str] = ALIASES
    remedy = "make the environment with the settings, seed or data that the id names"

    def __init__(self, name: str, order: str = "random", expert: str = "oracle") -> None:
        self.order = choice(order, "order", ORDERS)
        self.expert = choice(expert, "expert", EXPERTS)
        super().__init__(name, plan_length=partial(_turns, expert=self.expert))

    @abstractmethod
    def _key(self, split: str) -> str:
        """Return a text that decides the games of a split and their order."""

    def _origin(self, split: str, number: int) -> Mapping[str, str]:
        """Return the further entries of a task's content on the origin of its game."""
        return {}

    def _describe(self, split: str, number: int, problem: Game) -> tuple[str, Mapping[str, Any]]:
        content = {
            "task_type": problem.task_type,
            "scene": problem.scene,
            "problem_sha256": digest(problem.problem),
            **self._origin(split, number),
        }
        return problem.goal, content

    def _order(self, split: str) -> Sequence[int] | None:
        if self.order == "random":
            return None
        return by_length(self._plan_lengths(split))

    def _plan_lengths(self, split: str) -> list[int | None]:
        """Return the length of the expert's plan for each game, from the cache if it is there."""
        size = self.len(split)
        key = f"{PLANS_VERSION} {self.expert} {size} {self._key(split)}"
        path = caching.entry_path("alfworld", "plans", key)
        lengths: list[int | None] | None = caching.load_json(path, key)
        if lengths is None:
            games = (self._problem(split, number) for number in range(size))
            watched = tracked(games, size, "Measuring the expert's plans")
            # Not shared_household: a split in a row would drop the households in play.
            lengths = [plan_length(Household.of(game), self.expert) for game in watched]
            caching.save_json(path, key, lengths)
        return lengths


def by_length(lengths: Sequence[int | None]) -> list[int]:
    """Return the positions of ``lengths``, shortest first and unknown last, else in order."""
    return sorted(
        range(len(lengths)), key=lambda index: (lengths[index] is None, lengths[index] or 0)
    )


def _turns(game: Game, expert: str) -> int | None:
    return plan_length(shared_household(game), expert)


class HouseholdTasks(GameTasks):
    """Generated households: 4,000 for training and 500 for each validation split.

    ``train`` and ``valid_seen`` have the same rooms and different games; ``valid_unseen`` has
    different rooms. Ids read ``alfworld/<config>/<split>/<number>`` and do not reveal the order.

    Args:
        config: A difficulty's name, a mapping of generator settings, or a
            :class:`~agentgym.envs.alfworld.generator.config.GeneratorConfig`.
        seed: Names a set of games.
        order: ``random`` or ``oracle_turns``.
        expert: Whose plans are measured: ``oracle``, ``searching``, ``fixed-order`` or
            ``hesitant``.

    Raises:
        ConfigurationError: A setting, the seed, the order or the expert is not one.
    """

    splits = tuple(SPLIT_ROOMS)

    def __init__(
        self,
        config: GeneratorConfig | str | Mapping[str, Any] = "medium",
        *,
        seed: int = 0,
        order: str = "random",
        expert: str = "oracle",
    ) -> None:
        self.config = GeneratorConfig.of(config)
        self.seed = integer(seed, "generator_seed", 0, None)
        super().__init__(set_name(self.config, seed), order, expert)

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return SIZES[self.check(split)]

    def _problem(self, split: str, number: int) -> Game:
        return generate(self.config, split, number, self.seed)

    def _key(self, split: str) -> str:
        return f"generated {GENERATOR_VERSION} {self.config.text()} {self.seed} {split}"


class OfficialTasks(GameTasks):
    """The official games, in the order of their names.

    Official names (``pick_and_place_simple-Mug-None-Desk-308/trial_...``) reveal the task and its
    target, so ids read ``alfworld/official/<split>/<hash>``, the same for folders and packs. The
    name stands in a task's ``content["official_name"]``, and :meth:`find` also takes it in place of
    the hash. Splits are those that the data holds; each is read when it is first used.

    Args:
        data: Path of the data; None: the value of ``ALFWORLD_DATA``. See
            :class:`~agentgym.envs.alfworld.official.games.OfficialGames`.
        task_types: Types of tasks to keep, by their full or short names; None for all.
        human_goals: Whether to use the first sentence that a person wrote for a task, where the
            data has one (``traj_data.json``), instead of the game's own.
        order: ``random`` (that is, as given) or ``oracle_turns``.
        expert: Whose plans are measured: ``oracle``, ``searching``, ``fixed-order`` or
            ``hesitant``.

    Raises:
        ConfigurationError: No data is named, or there is no such order, expert or task type.
        DataError: There are no games.
    """

    def __init__(
        self,
        data: str | Path | None = None,
        *,
        task_types: Sequence[str] | None = None,
        human_goals: bool = False,
        order: str = "random",
        expert: str = "oracle",
    ) -> None:
        name = "alfworld/official-human" if human_goals else "alfworld/official"
        super().__init__(name, order, expert)
        self.official = OfficialGames(data)
        self.splits = self.official.splits
        self.aliases = {
            alias: split
            for alias, split in ALIASES.items()
            if split in self.splits and alias not in self.splits
        }
        self.human_goals = human_goals
        self.task_types = TASK_TYPES if task_types is None else full_names(task_types)
        self._rows: dict[str, list[int]] = {}
        self._by_name: dict[str, dict[str, int]] = {}

    @property
    def notes(self) -> Mapping[str, str]:
        """Remarks on the number of games of each split used so far; empty if as expected."""
        return self.official.notes

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        return len(self._select_rows(self.check(split)))

    def _select_rows(self, split: str) -> list[int]:
        """Return the rows of the games of the requested types."""
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

    def _entry(self, split: str, number: int) -> GameEntry:
        return self.official.entries(split)[self._select_rows(split)[number]]

    def _problem(self, split: str, number: int) -> Game:
        entry = self._entry(split, number)
        goal = entry.human_goal if self.human_goals and entry.human_goal else entry.goal
        problem = self.official.problem(split, self._select_rows(split)[number])
        return Game(self._id(split, number), entry.task_type, entry.scene, goal, problem)

    def _origin(self, split: str, number: int) -> Mapping[str, str]:
        return {"official_name": well_formed(self._entry(split, number).id)}

    def _key(self, split: str) -> str:
        entries = self.official.entries(split)
        return (
            f"official {digest(''.join(entries[row].sha256 for row in self._select_rows(split)))}"
        )

    def _id(self, split: str, number: int) -> str:
        return f"{self.name}/{split}/{_opaque(self._entry(split, number))}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        for split in self.splits:
            head = f"{self.name}/{split}/"
            if task_id.startswith(head):
                if split not in self._by_name:
                    self._by_name[split] = {
                        name: number
                        for number in range(self.len(split))
                        for entry in [self._entry(split, number)]
                        for name in (_opaque(entry), entry.id)
                    }
                number = self._by_name[split].get(task_id[len(head) :])
                return None if number is None else (split, number)
        return None


def _opaque(entry: GameEntry) -> str:
    """Return a name for an official game that reveals nothing without the data."""
    return digest(f"{entry.id}\n{entry.sha256}")[:16]


def open_tasks(
    difficulty: GeneratorConfig | str | Mapping[str, Any] = "medium",
    changes: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    order: str = "random",
    expert: str = "oracle",
    data: str | Path | None = None,
    human_goals: bool = False,
) -> GameTasks:
    """Return generated tasks, or the official ones where ``data`` is given.

    Generated sets with equal settings are one object within a process, so that environments share
    what is parsed. Arguments are those of the environment; ``changes`` are the settings that differ
    from the difficulty's, of which ``task_types`` also chooses among official games.

    Raises:
        ConfigurationError: A value is out of range or is not for this kind of games.
        DataError: There are no official games there, or a file is damaged.
    """
    changes = dict(changes or {})
    if data is None:
        if human_goals:
            raise ConfigurationError(
                "expected human_goals=False for generated households, which nobody wrote sentences "
                "for; play the official games with data="
            )
        config = GeneratorConfig.of(difficulty)
        if changes:
            config = GeneratorConfig.of({**vars(config), **changes})
        # Checked here, because an unhashable value would fail in the cache.
        order, expert = choice(order, "order", ORDERS), choice(expert, "expert", EXPERTS)
        return _generated(config, integer(seed, "generator_seed", 0, None), order, expert)
    types = changes.pop("task_types", None)
    if changes:
        raise ConfigurationError(
            f"expected no {', '.join(sorted(changes))} with data=, since official games are as "
            "they are; leave data= out for generated households"
        )
    return OfficialTasks(
        None if str(data) == DATA_VARIABLE else data,
        task_types=types,
        human_goals=human_goals,
        order=order,
        expert=expert,
    )


@lru_cache(maxsize=16)
def _generated(config: GeneratorConfig, seed: int, order: str, expert: str) -> HouseholdTasks:
    return HouseholdTasks(config, seed=seed, order=order, expert=expert)
