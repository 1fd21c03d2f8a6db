"""Play runs side by side, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.studies.runner.cache import DONE, Run, RunCache
from benchmarks.studies.runner.process import begin_process

LAST_WORDS = 2000
"""Bytes at the end of a log in which the reason of a failure is looked for."""

Begin = Callable[[list[str], Path], BaseProcess]
"""Starts a process that carries out ``agentgym-train`` with arguments, printing to a file."""


@dataclass(frozen=True)
class Failure:
    """A run that did not end."""

    run: Run
    """The run."""
    why: str
    """Its last words."""


@dataclass
class _Work:
    """What is to be played, and what is being played."""

    pending: list[Run]
    running: dict[int, tuple[BaseProcess, Run]] = field(default_factory=dict)
    """By the handle that tells when a process ends."""
    failed: list[Failure] = field(default_factory=list)
    started: set[str] = field(default_factory=set)
    """Keys of the warm starts that a run that has ended can give to others."""


def play(
    cache: RunCache,
    runs: Sequence[Run],
    jobs: int,
    *,
    share_start: bool = True,
    console: Console | None = None,
    begin: Begin | None = None,
) -> list[Failure]:
    """Play the runs that have not ended, ``jobs`` at a time.

    A run that was begun goes on. Of runs with the same warm start the first goes ahead, and the
    others begin with its warm start once it has ended; if it fails, the next takes its place.

    Args:
        cache: Where runs lie.
        runs: All runs; those of the same key are played once.
        jobs: Processes at a time.
        share_start: Whether runs with the same warm start share it.
        console: Where progress is shown; None: standard error.
        begin: Starts a process.

    Returns:
        The runs that failed, which the others outlive.
    """
    distinct = {run.keys.run: run for run in reversed(runs)}
    partners = list(distinct.values())[::-1]
    pending = [run for run in partners if cache.state(run) != DONE]
    work, begin = _Work(pending), begin or begin_process
    work.started = {run.keys.start for run in partners if run not in pending}
    with _progress(console) as progress:
        task = progress.add_task(
            "runs", total=len(distinct), completed=len(distinct) - len(pending)
        )
        try:
            while work.pending or work.running:
                while len(work.running) < jobs and (run := _next(work, cache, share_start)):
                    starts = [r for r in partners if r.keys.start == run.keys.start]
                    arguments = cache.begin(run, starts if share_start else ())
                    process = begin(arguments, cache.log(run))
                    work.running[process.sentinel] = process, run
                progress.update(task, description=_now(work))
                _finish(work, cache)
                left = len(work.pending) + len(work.running) + len(work.failed)
                progress.update(task, completed=len(distinct) - left)
        finally:
            for process, _ in work.running.values():
                process.terminate()
    return work.failed


def _next(work: _Work, cache: RunCache, share_start: bool) -> Run | None:
    """Take the next run that need not wait for the warm start of one that is being played."""
    making = {run.keys.start for _, run in work.running.values()} if share_start else set()
    for run in work.pending:
        if run.keys.start in work.started or run.keys.start not in making:
            work.pending.remove(run)
            return run
    return None


def _finish(work: _Work, cache: RunCache) -> None:
    """Wait until a process ends, and take down what became of its run."""
    for sentinel in wait(list(work.running), timeout=1.0):
        assert isinstance(sentinel, int)
        process, run = work.running.pop(sentinel)
        process.join()
        if cache.state(run) == DONE:
            work.started.add(run.keys.start)
        else:
            work.failed.append(Failure(run, _last_words(cache.log(run), process.exitcode)))


def _last_words(log: Path, code: int | None) -> str:
    """Return why a process says that it ended."""
    if code is not None and code < 0:
        return f"killed by signal {-code}"
    text = log.read_bytes()[-LAST_WORDS:].decode(errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {code}"


def _now(work: _Work) -> str:
    """Say what is being played, in a few words."""
    names = ", ".join(run.name for _, run in work.running.values())
    return names + (f"; {len(work.failed)} failed" if work.failed else "")


@contextmanager
def _progress(console: Console | None) -> Iterator[Progress]:
    """Show how many runs have ended and how long the others will take."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )  # fmt: skip
    with Progress(
        *columns, console=console or Console(stderr=True), speed_estimate_period=3600
    ) as shown:
        yield shown
