"""The tasks of TextWorld: the games of a setting in disjoint splits, or game files of one's own."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from agentgym.core.options import choice
from agentgym.core.tasks import SPLITS, NumberedTasks, Task, canonical_json, whole_number
from agentgym.envs.hesitation import hesitates
from agentgym.envs.textworld.games.bundled import bundled
from agentgym.envs.textworld.games.store import GameStore
from agentgym.envs.textworld.generator.config import CHALLENGES, DEFAULT, GeneratorConfig
from agentgym.envs.textworld.generator.generate import Game, stored_plan
from agentgym.envs.textworld.generator.splits import MAX_GAMES, place_of, seed_of
from agentgym.envs.textworld.record import Record
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from agentgym.envs.textworld.games.files import Source as Files

SIZES = {"train": 1000, "valid": 100, "test": 200}
"""Games of each split of a setting that is not bundled."""
KEPT_GAMES = 128
"""Most games to keep in memory, read and compiled (0.1 to 1 MB each)."""
FILES_HORIZON = 50
"""Turn budget of games from files."""
NO_OBJECTIVE = "Find out what there is to do, and do it."
"""Goal of a game that tells none (``simple`` with ``goal="none"``)."""

EXPERTS = ("oracle", "hesitant")
"""Who may demonstrate: the game's own winning policy, or who makes sure before each command."""

Source = Game | Record
"""A game as it is read: in brief if it is bundled, else as JSON."""

PlanLength = Callable[[Any], "int | None"]
"""Gives the length of the expert's plan from the start of a game, given as JSON."""


class GameSet(NumberedTasks[Source]):
    """Tasks that are games; ``problem(task)`` is the JSON of a task's game.

    Args:
        name: Name of the set, which begins every id.
        plan_length: Gives the length of the expert's plan; the default reads the plan that the game
            holds.

    Attributes:
        expert: Whose turns :meth:`oracle_turns` counts, one of :data:`EXPERTS`.
    """

    foreign: ClassVar[bool] = False
    """Whether games or story files come from elsewhere, so that anything can be in them."""

    def __init__(self, name: str, plan_length: PlanLength | None = None) -> None:
        length: PlanLength = plan_length or stored_plan_length
        super().__init__(name, plan_length=length, kept=KEPT_GAMES)
        self.expert = EXPERTS[0]

    def source(self, task: Task) -> Source:
        """Return what the native engine makes of a task's game. It is shared: do not change it."""
        return super().problem(task)

    def problem(self, task: Task) -> Game:
        """Return the JSON of a task's game. It is shared: do not change it."""
        return _json(self.source(task))

    def hesitates(self, task: Task) -> bool:
        """Return whether the expert makes sure before each of its commands."""
        return self.expert == "hesitant" and hesitates(task.id)

    def oracle_turns(self, task: Task) -> int | None:
        """Return the number of turns that the expert needs from the start; None if unknown."""
        turns = super().oracle_turns(task)
        return 2 * turns if turns and self.hesitates(task) else turns

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
        return stored_plan(self.problem(task))

    @abstractmethod
    def _source(self, split: str, number: int) -> dict[str, Any]:
        """Return what names a game, for the content of its task."""

    def _describe(self, split: str, number: int, problem: Source) -> tuple[str, Mapping[str, Any]]:
        content = GameContent(self._source(split, number), partial(self._digest, split, number))
        if self.foreign:  # The file may be another one when somebody asks.
            content["sha256"]
        texts = problem.rest if isinstance(problem, Record) else problem
        return str(texts["objective"] or NO_OBJECTIVE), content

    def _digest(self, split: str, number: int) -> str:
        return digest(_json(self._kept(self._id(split, number), split, number)))


