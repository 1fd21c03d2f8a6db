"""The best policy of a run by validation, kept beside the last one.

Of the policies that reinforcement learning made and validated, the one that solved the largest
share of the validation tasks is the best; among equals the one with the highest mean score, and
among those the earliest. The policy that training began with is no candidate: what is compared is
what training made. Test tasks play no part, so the comparison on them stays unbiased.

The folder holds one such policy, written by the trainer as it writes every other: with adapters
only these. A better one is written beside it before it takes its place. A checkpoint of the
training is saved in the same moment, so that a run that is killed never goes on from before the
policy that is kept.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentgym.support.caching import write_atomically
from trainers.output.phase import Phase
from trainers.output.run_folder import VALIDATED, RunFolder
from trainers.processes import barrier, main_only, on_main

__all__ = ["BestPolicy", "Validated"]


@dataclass(frozen=True)
class Validated:
    """A policy and what it reached on the validation tasks."""

    step: int
    """Steps of reinforcement learning that made it."""
    success: float
    """Share of the tasks that it solved."""
    score: float
    """Mean score."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Validated:
        """Read a line of ``metrics.jsonl``, or the file beside the policy."""
        return cls(record["step"], record["success"], record["score"])

    def beats(self, other: Validated | None) -> bool:
        """Return whether it is better than an earlier one; the later of equals is not."""
        return other is None or (self.success, self.score) > (other.success, other.score)


class BestPolicy:
    """Keep the best validated policy in ``checkpoints/best``.

    Args:
        folder: Folder of the run.
        save: Writes the present policy into a folder; all processes call it.
    """

    def __init__(self, folder: RunFolder, save: Callable[[Path], None]) -> None:
        self._folder, self._save = folder, save
        self.path = folder.best
        self._new = folder.best.with_name(".best-new")
        if not _read(self.path) and _read(self._new):  # Killed in the middle of the change.
            self._replace()

    @property
    def kept(self) -> Validated | None:
        """What is kept; None before the first validation after a step."""
        return on_main(lambda: _read(self.path))

    @property
    def better(self) -> Validated | None:
        """The newest validated policy, if it is to be kept in place of the one that is."""
        return on_main(self._better)

    def _better(self) -> Validated | None:
        """Compare the newest record with what is kept."""
        records = (r for r in self._folder.metrics() if r.get("phase") == Phase.VALIDATION)
        newest = max(records, key=lambda record: int(record["step"]), default=None)
        if newest is None or newest["step"] == 0:
            return None
        candidate = Validated.from_record(newest)
        return candidate if candidate.beats(_read(self.path)) else None

    def keep(self, step: int) -> None:
        """Write the present policy, that of a step, if it is better than the one that is kept."""
        better = self.better
        if better is None or better.step != step:
            return
        self._forget_half()
        barrier()  # Nobody writes a shard into a folder that is about to be removed.
        self._save(self._new)
        self._mark(better)
        barrier()  # Nobody goes on, to load it perhaps, before it is in its place.

    @main_only
    def forget_after(self, step: int) -> None:
        """Remove what is kept if it is of a step that training has gone back from."""
        kept = _read(self.path)
        if kept is not None and kept.step > step:
            shutil.rmtree(self.path, ignore_errors=True)

    @main_only
    def _forget_half(self) -> None:
        """Remove what a kill left of a policy that was being written."""
        shutil.rmtree(self._new, ignore_errors=True)

    @main_only
    def _mark(self, better: Validated) -> None:
        """Say that the new policy is complete, and put it in the place of the old one."""
        write_atomically(self._new / VALIDATED, json.dumps(asdict(better)).encode())
        self._replace()

    @main_only
    def _replace(self) -> None:
        """Put the new policy in the place of the old one."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._new.replace(self.path)


def _read(path: Path) -> Validated | None:
    """Return what a complete folder holds; the file is written last."""
    try:
        return Validated.from_record(json.loads((path / VALIDATED).read_text()))
    except (OSError, ValueError, KeyError):
        return None
