"""How large the repair of a fault is, and the difficulty that follows from it.

The levels follow a measured ladder (``benchmarks/swe_ladder.py``): whether a token search succeeds
matters less than how much has to be written, and in how many places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agentgym.envs.swe.diffs import changed_lines, read_diff
from agentgym.envs.swe.edits import edited_files, write_diff
from agentgym.envs.swe.instance import DIFFICULTIES
from agentgym.envs.swe.making.kinds import Candidate
from agentgym.envs.swe.stored_instances import undoing_patch

EASY_LINES, MEDIUM_LINES = 3, 12
"""Most lines that a repair adds or removes, of an easy task in one file, and of a medium one."""


@dataclass(frozen=True)
class ChangeSize:
    """The size of a repair."""

    files: int
    """Files that it changes."""
    lines: int
    """Lines that it adds and removes."""

    @property
    def difficulty(self) -> str:
        """One of :data:`~agentgym.envs.swe.instance.DIFFICULTIES`."""
        easy, medium, hard = DIFFICULTIES
        if self.files == 1 and self.lines <= EASY_LINES:
            return easy
        return medium if self.lines <= MEDIUM_LINES else hard


def size_of(folder: Path, candidate: Candidate) -> ChangeSize:
    """Measure the repair of a candidate.

    Args:
        folder: The sound repository.
        candidate: The candidate.
    """
    patch = _patch(folder, candidate)
    return ChangeSize(len(read_diff(patch)), changed_lines(patch))


def hunks(folder: Path, candidate: Candidate) -> int:
    """Return the number of pieces that the repair of a candidate has.

    Args:
        folder: The sound repository.
        candidate: The candidate.
    """
    return sum(len(diff.hunks) for diff in read_diff(_patch(folder, candidate)))


def _patch(folder: Path, candidate: Candidate) -> str:
    """Return the diff of the repair."""
    return repairing_patch(folder, candidate) or undoing_patch(folder, candidate.edits)


def repairing_patch(folder: Path, candidate: Candidate) -> str:
    """Return the diff that a maintainer would make; empty where the fault is taken back.

    Args:
        folder: The sound repository.
        candidate: The candidate.
    """
    if not candidate.repair:
        return ""
    faulty = edited_files(partial(_read_file, folder), candidate.edits)
    repaired = edited_files(faulty.__getitem__, candidate.repair)
    return write_diff({path: faulty[path] for path in repaired}, repaired)


def _read_file(folder: Path, path: str) -> bytes:
    return (folder / path).read_bytes()
