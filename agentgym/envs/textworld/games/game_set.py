"""A set of games as tasks: the common base of generated games and game files."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from agentgym.core.tasks import NumberedTasks, Task, canonical_json
from agentgym.envs.hesitation import hesitates
from agentgym.envs.textworld.generator.generate import Game, stored_plan
from agentgym.envs.textworld.record import Record

KEPT_GAMES = 128
"""Most games to keep in memory, read and compiled (0.1 to 1 MB each)."""
NO_OBJECTIVE = "Find out what there is to do, and do it."
"""Goal of a game that tells none (``simple`` with ``goal="none"``)."""

EXPERTS = ("oracle", "hesitant", "guessing")
"""Demonstrators: the game's winning policy; one that checks before each command; and, in games with
a cookbook, one that mostly guesses the recipe."""
FALLIBLE: Mapping[str, str] = {"guessing": "oracle"}
"""Experts that do not always win, each with the one that does."""

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

    has_cookbook: bool = False
    """Whether there is a cookbook in every game."""
    foreign: ClassVar[bool] = False
    """Whether games or story files come from elsewhere, so that anything can be in them."""

    def __init__(self, name: str, plan_length: PlanLength | None = None) -> None:
        length: PlanLength = plan_length or stored_plan_length
        super().__init__(name, plan_length=length, cache_size=KEPT_GAMES)
        self.expert = EXPERTS[0]

    def source(self, task: Task) -> Source:
        """Return the compiled form of a task's game. It is shared: do not change it."""
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
        if turns and self.expert == "guessing":
            return 1 + turns
        return 2 * turns if turns and self.hesitates(task) else turns

    @abstractmethod
    def story(self, task: Task) -> Path:
        """Return the story file of a task, compiled on first use.

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
        """Return the fields that identify a game, for the content of its task."""

    def _describe(self, split: str, number: int, problem: Source) -> tuple[str, Mapping[str, Any]]:
        content = GameContent(self, split, number)
        if self.foreign:  # The file may be another one when somebody asks.
            content["sha256"]
        texts = problem.other_keys if isinstance(problem, Record) else problem
        return str(texts["objective"] or NO_OBJECTIVE), content

    def sha256(self, split: str, number: int) -> str:
        """Return the hash of a game."""
        return digest(_json(self._fetch_problem(self._id(split, number), split, number)))


class GameContent(Mapping[str, Any]):
    """The content of a game's task: the fields that identify the game, and its ``sha256``.

    The hash takes as long as a reset, and only panels and snapshots ask for it: it is computed
    when it is read. A copy is a plain dict.

    Args:
        games: The set.
        split: Split of the game.
        number: Number of the game in its split.
    """

    __slots__ = ("_entries", "_games", "_number", "_split")

    def __init__(self, games: GameSet, split: str, number: int) -> None:
        self._games, self._split, self._number = games, split, number
        self._entries: dict[str, Any] = {**games._source(split, number), "sha256": None}

    def __getitem__(self, key: str) -> Any:
        """Return an entry."""
        if key == "sha256" and self._entries[key] is None:
            self._entries[key] = self._games.sha256(self._split, self._number)
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the entries."""
        return iter(self._entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        """Tell whether there is such an entry, without computing it."""
        return key in self._entries

    def __repr__(self) -> str:
        """Show all entries."""
        return repr(dict(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a plain dict."""
        return dict, (dict(self),)


def _json(source: Source) -> Game:
    return source.game if isinstance(source, Record) else source


def stored_plan_length(game: Game) -> int | None:
    """Return the length of the plan that a game holds, or None where it holds none."""
    commands = stored_plan(game)
    return None if commands is None else len(commands)


def digest(game: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a game's canonical JSON."""
    return hashlib.sha256(canonical_json(game).encode()).hexdigest()
