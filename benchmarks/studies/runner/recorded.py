"""Episodes of a trained policy, recorded for the runs that come after its own."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from agentgym.cli import main as agentgym
from agentgym.support.caching import SCRATCH
from agentgym.support.text_lines import last_line
from trainers.phases.multirun.cache import Run, RunCache
from trainers.phases.multirun.playing import FailedRun
from trainers.phases.multirun.process import begin_process

RECORDED = "recorded"
"""Folder of the episodes, in that of the run."""


def record(run: Run, arguments: Sequence[str], cache: RunCache) -> FailedRun | None:
    """Play the policy that a run has trained, unless that was done before.

    Args:
        run: A run that has ended.
        arguments: Those of ``agentgym eval``, without policy and folder.
        cache: Where the run lies.

    Returns:
        Why the episodes are missing; None if they are there.
    """
    folder = cache.folder(run)
    if (folder / RECORDED).exists():
        return None
    scratch = folder / f"{SCRATCH}{RECORDED}"  # what was killed begins anew
    shutil.rmtree(scratch, ignore_errors=True)
    log = cache.log(run).with_suffix(f".{RECORDED}.log")
    places = ["--policy", str(folder), "--out", str(scratch)]
    process = begin_process(agentgym, ["eval", *arguments, *places], log)
    process.join()
    if process.exitcode:
        return FailedRun(run, f"its episodes: {last_line(log.read_text())} ({log})")
    scratch.replace(folder / RECORDED)
    return None
