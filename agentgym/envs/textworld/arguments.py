"""What a TextWorld environment is made with: which tasks, and arguments that are what they say."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from agentgym.envs.textworld.generator.settings import (
    CHALLENGES,
    DEFAULT,
    REFUSED,
    SHORT,
    Settings,
    settings,
)
from agentgym.envs.textworld.tasks import GameSet, GameTasks
from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from agentgym.envs.textworld.games.files import Source

FILES_HORIZON = 50
"""Turn budget of games from files."""

KNOBS = frozenset(
    (*SHORT, *REFUSED, *(knob.name for kind in CHALLENGES.values() for knob in fields(kind)))
)
"""Names that are knobs of some challenge, or would be in ``tw-make``."""


def flag(value: Any, name: str) -> bool:
    """Validate a truth value.

    Raises:
        ConfigurationError: It is none.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"expected {name} to be True or False, got {value!r:.80}")
    return value


def check_knobs(knobs: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Refuse names that are neither knobs of a challenge nor arguments of the environment.

    Args:
        knobs: What was taken for knobs.
        others: The arguments of the environment.

    Raises:
        ConfigurationError: There is such a name; lists those that exist.
    """
    for name in knobs:
        if name not in KNOBS:
            near = difflib.get_close_matches(name, [*others, *sorted(KNOBS)], n=1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigurationError(
                f"expected arguments of TextWorldEnv among {', '.join(others)}, or knobs of a "
                f"challenge among {', '.join(sorted(KNOBS - REFUSED.keys()))}; got {name!r}{guess}"
            )


def task_set(
    setting: str | Settings | None,
    challenge: str | None,
    games: Mapping[str, int] | int | None,
    game_files: Source | Mapping[str, Source] | None,
    knobs: Mapping[str, Any],
    *,
    native: bool,
) -> tuple[GameSet, int]:
    """Choose the task set, and the turn budget that suits it.

    Args:
        setting: A setting, or its name.
        challenge: A challenge, in place of a setting.
        games: Number of games by split.
        game_files: Game files, in place of a setting.
        knobs: Knobs of the challenge.
        native: Whether the native engine will play.

    Returns:
        The tasks and the turn budget.

    Raises:
        ConfigurationError: The arguments contradict each other, or one is wrong.
        DataError: A game file cannot be played.
    """
    named = {"setting": setting, "challenge": challenge, "game_files": game_files}
    given = [f"{name}={value!r}" for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise ConfigurationError(
            f"expected one of {', '.join(named)}, got {' and '.join(given)}; a named setting "
            "already says its challenge, and files have none"
        )
    if game_files is None:
        name = DEFAULT if not given else setting if challenge is None else challenge
        if not isinstance(name, str | Settings):
            raise ConfigurationError(f"expected the name of a TextWorld setting, got {name!r:.80}")
        chosen = settings(name, **knobs)
        return GameTasks(chosen, games), chosen.horizon
    if knobs or games is not None:
        raise ConfigurationError(
            f"expected no knobs with game_files, got {', '.join([*knobs, 'games'][:3])}; the files "
            "are what they are"
        )
    from agentgym.envs.textworld.games.files import FileTasks

    return FileTasks(game_files, native=native), FILES_HORIZON
