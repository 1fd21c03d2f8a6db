"""Arguments of ``agentgym leaderboard`` and ``agentgym panels``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgym.support.flag_marks import Append, Positional


@dataclass(frozen=True)
class VerifyEntries:
    """Replay the episodes of entries, and recompute score, interval, floors and panel.

    Exit code 1 if an entry is refused, or cannot be verified here.
    """

    entries: Positional[tuple[Path, ...]]
    """Folders of agentgym eval --out, with one or several evaluations, or a report.json in one."""
    panel: Path | None = None
    """Opening of a sealed panel, which the entries must have played."""
    page: Path | None = None
    """Write the entries to this HTML file, with the verified ones marked."""
    env: str | None = None
    """MODULE:ID of the environment that was recorded, if it is your own."""
    workers: int = 1
    """Processes that play at the same time. The output is the same."""
    json: bool = False
    """Print JSON."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    sandbox=subprocess. Repeat the flag for each. SECURITY.md says what is refused, and why."""


@dataclass(frozen=True)
class SealPanel:
    """Draw a panel that nobody can guess, and commit to it by its hash."""

    env: Positional[str]
    """Environment: a name such as webshop, a task set such as webshop:easy, a Gymnasium id, or
    MODULE:ID of your own."""
    out: Path
    """New folder, for sealed.json, to publish now, and opening.json, to keep until the tasks may be
    known."""
    split: str = "test"
    """Split of the tasks."""
    num_tasks: int = 100
    """Number of tasks."""
    horizon: int | None = None
    """Turn budget of an episode. None: the environment's own."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""


@dataclass(frozen=True)
class OpenPanel:
    """Check that an opening is of a sealed panel, and say how to play its tasks.

    Exit code 2 if it is another, or the environment no longer draws its tasks.
    """

    sealed: Positional[Path]
    """The file sealed.json that was published first."""
    opening: Positional[Path]
    """The file opening.json that was published later."""
    json: bool = False
    """Print JSON."""
    trust: Append[tuple[str, ...]] = ()
    """Allow a file to name this code or data: NAME=VALUE as the error shows it, such as
    sandbox=subprocess. Repeat the flag for each. SECURITY.md says what is refused, and why."""


@dataclass(frozen=True)
class ExportPanel:
    """Write a hashed panel as files that evaluations of other projects read.

    The folder gets panel.json, verl-agent.parquet, and, where they have such tasks,
    agentgym-rl.json and search-r1.parquet.
    """

    env: Positional[str]
    """Environment: a name such as webshop, a task set such as webshop:easy, a Gymnasium id, or
    MODULE:ID of your own. Official data are given by --env-kwargs."""
    out: Positional[Path]
    """New folder for the files."""
    split: str = "test"
    """Split of the tasks."""
    num_tasks: int | None = None
    """Number of tasks. None: all of the split."""
    seed: int = 0
    """Seed of the choice of tasks."""
    env_kwargs: tuple[str, ...] = ()
    """Arguments of the environment as name=value, with values in JSON. The flag may be repeated."""
    json: bool = False
    """Print JSON."""


PANEL_COMMANDS: Mapping[str, type] = {
    "leaderboard verify": VerifyEntries,
    "leaderboard seal": SealPanel,
    "leaderboard open": OpenPanel,
    "panels export": ExportPanel,
}
"""These subcommands, by name."""
