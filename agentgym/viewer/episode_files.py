"""Find the episodes of a run: a file, or the files of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from agentgym.core.outcome import StopReason
from agentgym.episodes import Episode, read_any, trajectory_files
from agentgym.episodes.run_layout import EVALUATED
from agentgym.errors import DataError
from agentgym.support.strict_json import parse_json
from agentgym.support.typed_json import read_json

EPISODES = "episodes.jsonl"
"""File of a folder: the training episodes of a run, or all there are."""
EVALUATION = "evaluation.json"
"""File beside it in which an evaluation says what it plays."""
TRAINING = "training"
"""What the training episodes are called where there are others."""
PAGES = (".html", ".htm")
"""How pages end, which are written and not read."""
NAMED = 20
"""Maximum number of folders in an error message."""


@dataclass
class EpisodesFile:
    """A file of episodes, with the problems found while reading it."""

    path: Path
    """The file."""
    part: str = ""
    """Part of its run, such as ``training`` or ``rl``; empty if the run has only one part."""
    episodes: int = 0
    """Episodes read."""
    skipped: int = 0
    """Lines that could not be read."""
    reason: str = ""
    """Reason of the first of them."""
    cut: bool = False
    """Whether the file may contain more episodes than were read."""
    broken: int = 0
    """Episodes read in which the infrastructure failed."""
    planned: int | None = field(init=False)
    """Number of planned episodes, if an evaluation defines it."""

    def __post_init__(self) -> None:
        """Find out what was planned."""
        self.planned = _planned(self.path)

    def read(self, limit: int | None) -> Iterator[Episode]:
        """Yield at most ``limit`` episodes; broken lines are counted.

        Raises:
            DataError: The file cannot be read.
        """
        for episode in read_any(self.path, on_skipped=self.skip):
            if self.episodes == limit:
                self.cut = True
                return
            self.episodes += 1
            self.broken += episode.stop_reason == StopReason.ERROR.value
            yield episode

    def skip(self, line: int, error: Exception) -> None:
        """Count a line that cannot be used."""
        self.reason = self.reason or f"line {line}: {error}"
        self.skipped += 1


@dataclass
class RunFiles:
    """A run: a name and its files."""

    name: str
    """Name that is shown."""
    sources: list[EpisodesFile] = field(default_factory=list)
    """Its files, in the order in which they are shown."""


def find_run(path: Path, evaluations: Sequence[Path] = ()) -> RunFiles:
    """Find the episodes of a run.

    Args:
        path: A file of episodes, of any form that `agentgym.episodes.read_any` reads; the folder of
            a run of ``agentgym train``; or a folder that holds an ``episodes.jsonl`` or ATIF
            trajectories.
        evaluations: Folders of evaluations of which ``path`` is the folder, in the order in which
            they are shown, each as a part of the run. Those without episodes are left out.

    Raises:
        DataError: There are none, or the path is a page.
    """
    name = _encode_name(path.name or path.resolve().name or "episodes")
    if not path.is_dir():
        if is_html(path):
            raise DataError(
                f"expected a JSONL file of episodes, or a folder that holds one, got {path}, a "
                "page for the browser; name the file or folder from which it was made"
            )
        return RunFiles(name, [EpisodesFile(path)])
    files = [
        EpisodesFile(folder / EPISODES, _encode_name(folder.name))
        for folder in evaluations
        if (folder / EPISODES).exists()
    ] or _of_folder(path)
    if not files:
        raise DataError(
            f"expected a JSONL file of episodes, or a folder that holds {EPISODES} or {EVALUATED}, "
            f"got the folder {path} without them; {_advice(path)}"
        )
    return RunFiles(name, files)


class _Settings(TypedDict):
    n: int
    samples: int


class _Evaluation(TypedDict):
    settings: _Settings


def _planned(path: Path) -> int | None:
    """Return the planned number of episodes of a file's evaluation; None if unknown."""
    if path.name != EPISODES:
        return None
    try:
        data = parse_json(path.with_name(EVALUATION).read_text("utf-8"))
        settings = read_json(_Evaluation, data)["settings"]
    except (OSError, ValueError, DataError):
        return None
    return settings["n"] * settings["samples"]


def is_html(path: Path) -> bool:
    """Return whether a path has the name of an HTML page, which contains no episodes."""
    return path.suffix.lower() in PAGES and not path.is_dir()


def _of_folder(path: Path) -> list[EpisodesFile]:
    """Return the files of one evaluation, or of a run: what it evaluated, then its training."""
    evaluated = path / EVALUATED
    files = [
        EpisodesFile(file, _encode_name(file.relative_to(evaluated).with_suffix("").as_posix()))
        for file in sorted(evaluated.rglob("*.jsonl"))
    ]
    if (path / EPISODES).exists():
        files.append(EpisodesFile(path / EPISODES, TRAINING if files else ""))
    if not files and trajectory_files(path):
        files.append(EpisodesFile(path))
    return files


def _advice(path: Path) -> str:
    """Name the subfolders with episodes, or explain how to record some."""
    inside = _below([path]) or _below(folder for folder in path.iterdir() if folder.is_dir())
    if not inside:
        return "agentgym eval --out FOLDER writes such a folder"
    more = f" and {len(inside) - NAMED:,} more" if len(inside) > NAMED else ""
    return f"name one or two of these, which do: {', '.join(map(str, inside[:NAMED]))}{more}"


def _below(folders: Iterable[Path]) -> list[Path]:
    """Return the folders with episodes that are right in others."""
    return sorted(
        child
        for folder in folders
        for child in folder.iterdir()
        if child.is_dir() and _of_folder(child)
    )


def _encode_name(name: str) -> str:
    """Return a file's name as text that a URL can contain."""
    return name.encode("utf-8", "replace").decode()
