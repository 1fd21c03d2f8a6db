"""Execute a run in a separate process.

The processes are forked from one that has only imported the trainer, because the import takes
longer than the warm start of a small run.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

PRELOADED = "trainers.phases.multirun.preloaded"
Main = Callable[[Sequence[str]], int]
"""Executes ``agentgym-train`` with arguments and returns an exit code; a module-level function."""


def begin_process(main: Main, arguments: list[str], log: Path, threads: int = 1) -> BaseProcess:
    """Start ``agentgym-train`` with arguments, with its output in a file.

    It is killed when this process ends. Unless ``--threads`` is given, it computes with at most the
    given number of threads.
    """
    os.environ.update({"OMP_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "false"})
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([PRELOADED])
    process = context.Process(target=_train, args=(main, arguments, str(log)))
    process.start()
    return process


def _train(main: Main, arguments: list[str], log: str) -> None:
    """Execute ``agentgym-train`` in this process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(log, "ab", buffering=0) as stream:
        for output in (sys.stdout, sys.stderr):
            os.dup2(stream.fileno(), output.fileno())
    code = main(arguments)
    if not code:
        print(f"{time.process_time():.0f} s of processor time", file=sys.stderr)
    sys.exit(code)


def _end_with_parent() -> None:
    """End this process when the parent is gone, so that no orphan is left."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
