"""Where the episodes of a run are: one file, or the files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentgym.episodes import Episode, read_episodes
from agentgym.errors import DataError

EPISODES = "episodes.jsonl"
"""File of a folder: the training episodes of a run, or all there are."""
EVALUATED = "eval_episodes"
"""Folder of a run in which each compared policy has a file."""
TRAINING = "training"
"""What the training episodes are called where there are others."""


@dataclass
class Source:
    """A file of episodes, and what was found wrong with it while it was read."""

    path: Path
    """The file."""
    part: str = ""
    """What it is of its run, such as ``training`` or ``rl``; empty if it is all."""
    episodes: int = 0
    """Episodes read."""
    skipped: int = 0
    """Lines that could not be read."""
    reason: str = ""
    """Why the first of them could not."""
    cut: bool = False
    """Whether the file may hold more than was asked for."""

    def read(self, limit: int | None) -> Iterator[Episode]:
        """Yield at most ``limit`` episodes; broken lines are counted.

        Raises:
            DataError: The file cannot be read.
        """
        for episode in read_episodes(self.path, strict=False, on_skipped=self.skip):
            if self.episodes == limit:
                self.cut = True
                return
            self.episodes += 1
            yield episode

    def skip(self, line: int, error: Exception) -> None:
        """Count a line that cannot be used."""
        self.reason = self.reason or f"line {line}: {error}"
        self.skipped += 1


@dataclass
class Run:
    """A run: a name and its files."""

    name: str
    """Name that is shown."""
    sources: list[Source] = field(default_factory=list)
    """Its files, in the order in which they are shown."""


def find_run(path: Path) -> Run:
    """Find the episodes of a run.

    Args:
        path: A file of episodes; the folder of a run of ``agentgym-train``; or a folder that holds
            an ``episodes.jsonl``.

    Raises:
        DataError: There are none.
    """
    name = _shown(path.name or path.resolve().name or "episodes")
    if not path.is_dir():
        return Run(name, [Source(path)])
    evaluated = path / EVALUATED
    found = [
        Source(file, _shown(file.relative_to(evaluated).with_suffix("").as_posix()))
        for file in sorted(evaluated.rglob("*.jsonl"))
    ]
    if (path / EPISODES).exists():
        found.append(Source(path / EPISODES, TRAINING if found else ""))
    if not found:
        raise DataError(
            f"expected a JSONL file of episodes, or a folder that holds {EPISODES} or {EVALUATED}, "
            f"got the folder {path} without them; agentgym eval --record FILE writes such a file"
        )
    return Run(name, found)


def _shown(name: str) -> str:
    """Return a name of a file as text that an address can hold."""
    return name.encode("utf-8", "replace").decode()
