"""One generated game, from its config, seed, split and number."""

from __future__ import annotations

from functools import cache

from agentgym.envs.alfworld.engine.household import Game
from agentgym.envs.alfworld.generator.config import GeneratorConfig
from agentgym.envs.alfworld.generator.named_draws import NamedDraws
from agentgym.envs.alfworld.generator.object_tables import TASK_ROOMS
from agentgym.envs.alfworld.generator.problem import problem, sentence
from agentgym.envs.alfworld.generator.room_layout import RoomLayout, furnish
from agentgym.envs.alfworld.generator.rooms import SPLIT_ROOMS, kind_of, room, room_numbers
from agentgym.errors import ConfigurationError, TaskNotFound

GENERATOR_VERSION = 1
"""Raise it when the same config, seed, split and number would give another game."""


def set_name(config: GeneratorConfig, seed: int = 0) -> str:
    """Return the name of a set of generated games, which begins the ids of its games."""
    return f"alfworld/{config.key}" + (f"-seed{seed}" if seed else "")


def generate(config: GeneratorConfig, split: str, number: int, seed: int = 0) -> Game:
    """Make one household game.

    The same arguments give the same game on every machine and version of Python.

    Args:
        config: Size and difficulty.
        split: ``train``, ``valid_seen`` or ``valid_unseen``.
        number: Number of the game within its split, from 0; there is no last one.
        seed: Names a set of games; sets with other seeds have other games in the same rooms.

    Returns:
        The game, which can be won and is not yet won.

    Raises:
        TaskNotFound: There is no such split or the number is negative.
        ConfigurationError: No room of the split fits the config.
    """
    if split not in SPLIT_ROOMS or number < 0:
        raise TaskNotFound(
            f"expected a split of generated games ({', '.join(SPLIT_ROOMS)}) and a number from 0; "
            f"got {split!r} and {number}"
        )
    values = config.text()
    stream = NamedDraws(f"agentgym alfworld {GENERATOR_VERSION} {values} {seed} {split} {number}")
    layout = _layout(stream, config, split, config.task_types[number % len(config.task_types)])
    return Game(
        id=f"{set_name(config, seed)}/{split}/{number}",
        task_type=layout.task_type,
        scene=layout.room.name,
        goal=sentence(stream, layout),
        problem=problem(stream, layout),
    )


def _layout(stream: NamedDraws, config: GeneratorConfig, split: str, task_type: str) -> RoomLayout:
    """Furnish the first room, in random order, that has such a task."""
    for number in stream.shuffled(_candidates(split, task_type, tuple(config.rooms))):
        layout = furnish(stream, room(number), task_type, config)
        if layout is not None:
            return layout
    raise ConfigurationError(
        f"expected a room of {split} for task type {task_type!r} with hidden={config.hidden} in "
        f"{', '.join(config.rooms)}, but there is none; use hidden=None or more kinds of rooms"
    )


@cache
def _candidates(split: str, task_type: str, kinds: tuple[str, ...]) -> tuple[int, ...]:
    fitting = TASK_ROOMS[task_type].intersection(kinds)
    return tuple(number for number in room_numbers(split) if kind_of(number) in fitting)
