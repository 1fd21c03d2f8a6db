"""The flags about seeds, read without importing the trainer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.episodes.run_layout import SEEDS_FILE
from agentgym.errors import ConfigurationError

__all__ = ["SEEDS_FILE", "SeedFlags"]


@dataclass(frozen=True)
class SeedFlags:
    """The flags of a command that concern seeds."""

    seeds: tuple[int, ...]
    """The seeds; empty if the folder to resume has them."""
    jobs: int
    """Number of concurrent runs."""
    out: Path | None
    """Folder of all runs; None: the default one."""
    resume: bool
    """Whether to resume in it."""
    dry_run: bool
    """Whether to show only the settings."""
    settings: tuple[str, ...]
    """The other flags, which apply to the run of every seed."""

    @classmethod
    def read(cls, argv: Sequence[str]) -> SeedFlags | None:
        """Read a command line; None if it asks for one run.

        Raises:
            ConfigurationError: The flags contradict each other, or a seed or ``--jobs`` is invalid.
        """
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        parser.add_argument("--seeds", nargs="*")
        for flag in ("--jobs", "--seed", "--out"):
            parser.add_argument(flag)
        for switch in ("--resume", "--dry-run", "-h", "--help"):
            parser.add_argument(switch, action="store_true")
        flags, settings = parser.parse_known_args(argv)
        if flags.help or flags.h:
            return None
        out = Path(flags.out) if flags.out else None
        is_known = out is not None and (out / SEEDS_FILE).exists()
        if flags.seeds is None and not (flags.resume and is_known):
            if flags.jobs is not None:
                raise ConfigurationError(
                    f"expected --jobs with --seeds, got --jobs {flags.jobs} alone: a single run "
                    "is one process"
                )
            return None
        if flags.seed is not None:
            raise ConfigurationError(
                f"expected --seeds or --seed, got both (--seed {flags.seed}); leave out --seed"
            )
        seeds = _whole_numbers("--seeds", flags.seeds or (), least=0)
        _check_seeds(seeds, flagged=flags.seeds is not None)
        jobs = 1 if flags.jobs is None else _whole_numbers("--jobs", (flags.jobs,), least=1)[0]
        return cls(seeds, jobs, out, flags.resume, flags.dry_run, tuple(settings))


def _whole_numbers(flag: str, words: Sequence[str], least: int) -> tuple[int, ...]:
    """Read the numbers of a flag."""
    for word in words:
        if not (word.removeprefix("-").isdecimal() and int(word) >= least):
            raise ConfigurationError(
                f"expected {flag} to be whole numbers of at least {least}, got {word!r}"
            )
    return tuple(map(int, words))


def _check_seeds(seeds: Sequence[int], *, flagged: bool) -> None:
    """Check that an interval over the seeds is possible."""
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice:
        raise ConfigurationError(f"expected different --seeds, got {twice[0]} more than once")
    if flagged and len(seeds) < 2:
        raise ConfigurationError(
            "expected at least two --seeds, because intervals need their spread, got "
            f"{len(seeds)}; one run takes --seed"
        )
