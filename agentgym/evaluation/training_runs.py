"""Read the held-out episodes of trained policies from run folders."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from agentgym.episodes import read_episodes
from agentgym.episodes.run_layout import (
    CONFIG_FILE,
    EVALUATED,
    GREEDY,
    RESOLVED,
    SEEDS_FILE,
    TRAINED,
)
from agentgym.errors import ConfigurationError, DataError
from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.support.nested import flat
from agentgym.support.structured_files import read_structured

POLICIES = (TRAINED, f"{TRAINED}{GREEDY}")
"""Names of the compared policies' files: with sampled actions, and with greedy decoding."""
SEED = "seed"
"""The only setting in which the runs of a training may differ."""
BESIDE = (
    SEED, "quick", "report_to", "export", "push_to_hub", "hub_private", "backend", "workers",
    "step_timeout", "health", "memory", "rollout", "vllm",
)  # fmt: skip
"""Settings and sections that do not affect the results, only where and how a run is executed."""
NUMBER = re.compile(r"\d+$")
"""The part of a folder's name that differs between seeds."""


@dataclass(frozen=True)
class HeldOutEpisodes:
    """The held-out episodes of a policy in an environment."""

    env_id: str
    """The environment."""
    panel_sha256: str
    """Hash of the content of the tasks."""
    results: Mapping[str, EpisodeResult]
    """Task id -> result; broken episodes are left out."""


@dataclass(frozen=True)
class TrainingRun:
    """A run of the trainer."""

    path: Path
    """Its folder."""
    seed: int
    """Its seed."""
    settings: Mapping[str, Any]
    """Resolved settings by dotted name, such as ``rl.beta``, without those in `BESIDE`."""
    policies: Mapping[str, Mapping[str, HeldOutEpisodes]]
    """One of `POLICIES` -> name of the environment (empty if there is only one) -> episodes."""


@dataclass(frozen=True)
class Training:
    """One training, over one seed or several."""

    name: str
    """The folder or pattern on the command line."""
    runs: tuple[TrainingRun, ...]
    """Its runs, at least one, in the order of their seeds."""

    @property
    def by_seed(self) -> dict[int, TrainingRun]:
        """The runs by seed."""
        return {run.seed: run for run in self.runs}


def is_run(path: Path) -> bool:
    """Return whether a folder contains a run, or a training over several seeds."""
    return any((path / name).exists() for name in (CONFIG_FILE, EVALUATED, SEEDS_FILE))


def matching_paths(pattern: str | Path) -> list[Path]:
    """Return the paths that match a pattern such as ``runs/a-seed*``, by number and by name.

    Raises:
        ConfigurationError: No path matches.
    """
    if not glob.has_magic(str(pattern)) or Path(pattern).exists():
        return [Path(pattern)]
    paths = sorted(map(Path, glob.glob(str(pattern))), key=_natural)
    if not paths:
        raise ConfigurationError(
            f"expected folders that match {str(pattern)!r}, got none; agentgym compare takes "
            "patterns in quotes, relative to the working directory"
        )
    return paths


def two_trainings(patterns: Sequence[str | Path]) -> tuple[Training, Training]:
    """Read the two trainings that folders or patterns name.

    Args:
        patterns: One folder or pattern for each training; or the folders of both, as a shell
            expands patterns, which are told apart by their names without the seed at their end.

    Raises:
        ConfigurationError: There are not exactly two trainings, or a run belongs to both.
        DataError: A run cannot be read.
    """
    matches = [matching_paths(pattern) for pattern in patterns]
    names = [str(pattern) for pattern in patterns]
    if len(patterns) != 2:
        by_name: dict[str, list[Path]] = {}
        paths = [path for match in matches for path in match if path.is_dir() or not path.exists()]
        for path in paths:
            name = str(path) if len(paths) == 2 else NUMBER.sub("*", str(path))
            by_name.setdefault(name, []).append(path)
        names, matches = list(by_name), list(by_name.values())
    if len(names) != 2:
        raise ConfigurationError(
            f"expected two trainings, got {len(names)} ({', '.join(names)[:300]}): name one folder "
            "or one pattern for each, such as agentgym compare 'runs/a-seed*' 'runs/b-seed*'"
        )
    first, second = (read_training(name, paths) for name, paths in zip(names, matches, strict=True))
    places = [{run.path.resolve() for run in training.runs} for training in (first, second)]
    if shared := places[0] & places[1]:
        raise ConfigurationError(
            f"expected two different trainings, got {min(shared)} in both of them"
        )
    return first, second


