"""The tasks of TextWorld: the games of a setting in disjoint splits, or game files of one's own."""

from __future__ import annotations

import hashlib
import threading
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentgym.envs.textworld.games.bundled import bundled
from agentgym.envs.textworld.games.store import GameStore
from agentgym.envs.textworld.generator.config import Settings
from agentgym.envs.textworld.generator.generate import Game, plan
from agentgym.envs.textworld.generator.settings import DEFAULT, settings
from agentgym.envs.textworld.splits import MOST_GAMES, place_of, seed_of
from agentgym.errors import ConfigurationError, TaskNotFound
from agentgym.tasks import SPLITS, Task, TaskSet, canonical_json

SIZES = {"train": 1000, "valid": 100, "test": 200}
"""Games of each split of a setting that is not bundled."""
KEPT_GAMES = 64
"""Most games to keep parsed in memory (0.1 to 1 MB each)."""
KEPT_TASKS = 1 << 14
NO_OBJECTIVE = "Find out what there is to do, and do it."
"""Goal of a game that tells none (``simple`` with ``goal="none"``)."""

PlanLength = Callable[[Game], "int | None"]


class GameSet(TaskSet):
    """Tasks that are games; remembers those in use, also between threads.

    Args:
        plan_length: Gives the length of the expert's plan from the start of a game; the default
            reads the plan that the game holds.
    """

    foreign: ClassVar[bool] = False
    """Whether games or story files come from elsewhere, so that anything can be in them."""

    def __init__(self, plan_length: PlanLength | None = None) -> None:
        self.plan_length = plan_length or stored_plan_length
        self._games: OrderedDict[tuple[str, int], Game] = OrderedDict()
        self._tasks: dict[tuple[str, int], Task] = {}
        self._turns: dict[tuple[str, int], int | None] = {}
        self._lock = threading.Lock()

    def task(self, split: str, index: int) -> Task:
        """Return task number ``index`` of ``split``; reads or generates its game."""
        self.check(split, index)
        place = (split, int(index))
        task = self._tasks.get(place)
        if task is None:
            game = self._game(place)
            content = {**self._content(place), "sha256": digest(game)}
            goal = str(game["objective"] or NO_OBJECTIVE)
            task = Task(self._id(place), split, place[1], goal, content)
            with self._lock:
                if len(self._tasks) >= KEPT_TASKS:
                    self._tasks.clear()
                self._tasks[place] = task
        return task

    def game(self, task: Task) -> Game:
        """Return the game of a task as JSON. It is shared: do not change it.

        Raises:
            DependencyNotInstalled: It must be generated, and ``textworld`` is missing.
        """
        return self._game((task.split, task.index))

    @abstractmethod
    def story(self, task: Task) -> Path:
        """Return the story file of a task, compiled when it is first asked for.

        Returns:
            Path of the ``.z8`` file; the game's plain ``.json`` lies beside it.

        Raises:
            EnvFailure: The compiler cannot run on this machine.
            DependencyNotInstalled: The package ``textworld`` is missing.
        """

    def plan(self, task: Task) -> tuple[str, ...] | None:
        """Return commands that win from the start, or None where the game holds none."""
        return plan(self.game(task))

    def oracle_turns(self, task: Task) -> int | None:
        """Return the length of the expert's plan from the start, remembered once it is known."""
        place = (task.split, task.index)
        if place not in self._turns:
            self._turns[place] = self.plan_length(self._game(place))
        return self._turns[place]

    def __getstate__(self) -> dict[str, Any]:
        """A task set travels without what it remembers."""
        state = dict(self.__dict__)
        for name in ("_games", "_tasks", "_turns", "_lock"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive with nothing remembered."""
        GameSet.__init__(self)
        self.__dict__.update(state)

    @abstractmethod
    def _id(self, place: tuple[str, int]) -> str:
        """Return the id of the task at a place."""

    @abstractmethod
    def _content(self, place: tuple[str, int]) -> dict[str, Any]:
        """Return what names the task's game."""

    @abstractmethod
    def _load(self, place: tuple[str, int]) -> Game:
        """Read or generate the game at a place."""

    def _game(self, place: tuple[str, int]) -> Game:
        with self._lock:
            game = self._games.get(place)
            if game is not None:
                self._games.move_to_end(place)
                return game
        game = self._load(place)
        with self._lock:
            game = self._games.setdefault(place, game)
            while len(self._games) > KEPT_GAMES:
                self._games.popitem(last=False)
        return game


class GameTasks(GameSet):
    """The games of one setting.

    Task ``index`` of a split has the seed ``first seed of the split + index`` (train 0, valid
    10**9, test 2 * 10**9), and its id reads ``textworld/<setting>/<seed>``. How the splits are kept
    apart is told in :mod:`agentgym.envs.textworld.splits`. A task's content holds the SHA-256 of
    its game, so that a panel notices any change, also of the installed ``textworld``; the price is
    that a panel generates its games, which whoever plays it needs anyway.

    Args:
        chosen: The setting, or its name.
        sizes: Number of games by split, or of the train split alone. The default is the bundled
            games for the bundled setting and :data:`SIZES` for others; neither depends on what is
            installed. Games beyond the bundled ones need ``textworld`` when they are first used.
        folder: Folder of the cache; the default is ``agentgym.caching.cache_folder()``.
        plan_length: Gives the length of the expert's plan for a game.

    Raises:
        ConfigurationError: A split is unknown or its size is out of range.
    """

    def __init__(
        self,
        chosen: Settings | str = DEFAULT,
        sizes: Mapping[str, int] | int | None = None,
        *,
        folder: Path | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        super().__init__(plan_length)
        self.settings = chosen if isinstance(chosen, Settings) else settings(chosen)
        self.name = f"textworld/{self.settings.key()}"
        self.store = GameStore(self.settings, folder)
        pack = bundled(self.settings.key())
        self._bundled = dict(pack.sizes) if pack else {}
        self._sizes = {**SIZES, **self._bundled, **_read_sizes(sizes)}

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        self.check(split)
        return self._sizes[split]

    def find(self, task_id: str) -> Task:
        """Return the task with this id."""
        name, _, tail = str(task_id).rpartition("/")
        place = None
        if name == self.name and tail.isascii() and tail.isdecimal() and len(tail) <= 10:
            place = place_of(int(tail)) if tail == str(int(tail)) else None
        if place is None or place[1] >= self._sizes[place[0]]:
            raise TaskNotFound(
                f"expected the id of a task of {self.name}, such as {self._id(('train', 0))}; got "
                f"{task_id!r}; make the environment with the setting that the id names, and large "
                "enough"
            )
        return self.task(*place)

    def story(self, task: Task) -> Path:
        """Return the story file of a task, compiled when it is first asked for."""
        return self.store.story(task.split, task.index, self.game(task))

    def _id(self, place: tuple[str, int]) -> str:
        return f"{self.name}/{seed_of(*place)}"

    def _content(self, place: tuple[str, int]) -> dict[str, Any]:
        return {"settings": self.settings.key(), "seed": seed_of(*place)}

    def _load(self, place: tuple[str, int]) -> Game:
        split, index = place
        pack = bundled(self.settings.key())
        if pack is not None and index < pack.sizes.get(split, 0):
            return pack.game(split, index)
        return self.store.game(split, index)


def stored_plan_length(game: Game) -> int | None:
    """Return the length of the plan that a game holds, or None where it holds none."""
    commands = plan(game)
    return None if commands is None else len(commands)


def digest(game: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a game's canonical JSON."""
    return hashlib.sha256(canonical_json(game).encode()).hexdigest()


def _read_sizes(sizes: Mapping[str, int] | int | None) -> dict[str, int]:
    """Check the sizes that a user gave."""
    given = sizes if isinstance(sizes, Mapping) else {} if sizes is None else {"train": sizes}
    for split, size in given.items():
        if split not in SPLITS or type(size) is not int or not 1 <= size <= MOST_GAMES:
            raise ConfigurationError(
                f"expected sizes of splits {', '.join(SPLITS)}, each from 1 to {MOST_GAMES}; got "
                f"{split}={size!r:.80}"
            )
    return dict(given)
