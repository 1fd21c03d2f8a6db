"""The flags of ``agentgym-train`` and their help, generated from the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from agentgym.errors import ConfigurationError
from agentgym.support.flag_marks import Append
from agentgym.support.flag_parsing import split_words
from agentgym.support.help_page import FlagHelp, flag_rows, help_page
from agentgym.support.program_name import program_name
from trainers.config.schema import TrainConfig

__all__ = [
    "COMMAND_FLAGS",
    "Arguments",
    "presets_help",
    "read_flags",
    "train_flags",
    "train_help",
]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "what is trained, and where": (
        "--env", "--env-kwargs", "--model", "--preset", "--prompt", "--agent",
    ),
    "how long": ("--steps", "--horizon", "--quick", "--seed", "--seeds"),
    "how it learns": (
        "--sft.max-steps", "--rl.learning-rate", "--rl.groups", "--rl.num-generations",
        "--rl.beta", "--reward-hooks", "--temperature", "--window",
    ),
    "what it is compared with": ("--eval.num-tasks", "--eval.every", "--eval.baselines"),
    "the machine": ("--engine", "--backend", "--workers", "--threads", "--memory.precision"),
    "the run": (
        "--out", "--resume", "--config", "--dry-run", "--report-to", "--quiet", "--log-level",
        "--version",
    ),
}  # fmt: skip
"""The most common flags, by topic."""


@dataclass(frozen=True)
class Arguments(TrainConfig):
    """Train an agent: warm start, reinforcement learning over turns, comparison on held-out tasks.

    ENV may also be given as --env. Each setting comes from the first of these sources that has it:
    a flag; the file of --config, or the run of --resume; the preset; the default of the
    environment's family. --dry-run shows the result.
    """

    seeds: tuple[int, ...] = ()
    """Train once per seed, and report all runs with confidence intervals over seeds. Each run has a
    folder in --out, by default ``runs/<env>-<model>-seeds``; --resume continues them. Policies that
    do not depend on the seed are evaluated once. Replaces --seed."""
    jobs: int = 1
    """Number of concurrent runs with --seeds, which share the cores."""
    config: Path | None = None
    """YAML file of settings, such as the config.yaml of a run. It may be partial, and flags
    override it."""
    dry_run: bool = False
    """Show every setting with its final value, and exit."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    agent=my_agent:play. Repeat the flag for each. SECURITY.md lists what is refused, and why."""
    launch_config: str | None = None
    """Print the path of a configuration of ``accelerate launch``, to run on several GPUs, and exit:
    ddp, fsdp2, zero2 or zero3."""
    quiet: bool = False
    """Show only results, warnings and errors, no progress."""
    log_level: Literal["debug", "info", "warning", "error"] | None = None
    """Also print log messages from this level on. Warnings always go to ``warnings.log`` of the
    run."""
    version: bool = False
    """Print the version and exit."""


COMMAND_FLAGS = tuple(
    item.name
    for item in fields(Arguments)
    if item.name not in {f.name for f in fields(TrainConfig)}
)
"""Flags that are not settings."""


@cache
def train_flags() -> tuple[FlagHelp, ...]:
    """Return the flags of the command, in their order."""
    return tuple(flag_rows(Arguments))


def read_flags(argv: Sequence[str], program: str) -> dict[str, Any]:
    """Read a command line without checking the values.

    Values are checked together with those of files (``trainers.config.schema``), so that flags and
    files give the same errors.

    Args:
        argv: Arguments without the program's name.
        program: Name of the program as typed.

    Returns:
        Texts, lists of texts and switches by field, such as ``{"rl.learning_rate": "1e-3"}``.

    Raises:
        ConfigurationError: A flag is unknown or lacks its value, or there is a word too many.
    """
    environments, typed = split_words(argv, train_flags(), program)
    values: dict[str, Any] = {}
    for row in train_flags():
        if row.flag in typed:
            field = row.flag.removeprefix("--").replace("-", "_")
            values[field] = _value(row, typed[row.flag])
    if environments and "env" in values:
        raise ConfigurationError(
            f"expected the environments once, got {' '.join(environments)} and --env "
            f"{values['env']}; leave out one of them"
        )
    return {"env": ",".join(environments), **values} if environments else values


def _value(row: FlagHelp, words: Sequence[str]) -> Any:
    """Return the value of a flag as a file would hold it; None leaves a setting open."""
    if list(words) == ["None"] and NoneType in row.kinds and str not in row.kinds:
        return None
    if row.switch:
        return list(words) == ["True"]
    return list(words) if row.takes_list else words[0]


def train_help(program: str, everything: bool = False) -> str:
    """Return the help of the command.

    Args:
        program: Name of the program as typed.
        everything: Whether all flags are shown, each with its whole text.
    """
    ending = (
        f"{program_name('presets')} lists the methods for --preset,\n"
        f"{program_name('merge')} merges policies of several runs into one."
    )
    page = help_page(Arguments, program, groups=GROUPS, everything=everything, ending=ending)
    return page.replace(program, f"{program} [ENV]", 1)


def presets_help(program: str) -> str:
    """Return the help of the subcommand that lists presets."""
    return (
        f"usage: {program} [NAME ...]\n\n"
        "List the methods for --preset, each with its paper. With names, show their parts, and\n"
        "whether they run. --preset MODULE:NAME takes a method from your own module.\n"
    )
