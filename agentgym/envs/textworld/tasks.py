"""The tasks of TextWorld: games of a difficulty in disjoint splits, or files of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.core.options import choice
from agentgym.core.tasks import SPLITS, Task, whole_number
from agentgym.envs.textworld.games.bundled import bundled
from agentgym.envs.textworld.games.files import Files, FileTasks
from agentgym.envs.textworld.games.game_set import GameSet, PlanLength, Source
from agentgym.envs.textworld.games.store import GameStore
from agentgym.envs.textworld.generator.config import CHALLENGES, DEFAULT, Cooking, GeneratorConfig
from agentgym.envs.textworld.generator.splits import MAX_GAMES, place_of, seed_of
from agentgym.errors import ConfigurationError

SIZES = {"train": 1000, "valid": 100, "test": 200}
"""Games of each split of a difficulty that is not bundled."""
FILES_HORIZON = 50
"""Turn budget of games from files."""


class GameTasks(GameSet):
    """The games of one difficulty, or of a challenge with its parameters.

    Task ``index`` of a split has the seed ``first seed of the split + index`` (train 0, valid
    10**9, test 2 * 10**9), and its id reads ``textworld/<difficulty>/<seed>``. How the splits are
    kept disjoint is described in :mod:`agentgym.envs.textworld.generator.splits`. A task's content
    holds the SHA-256 of its game, so that a panel notices any change, also of the installed
    ``textworld``; the price is that a panel generates its games, which playing it requires anyway.

    Args:
        config: The configuration of the generator, or its name.
        sizes: Number of games by split, or of the train split alone. The default is the bundled
            games for the bundled ones and :data:`SIZES` for others; neither depends on what is
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
        self.has_cookbook = isinstance(self.config, Cooking)
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
        """Return the story file of a task, compiled on first use."""
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


def _read_sizes(sizes: Mapping[str, int] | int | None) -> dict[str, int]:
    """Check the sizes that a user gave."""
    requested = sizes if isinstance(sizes, Mapping) else {} if sizes is None else {"train": sizes}
    for split, size in requested.items():
        if split not in SPLITS or type(size) is not int or not 1 <= size <= MAX_GAMES:
            raise ConfigurationError(
                f"expected sizes of splits {', '.join(SPLITS)}, each from 1 to {MAX_GAMES}; got "
                f"{split}={size!r:.80}"
            )
    return dict(requested)


def open_tasks(
    difficulty: str | GeneratorConfig | None,
    challenge: str | None,
    games: Mapping[str, int] | int | None,
    data: Files | Mapping[str, Files] | None,
    parameters: Mapping[str, Any],
    *,
    native: bool,
) -> tuple[GameSet, int]:
    """Return the games of a difficulty, or of files, and the turn budget that suits them."""
    named = {"difficulty": difficulty, "challenge": challenge, "data": data}
    sources = [f"{name}={value!r}" for name, value in named.items() if value is not None]
    if len(sources) > 1:
        raise ConfigurationError(
            f"expected one of {', '.join(named)}, got {' and '.join(sources)}; a "
            "difficulty already says its challenge, and files have none"
        )
    if data is None:
        setting = DEFAULT if difficulty is None else difficulty
        if challenge is not None:
            setting = choice(challenge, "challenge", CHALLENGES)
        if not isinstance(setting, str | GeneratorConfig):
            raise ConfigurationError(
                f"expected the name of a TextWorld difficulty, got {setting!r:.80}"
            )
        config = GeneratorConfig.of(setting, **parameters)
        return GameTasks(config, games), config.horizon
    if parameters or games is not None:
        raise ConfigurationError(
            f"expected no parameters with data=, got "
            f"{', '.join([*parameters, 'games'][:3])}; the files are what they are"
        )
    return FileTasks(data, native=native), FILES_HORIZON
