"""The best policy of a run by validation, saved beside the last one.

The best policy has the highest success rate on the validation tasks; ties are broken by mean score,
then by the earliest step. Only policies after a step of reinforcement learning are candidates, not
the initial one. Test tasks are not used, so the comparison on them stays unbiased.

The folder holds one such policy, in the trainer's usual format: adapters only, if there are any. A
better policy is written beside it before it replaces it. A checkpoint of the training is saved at
the same time, so that an interrupted run never resumes from before the best policy.
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
    """The results of a policy on the validation tasks."""

    step: int
    """Steps of reinforcement learning."""
    success: float
    """Share of the tasks solved."""
    score: float
    """Mean score."""

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Validated:
        """Read a line of ``metrics.jsonl``, or the file beside the policy."""
        return cls(record["step"], record["success"], record["score"])

    def beats(self, rival: Validated | None) -> bool:
        """Return whether it is strictly better than an earlier policy."""
        return rival is None or (self.success, self.score) > (rival.success, rival.score)


class BestPolicy:
    """Save the best validated policy in ``checkpoints/best``.

    Args:
        folder: Folder of the run.
        save: Writes the current policy into a folder; all processes call it.
    """

    def __init__(self, folder: RunFolder, save: Callable[[Path], None]) -> None:
        self._folder, self._save = folder, save
        self.path = folder.best
        self._new = folder.best.with_name(".best-new")
        if not _read_scores(self.path) and _read_scores(
            self._new
        ):  # Killed while replacing the old one.
            self._replace()

    @property
    def results(self) -> Validated | None:
        """The best policy so far; None before the first validation after a step."""
        return on_main(lambda: _read_scores(self.path))

    @property
    def better(self) -> Validated | None:
        """The newest validated policy if it is better than the saved one, else None."""
        return on_main(self._better)

    def _better(self) -> Validated | None:
        """Compare the newest record with the saved policy."""
        records = (r for r in self._folder.metrics() if r.get("phase") == Phase.VALIDATION)
        newest = max(records, key=lambda record: int(record["step"]), default=None)
        if newest is None or newest["step"] == 0:
            return None
        candidate = Validated.from_record(newest)
        return candidate if candidate.beats(_read_scores(self.path)) else None

    def keep(self, step: int) -> None:
        """Write the current policy, of a given step, if it is better than the saved one."""
        better = self.better
        if better is None or better.step != step:
            return
        self._forget_half()
        barrier()  # No process may write a shard into a folder that is about to be removed.
        self._save(self._new)
        self._mark(better)
        barrier()  # No process may continue, and perhaps load it, before it is in place.

    @main_only
    def forget_after(self, step: int) -> None:
        """Remove the saved policy if a rollback has undone its step."""
        validated = _read_scores(self.path)
        if validated is not None and validated.step > step:
            shutil.rmtree(self.path, ignore_errors=True)

    @main_only
    def _forget_half(self) -> None:
        """Remove a policy left unfinished by a kill."""
        shutil.rmtree(self._new, ignore_errors=True)

    @main_only
    def _mark(self, better: Validated) -> None:
        """Mark the new policy as complete, and replace the old one by it."""
        write_atomically(self._new / VALIDATED, json.dumps(asdict(better)).encode())
        self._replace()

    @main_only
    def _replace(self) -> None:
        """Replace the old policy by the new one."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._new.replace(self.path)


def _read_scores(path: Path) -> Validated | None:
    """Return the results in a complete folder; their file is written last."""
    try:
        return Validated.from_record(json.loads((path / VALIDATED).read_text()))
    except (OSError, ValueError, KeyError, RecursionError):
        return None
