"""Task sets over numbered games: ids, orders, and games kept while they are in use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.caching import BoundedCache
from agentgym.envs.alfworld.engine.game import Game, digest
from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.experts.expert_turns import by_length, plan_length, plan_lengths
from agentgym.envs.alfworld.experts.lines import EXPERTS
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.tasks import Task, TaskSet

ALIASES: dict[str, str] = {"valid": "valid_seen", "test": "valid_unseen"}
ORDERS = ("random", "oracle")

_KEPT_GAMES = 256


def one_of(name: str, value: Any, known: Sequence[str]) -> str:
    """Return an argument that is one of a few words.

    Raises:
        ConfigurationError: It is none of them.
    """
    if not isinstance(value, str) or value not in known:
        raise ConfigurationError(f"expected {name} to be one of {', '.join(known)}; got {value!r}")
    return value


class GameTasks(TaskSet):
    """Tasks over numbered games.

    A game's number within its split is fixed and stands for it in ids or beside them; its index is
    its place in the order asked for.

    Args:
        name: Name of the set, which begins every id.
        order: ``random``: the index is the number; ``oracle``: games are ordered by the length of
            the expert's plan, so that a curriculum may take the first ones. Lengths are measured
            once, one or two milliseconds a game, and kept in the cache folder.
        expert: Whose plans are measured, here and by :meth:`oracle_turns`: one of
            :data:`~agentgym.envs.alfworld.experts.lines.EXPERTS`.

    Raises:
        ConfigurationError: There is no such order or expert.
    """

    aliases: Mapping[str, str] = ALIASES

    def __init__(self, name: str, order: str = "random", expert: str = "shortest") -> None:
        self.name = name
        self.order = one_of("order", order, ORDERS)
        self.expert = one_of("expert", expert, EXPERTS)
        self._games: BoundedCache[str, Game] = BoundedCache(_KEPT_GAMES)
        self._turns: dict[str, int | None] = {}
        self._numbers: dict[str, list[int]] = {}
        self._indices: dict[str, dict[int, int]] = {}

    @abstractmethod
    def _load(self, split: str, number: int) -> Game:
        """Return one game."""

    @abstractmethod
    def _key(self, split: str) -> str:
        """Return a text that decides the games of a split and their order."""

    @abstractmethod
    def _place(self, task_id: str) -> tuple[str, int] | None:
        """Return split and number of the game with this id, or None."""

    def _origin(self, split: str, number: int) -> Mapping[str, str]:
        """Return what else a task's content tells of where its game comes from."""
        return {}

    def task(self, split: str, index: int) -> Task:
        """Return task number ``index`` of ``split``."""
        split = self.check(split, index)
        return self._task(split, int(index), self._number(split, int(index)))

    def find(self, task_id: str) -> Task:
        """Return the task with this id."""
        split, number = self._known(task_id)
        return self._task(split, self._index(split, number), number)

    def game(self, task: Task) -> Game:
        """Return the game of a task.

        Raises:
            TaskNotFound: The task is of another set.
            DataError: Its file is damaged or has changed.
        """
        game = self._games.get(task.id)
        return game if game is not None else self._game(*self._known(task.id))

    def oracle_turns(self, task: Task) -> int | None:
        """Return how many turns the expert needs from the start, remembered once it is known."""
        if task.id not in self._turns:
            self._turns[task.id] = plan_length(Household.of(self.game(task)), self.expert)
        return self._turns[task.id]

    def _task(self, split: str, index: int, number: int) -> Task:
        game = self._game(split, number)
        content = {
            "task_type": game.task_type,
            "scene": game.scene,
            "problem_sha256": digest(game.problem),
            **self._origin(split, number),
        }
        return Task(game.id, split, index, game.goal, content)

    def _game(self, split: str, number: int) -> Game:
        game = self._load(split, number)
        return self._games.put(game.id, game)

    def _known(self, task_id: str) -> tuple[str, int]:
        place = self._place(str(task_id))
        if place is None:
            raise TaskNotFound(
                f"expected the id of a task of {self.name}, which begins with "
                f"{self.name}/{self.splits[0]}/ or another split; got {task_id!r}; make the "
                "environment with the knobs, seed or data that the id names"
            )
        return place

    def _number(self, split: str, index: int) -> int:
        """Return the number of the game at a place of the order."""
        if self.order == "random":
            return index
        if split not in self._numbers:
            self._numbers[split] = self._measured(split)
        return self._numbers[split][index]

    def _index(self, split: str, number: int) -> int:
        """Return the place of a game in the order."""
        if self.order == "random":
            return number
        if split not in self._indices:
            self._number(split, 0)
            numbers = self._numbers[split]
            self._indices[split] = {found: index for index, found in enumerate(numbers)}
        return self._indices[split][number]

    def _measured(self, split: str) -> list[int]:
        """Return the numbers of a split's games, those with short plans first."""
        size = self.len(split)
        households = (Household.of(self._load(split, number)) for number in range(size))
        return by_length(plan_lengths(self._key(split), households, size, self.expert))