class GameContent(Mapping[str, Any]):
    """The content of a game's task: what names the game, and its ``sha256``.

    The hash takes as long as a reset, and only panels and snapshots ask for it: it is computed
    when it is read. A copy is a plain dict.

    Args:
        source: What names the game.
        sha256: Computes the hash.
    """

    __slots__ = ("_known", "_sha256")

    def __init__(self, source: Mapping[str, Any], sha256: Callable[[], str]) -> None:
        self._known: dict[str, Any] = {**source, "sha256": None}
        self._sha256 = sha256

    def __getitem__(self, key: str) -> Any:
        """Return an entry."""
        if key == "sha256" and self._known[key] is None:
            self._known[key] = self._sha256()
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the entries."""
        return iter(self._known)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._known)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such an entry, without computing it."""
        return key in self._known

    def __repr__(self) -> str:
        """Show all entries."""
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as what it holds."""
        return dict, (dict(self),)


class GameTasks(GameSet):
    """The games of one setting.

    Task ``index`` of a split has the seed ``first seed of the split + index`` (train 0, valid
    10**9, test 2 * 10**9), and its id reads ``textworld/<setting>/<seed>``. How the splits are kept
    apart is told in :mod:`agentgym.envs.textworld.generator.splits`. A task's content holds the
    SHA-256 of its game, so that a panel notices any change, also of the installed ``textworld``;
    the price is that a panel generates its games, which whoever plays it needs anyway.

    Args:
        config: The configuration of the generator, or its name.
        sizes: Number of games by split, or of the train split alone. The default is the bundled
            games for the bundled setting and :data:`SIZES` for others; neither depends on what is
            installed. Games beyond the bundled ones need ``textworld`` when they are first used.
        folder: Folder of the cache; the default is ``agentgym.support.caching.cache_folder()``.
        plan_length: Gives the length of the expert's plan for a game.

    Raises:
        ConfigurationError: A split is unknown or its size is out of range.
    """

    remedy = "make the environment with the difficulty that the id names, and large enough"

    def __init__(
        self,
        config: GeneratorConfig | str = DEFAULT,
        sizes: Mapping[str, int] | int | None = None,
        *,
        folder: Path | None = None,
        plan_length: PlanLength | None = None,
    ) -> None:
        self.config = GeneratorConfig.of(config)
        self._key = self.config.key()
        super().__init__(f"textworld/{self._key}", plan_length)
        self.store = GameStore(self.config, folder)
        pack = bundled(self._key)
        self._sizes = {**SIZES, **(pack.sizes if pack else {}), **_read_sizes(sizes)}

    def len(self, split: str) -> int:
        """Return the number of tasks in ``split``."""
        self.check(split)
        return self._sizes[split]

    def story(self, task: Task) -> Path:
        """Return the story file of a task, compiled when it is first asked for."""
        return self.store.story(task.split, task.index, self.problem(task))

    def _id(self, split: str, number: int) -> str:
        return f"{self.name}/{seed_of(split, number)}"

    def _place(self, task_id: str) -> tuple[str, int] | None:
        name, _, tail = task_id.rpartition("/")
        seed = whole_number(tail)
        place = None if name != self.name or seed is None else place_of(seed)
        return place if place and place[1] < self._sizes[place[0]] else None

    def _source(self, split: str, number: int) -> dict[str, Any]:
        return {"settings": self._key, "seed": seed_of(split, number)}

    def _problem(self, split: str, number: int) -> Source:
        pack = bundled(self._key)
        if pack is not None and number < pack.sizes.get(split, 0):
            return pack.record(split, number)
        return self.store.game(split, number)


def _json(source: Source) -> Game:
    return source.game if isinstance(source, Record) else source


def stored_plan_length(game: Game) -> int | None:
    """Return the length of the plan that a game holds, or None where it holds none."""
    commands = stored_plan(game)
    return None if commands is None else len(commands)


def digest(game: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a game's canonical JSON."""
    return hashlib.sha256(canonical_json(game).encode()).hexdigest()


def _read_sizes(sizes: Mapping[str, int] | int | None) -> dict[str, int]:
    """Check the sizes that a user gave."""
    given = sizes if isinstance(sizes, Mapping) else {} if sizes is None else {"train": sizes}
    for split, size in given.items():
        if split not in SPLITS or type(size) is not int or not 1 <= size <= MAX_GAMES:
            raise ConfigurationError(
                f"expected sizes of splits {', '.join(SPLITS)}, each from 1 to {MAX_GAMES}; got "
                f"{split}={size!r:.80}"
            )
    return dict(given)


def open_tasks(
    difficulty: str | GeneratorConfig | None,
    challenge: str | None,
    games: Mapping[str, int] | int | None,
    data: Files | Mapping[str, Files] | None,
    parameters: Mapping[str, Any],
    *,
    native: bool,
) -> tuple[GameSet, int]:
    """Return the games of a setting, or of files, and the turn budget that suits them."""
    named = {"difficulty": difficulty, "challenge": challenge, "data": data}
    given = [f"{name}={value!r}" for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ConfigurationError(
            f"expected one of {', '.join(named)}, got {' and '.join(given)}; a "
            "difficulty already says its challenge, and files have none"
        )
    if data is None:
        chosen = DEFAULT if difficulty is None else difficulty
        if challenge is not None:
            chosen = choice(challenge, "challenge", CHALLENGES)
        if not isinstance(chosen, str | GeneratorConfig):
            raise ConfigurationError(
                f"expected the name of a TextWorld difficulty, got {chosen!r:.80}"
            )
        config = GeneratorConfig.of(chosen, **parameters)
        return GameTasks(config, games), config.horizon
    if parameters or games is not None:
        raise ConfigurationError(
            f"expected no parameters with data=, got "
            f"{', '.join([*parameters, 'games'][:3])}; the files are what they are"
        )
    # Imported here, as it reads the engine as well, which a setting may do without.
    from agentgym.envs.textworld.games.files import FileTasks

    return FileTasks(data, native=native), FILES_HORIZON
