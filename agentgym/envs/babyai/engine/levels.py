"""List and open the levels of minigrid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium

from agentgym.errors import ConfigurationError, require
from agentgym.support.guesses import with_guesses

PREFIX = "BabyAI-"
DIFFICULTIES: Mapping[str, tuple[str, ...]] = {
    "easy": ("PutNextS4N1", "PutNextLocalS5N3"),
    "medium": (
        "GoToObj", "OpenRedBlueDoors", "OpenTwoDoors", "PutNextS4N1", "PutNextLocalS5N3",
        "PutNextLocalS6N4", "PutNextLocal", "UnlockLocal", "UnlockPickup", "KeyCorridorS3R1",
    ),
    "hard": ("GoToSeqS5R2", "FindObjS5", "KeyCorridorS3R2", "BlockedUnlockPickup"),
}  # fmt: skip
"""Named choices of levels: one or two rooms, ten levels of up to three rooms, and rooms to search.

Few have a single object or door as their goal, since a random walk soon reaches it.
"""


def known_levels() -> list[str]:
    """Return the names of all levels.

    Raises:
        DependencyNotInstalled: minigrid is missing.
    """
    require("minigrid", "babyai")
    return [_short(name) for name in gymnasium.registry if name.startswith(PREFIX)]


def check_levels(levels: str | Sequence[str]) -> tuple[str, ...]:
    """Return the levels with these names, which omit ``BabyAI-`` and the version.

    Raises:
        ConfigurationError: A level does not exist, or no name is given.
        DependencyNotInstalled: minigrid is missing.
    """
    all_levels = known_levels()
    entries = [levels] if isinstance(levels, str) else levels
    listed = isinstance(entries, Sequence) and all(isinstance(name, str) for name in entries)
    if not listed or not entries:
        raise ConfigurationError(f"expected the names of levels of BabyAI, got {levels!r:.80}")
    names = tuple(_short(name) for name in entries)
    unknown = [name for name in names if name not in all_levels]
    if unknown:
        raise ConfigurationError(
            f"expected levels of BabyAI such as {', '.join(DIFFICULTIES['easy'])}; got "
            f"{with_guesses(unknown[:3], all_levels)}"
        )
    return names


def open_level(level: str, seed: int) -> Any:
    """Return the environment of a level, reset with a seed; its steps return no observation."""
    require("minigrid", "babyai")
    # What it prints while it draws a level would get between the lines of a program.
    vars(require("minigrid.envs.babyai.core.roomgrid_level", "babyai"))["print"] = _silent
    (name,) = (env_id for env_id in gymnasium.registry if _short(env_id) == level)
    env: Any = gymnasium.make(name, disable_env_checker=True).unwrapped
    env.reset(seed=seed)
    env.gen_obs = dict  # of the image that a step would make nothing is read
    return env


def _short(name: str) -> str:
    return name.removeprefix(PREFIX).rsplit("-v", 1)[0]


def _silent(*values: object) -> None:
    """Print nothing."""