def read_training(name: str, paths: Iterable[Path]) -> Training:
    """Read the runs of one training.

    Args:
        name: Name of the training.
        paths: Folders of runs, or of trainings over several seeds; files among them are skipped,
            because the runs of several seeds have logs beside them.

    Raises:
        ConfigurationError: There is no run, two have the same seed, or they differ in more than
            their seed.
        DataError: A run cannot be read.
    """
    folders = [path for path in paths if path.is_dir() or not path.exists()]
    runs = sorted(
        (read_run(place) for folder in folders for place in _runs_of(folder)),
        key=lambda run: run.seed,
    )
    if not runs:
        raise ConfigurationError(f"expected the folder of a run of agentgym train, got {name}")
    for old_run, new_run in pairwise(runs):
        if old_run.seed == new_run.seed:
            raise ConfigurationError(
                f"expected one run for each seed in {name}, got {old_run.path} and {new_run.path}, "
                f"both with seed {new_run.seed}: name folders that hold each seed once"
            )
        if changes := differing_settings(old_run, new_run):
            setting, values = next(iter(changes.items()))
            raise ConfigurationError(
                f"expected the runs in {name} to differ only in their seed, got {old_run.path} and "
                f"{new_run.path} with {setting} {values[0]!r:.60} and {values[1]!r:.60}: name them "
                "separately"
            )
    return Training(name, tuple(runs))


def differing_settings(first: TrainingRun, second: TrainingRun) -> dict[str, tuple[Any, Any]]:
    """Return the settings in which two runs differ, with both values.

    Differing parts of presets are listed only if the presets have the same name.
    """
    names = {**first.settings, **second.settings}
    changes = {
        name: (first.settings.get(name), second.settings.get(name))
        for name in names
        if first.settings.get(name) != second.settings.get(name)
    }
    if "preset" in changes:
        changes = {name: value for name, value in changes.items() if not _of_preset(name)}
    return changes


def read_run(path: Path) -> TrainingRun:
    """Read a run.

    Raises:
        ConfigurationError: The run has no trained policy yet.
        DataError: The run cannot be read.
    """
    settings = _settings(path / CONFIG_FILE)
    policies = {
        policy: {
            "" if file.parent == path / EVALUATED else file.parent.name: _held_out(file)
            for file in sorted((path / EVALUATED).rglob(f"{policy}.jsonl"))
        }
        for policy in POLICIES
    }
    if not policies[TRAINED]:
        raise ConfigurationError(
            f"expected a run that has ended, but {path} holds no held-out episodes of its trained "
            f"policy ({EVALUATED}/{TRAINED}.jsonl): agentgym train --resume --out {path} completes "
            "it"
        )
    seed = settings.get(SEED)
    if not isinstance(seed, int):
        raise DataError(f"expected {path / CONFIG_FILE} to name the seed, got {seed!r:.60}")
    relevant = {name: value for name, value in settings.items() if name.split(".")[0] not in BESIDE}
    return TrainingRun(
        path, seed, relevant, {name: held_out for name, held_out in policies.items() if held_out}
    )


def _runs_of(path: Path) -> list[Path]:
    """Return the folder of a run, or the folders of a training's runs over several seeds."""
    if (path / SEEDS_FILE).exists():
        return sorted((file.parent for file in path.glob(f"*/{CONFIG_FILE}")), key=_natural)
    return [path]


def _held_out(file: Path) -> HeldOutEpisodes:
    """Read the episodes of a policy."""
    episodes = list(read_episodes(file))
    kinds = {(episode.env_id, episode.panel_sha256) for episode in episodes}
    if len(kinds) != 1:
        raise DataError(f"expected {file} to hold episodes of one panel, got {len(kinds)}")
    ((env_id, panel),) = kinds
    rows = map(EpisodeResult.of, episodes)
    return HeldOutEpisodes(env_id, panel, {row.task_id: row for row in rows if row.valid})


def _settings(file: Path) -> dict[str, Any]:
    """Read the resolved settings of a run, by dotted names such as ``rl.beta``."""
    content = read_structured(file, "the settings of a run of agentgym train")
    if not isinstance(content, Mapping):
        raise DataError(f"expected {file} to hold the settings of a run, got {content!r:.60}")
    decided = content.get(RESOLVED)
    typed = {name: value for name, value in content.items() if name != RESOLVED}
    return flat(typed) | (flat(decided) if isinstance(decided, Mapping) else {})


def _of_preset(name: str) -> bool:
    return name.startswith(("preset.", "preset_parts."))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that orders numbers in names by value."""
    parts = re.findall(r"\d+|\D+", str(path))
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
