"""One household from its place: knobs, seed, split and number."""

from __future__ import annotations

from functools import cache

from agentgym.envs.alfworld.engine.game import Game
from agentgym.envs.alfworld.generator.config import Knobs
from agentgym.envs.alfworld.generator.draw import Draw
from agentgym.envs.alfworld.generator.layout import Layout, furnish
from agentgym.envs.alfworld.generator.problem import problem, sentence
from agentgym.envs.alfworld.generator.rooms import SPLIT_ROOMS, kind_of, numbers, room
from agentgym.envs.alfworld.generator.tables import TASK_ROOMS
from agentgym.errors import ConfigurationError, TaskNotFound

GENERATOR_VERSION = 1
"""Raise it when the same knobs, seed, split and number would give another game."""


def set_name(knobs: Knobs, seed: int = 0) -> str:
    """Return the name of a set of generated games, which begins the ids of its games."""
    return f"alfworld/{knobs.key}" + (f"-seed{seed}" if seed else "")


def generate(knobs: Knobs, split: str, number: int, seed: int = 0) -> Game:
    """Make one household game.

    The same arguments give the same game on every machine and version of Python.

    Args:
        knobs: Size and difficulty.
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        number: Number of the game within its split, from 0; there is no last one.
        seed: Names a set of games; sets with other seeds have other games in the same rooms.

    Returns:
        The game, which can be won and is not yet won.

    Raises:
        TaskNotFound: There is no such split or the number is negative.
        ConfigurationError: No room of the split fits the knobs.
    """
    if split not in SPLIT_ROOMS or number < 0:
        raise TaskNotFound(
            f"expected a split of generated games ({', '.join(SPLIT_ROOMS)}) and a number from 0; "
            f"got {split!r} and {number}"
        )
    values = knobs.text()
    draw = Draw(f"agentgym alfworld {GENERATOR_VERSION} {values} {seed} {split} {number}")
    layout = _layout(draw, knobs, split, knobs.task_types[number % len(knobs.task_types)])
    return Game(
        id=f"{set_name(knobs, seed)}/{split}/{number}",
        task_type=layout.task_type,
        scene=layout.room.name,
        goal=sentence(draw, layout),
        problem=problem(draw, layout),
    )


def _layout(draw: Draw, knobs: Knobs, split: str, task_type: str) -> Layout:
    """Furnish the first room, in random order, that has such a task."""
    for number in draw.shuffled(_candidates(split, task_type, tuple(knobs.rooms))):
        layout = furnish(draw, room(number), task_type, knobs)
        if layout is not None:
            return layout
    raise ConfigurationError(
        f"expected a room of {split} for task type {task_type!r} with hidden={knobs.hidden} in "
        f"{', '.join(knobs.rooms)}, but there is none; use hidden=None or more kinds of rooms"
    )


@cache
def _candidates(split: str, task_type: str, kinds: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(
        n for n in numbers(split) if kind_of(n) in kinds and kind_of(n) in TASK_ROOMS[task_type]
    )
