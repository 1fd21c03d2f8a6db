"""Parts of a run by name: built-in ones, and the user's own as ``MODULE:NAME``."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from agentgym.core.options import find_own, import_own, integer
from agentgym.errors import ConfigurationError
from agentgym.policies.identity import source_sha256
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.algorithms.sampling import SAMPLERS, SamplerMaker, TaskSampler, TaskStats
from trainers.algorithms.schedule import Schedule

__all__ = [
    "OwnSchedule",
    "file_hashes",
    "find_preset",
    "find_sampler",
    "find_schedule",
    "is_own",
    "sources",
]


@runtime_checkable
class OwnSchedule(Schedule, Protocol):
    """A user's schedule of turns: a `Schedule` that lists its values.

    Checkpoints store the result of ``state_dict``. A schedule that waits for success is a subclass
    of `trainers.algorithms.schedule.Gated`.
    """

    rounds: tuple[int, ...]
    """All numbers of turns that it may return."""


def is_own(name: str) -> bool:
    """Return whether a name is ``MODULE:NAME`` rather than a built-in part."""
    return ":" in name


def find_preset(name: str) -> Preset:
    """Return a preset; a user's preset is called ``MODULE:NAME``.

    Raises:
        ConfigurationError: There is no such part.
    """
    if not is_own(name):
        return get_preset(name)
    description = "a trainers.algorithms.preset.Preset"
    preset = import_own(
        name, "--preset MODULE:NAME", description, lambda part: isinstance(part, Preset)
    )
    return replace(preset, name=name)


def find_sampler(name: str) -> SamplerMaker:
    """Return a function that makes the sampler from a number of tasks and a seed.

    Raises:
        ConfigurationError: There is no such part.
    """
    if name in SAMPLERS:
        return SAMPLERS[name]
    form = f"--rl.sampler of {', '.join(SAMPLERS)} or MODULE:NAME"
    description = "a class or function of (n_tasks, seed) that makes a task sampler"
    maker = import_own(name, form, description, callable)

    def make(n_tasks: int, seed: int) -> TaskSampler:
        """Make a sampler, and check the first task that it draws."""
        try:
            sampler: TaskSampler = maker(n_tasks, seed)
            integer(next(iter(sampler(1, TaskStats.empty(n_tasks)))), "a task", 0, n_tasks - 1)
        except Exception as error:
            raise ConfigurationError(
                f"expected {form} with {description}, which yields numbers of tasks for a (step, "
                f"stats), got {name!r}: {type(error).__name__}: {error}"
            ) from error
        return sampler

    return make


def find_schedule(name: str) -> OwnSchedule:
    """Return a copy of the user's schedule ``MODULE:NAME``.

    Raises:
        ConfigurationError: There is no such schedule.
    """
    description = (
        "a schedule of turns such as a trainers.algorithms.schedule.Stages: an object with rounds, "
        "which holds all its values, __call__(step) and stage(step)"
    )
    original: Any = import_own(name, "--horizon MODULE:NAME", description, _is_schedule)
    schedule: OwnSchedule = copy.deepcopy(original)
    return schedule


def _is_schedule(candidate: object) -> bool:
    """Return whether an object is a schedule of numbers of turns."""
    if isinstance(candidate, type) or not isinstance(candidate, OwnSchedule):
        return False
    rounds = candidate.rounds
    turns = isinstance(rounds, tuple) and all(
        isinstance(number, int) and number > 0 for number in rounds
    )
    return turns and candidate(1) in rounds


def file_hashes(files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file; folders and missing files are left out."""
    hashes = {}
    for path in files:
        if path.is_file():
            digest = hashlib.sha256()
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            hashes[str(path)] = digest.hexdigest()
    return hashes


def sources(names: Iterable[str]) -> dict[str, str]:
    """Return the hash of the source code of each ``MODULE:NAME`` among some names."""
    return {name: source_sha256(find_own(name, name)[0]) for name in names if is_own(name)}
