"""Execute runs in parallel, each in a separate process."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, BinaryIO

from rich.console import Console

from agentgym.support.progress_bars import FittedProgress
from agentgym.support.progress_lines import ProgressLines
from agentgym.support.terminal import say
from agentgym.support.text_lines import last_line
from trainers.output.phase import Phase
from trainers.output.roles import WARM_START
from trainers.output.run_folder import RunFolder
from trainers.phases.multirun.cache import DONE, Run, RunCache

LAST_WORDS = 2000
"""Bytes at the end of a log that are searched for the reason of a failure."""
PLACES = {
    Phase.WARM_START: WARM_START, Phase.REINFORCEMENT: "training", Phase.VALIDATION: "training",
    Phase.IMITATION: "baseline", Phase.COMPARISON: "compared",
}  # fmt: skip
"""The phase of a run in words, by its last record; a phase without an entry keeps its name."""

Begin = Callable[[list[str], Path], BaseProcess]
"""Starts a process that executes ``agentgym-train`` with arguments and logs to a file."""


@dataclass(frozen=True)
class FailedRun:
    """A run that failed."""

    run: Run
    """The run."""
    why: str
    """The end of its log."""


@dataclass
class Playing:
    """A run that is being played."""

    process: BaseProcess
    """Its process."""
    run: Run
    """The run."""
    metrics: Path
    """Its ``metrics.jsonl``."""
    file: BinaryIO | None = None
    """The open file, read up to its last complete record."""
    place: str = "begins"
    """Its phase at that record."""

    def look(self) -> str:
        """Return the name of the run and its current phase."""
        record = self._last()
        if record is not None:
            words = PLACES.get(Phase(record["phase"]), record["phase"])
            self.place = f"{words} {record.get('step', record.get('arm', ''))}".strip()
        return f"{self.run.name}: {self.place}"

    def _last(self) -> dict[str, Any] | None:
        """Return the newest record since the last call; None if there is none.

        A resumed run may replace the file by a shorter one, which is then read from its beginning.
        """
        if not self.metrics.exists():
            return None
        # While the old file is open, no new file gets its inode number.
        if self.file is None or not os.path.samestat(
            os.fstat(self.file.fileno()), self.metrics.stat()
        ):
            self.close()
            self.file = self.metrics.open("rb")
        new = self.file.read()
        lines = new[: new.rfind(b"\n") + 1]
        self.file.seek(len(lines) - len(new), os.SEEK_CUR)
        if not lines:
            return None
        record: dict[str, Any] = json.loads(lines[:-1].rpartition(b"\n")[2])
        return record

    def close(self) -> None:
        """Close the file; the next look opens it again."""
        if self.file is not None:
            self.file.close()
        self.file = None


@dataclass
class _Work:
    """Waiting and running runs."""

    pending: list[Run]
    running: dict[int, Playing] = field(default_factory=dict)
    """Running runs, by the sentinel of their process."""
    failed: list[FailedRun] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    """Keys of the warm starts that finished runs provide."""


def play(
    cache: RunCache,
    runs: Sequence[Run],
    jobs: int,
    begin: Begin,
    *,
    share_start: bool = True,
    extended: Collection[Run] = (),
    console: Console | None = None,
    quiet: bool = False,
) -> list[FailedRun]:
    """Execute unfinished runs, ``jobs`` at a time; interrupted ones resume.

    Of runs with the same warm start the first is executed alone, and the others reuse its warm
    start once it is finished; if it fails, the next one takes its place.

    Args:
        cache: The folder of runs.
        runs: All runs; those with the same key are executed once.
        jobs: Processes at a time.
        begin: Starts a process.
        share_start: Whether runs with the same warm start share it.
        extended: Finished runs that continue because more steps were requested.
        console: Where progress is shown; None: standard error.
        quiet: Whether failures alone are shown.

    Returns:
        The runs that failed; the others continue.
    """
    distinct = {run.keys.run: run for run in reversed(runs)}
    partners = list(distinct.values())[::-1]
    pending = [run for run in partners if run in extended or cache.state(run) != DONE]
    cache.root.mkdir(parents=True, exist_ok=True)
    work = _Work(pending, started={run.keys.start for run in partners if run not in pending})
    with _progress(console, quiet) as progress:
        task = progress.add_task(
            "runs", total=len(distinct), completed=len(distinct) - len(pending)
        )
        lines = ProgressLines(partial(say, progress.console))
        lines.begin("runs", len(distinct), len(distinct) - len(pending))
        prints_lines = not (quiet or progress.console.is_terminal)
        try:
            while work.pending or work.running:
                while len(work.running) < jobs and (run := _next(work, cache, share_start)):
                    starts = [r for r in partners if r.keys.start == run.keys.start]
                    arguments = cache.begin(run, starts if share_start else (), on=run in extended)
                    process = begin(arguments, cache.log(run))
                    metrics = RunFolder(cache.folder(run)).metrics_path
                    work.running[process.sentinel] = Playing(process, run, metrics)
                progress.update(task, description=_now(work))
                for sentence in _finish(work, cache):
                    say(progress.console, sentence)
                runs_left = len(work.pending) + len(work.running) + len(work.failed)
                progress.update(task, completed=len(distinct) - runs_left)
                if prints_lines and runs_left:
                    lines.show(len(distinct) - runs_left, _now(work))
            progress.update(task, description=_now(work) or "runs")
        finally:
            for playing in work.running.values():
                playing.process.terminate()
                playing.close()
    return work.failed


def _next(work: _Work, cache: RunCache, share_start: bool) -> Run | None:
    """Take the next run that does not wait for the warm start of a running one."""
    making = {playing.run.keys.start for playing in work.running.values()} if share_start else set()
    for run in work.pending:
        if run.keys.start in work.started or run.keys.start not in making:
            work.pending.remove(run)
            return run
    return None


def _finish(work: _Work, cache: RunCache) -> Iterator[str]:
    """Wait until a process ends, and record and report the state of its run."""
    for sentinel in wait(list(work.running), timeout=1.0):
        assert isinstance(sentinel, int)
        playing = work.running.pop(sentinel)
        playing.process.join()
        playing.close()
        run, code = playing.run, playing.process.exitcode
        if code == 0 and cache.state(run) == DONE:
            work.started.add(run.keys.start)
            yield f"{run.name}: ended"
        else:
            work.failed.append(FailedRun(run, _last_words(cache.log(run), code)))
            yield f"{run.name}: failed"


def _last_words(log: Path, code: int | None) -> str:
    """Return the reason of a failure from the end of a log."""
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    text = log.read_bytes()[-LAST_WORDS:].decode(errors="replace") if log.exists() else ""
    return last_line(text) or f"exit code {code}"


def _now(work: _Work) -> str:
    """Describe the running runs and their phases in a few words."""
    parts = [playing.look() for playing in work.running.values()]
    return "; ".join([*parts, *([f"{len(work.failed)} failed"] if work.failed else [])])


@contextmanager
def _progress(console: Console | None, quiet: bool) -> Iterator[FittedProgress]:
    """Show how many runs are finished and how long the others will take."""
    console = console or Console(stderr=True)
    with FittedProgress(console, hidden=quiet, speed_seconds=3600) as progress:
        yield progress
