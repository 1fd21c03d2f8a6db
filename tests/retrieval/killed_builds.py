"""Builds of an index that are killed at a chosen moment.

They are forks of a process that has imported little else: a fork of pytest's own, which holds what
a thousand tests have imported, takes longer than the build.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgym.retrieval import Passage
from agentgym.retrieval.dense import DenseEncoder
from agentgym.retrieval.index_builder import build_index
from tests.retrieval.encoders import hashed

ENGINES: dict[str, Any] = {
    "bm25": "bm25", "tantivy": "tantivy", "dense": DenseEncoder(hashed, exact=True),
}  # fmt: skip
Kill = Callable[..., bool]


def passages(name: str = "old", count: int = 20) -> list[Passage]:
    """Make passages."""
    return [Passage(f"{name}{i}", f"Title {i}", f"text number{i} of {name}") for i in range(count)]


@contextmanager
def forking() -> Iterator[Kill]:
    """Start the process that forks.

    Yields a function of an event, a folder, an engine, the name of the passages, and whether an
    index may be replaced. It returns whether the build was killed, at that event, before it ended.
    """
    command = [sys.executable, "-m", "tests.retrieval.killed_builds"]
    root = Path(__file__).resolve().parents[2]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=root, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def kill(event: int, folder: Path, engine: str, name: str, overwrite: bool) -> bool:
            print(
                json.dumps([event, str(folder), engine, name, overwrite]), file=requests, flush=True
            )
            return bool(json.loads(answers.readline()))

        yield kill
        requests.close()


def killed(event: int, folder: str, engine: str, name: str, overwrite: bool) -> bool:
    """Build in a fork that kills itself at the n-th time it touches a file.

    Where it reads several times in a row, the first of them counts: the others find the same files.
    """
    child = os.fork()
    if child == 0:
        killed_event, looked = event, False

        def count(name: str, arguments: tuple[Any, ...]) -> None:
            nonlocal killed_event, looked
            if name.startswith(("open", "os.", "shutil.", "mmap.")):
                looked_before, looked = looked, only_reads(name, arguments)
                killed_event -= not (looked_before and looked)
                if killed_event < 0:
                    killed_event = sys.maxsize  # the kill is an event, too
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            logging.disable()
            sys.addaudithook(count)
            build_index(passages(name), folder, index=ENGINES[engine], overwrite=overwrite)
        finally:
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def only_reads(name: str, arguments: tuple[Any, ...]) -> bool:
    """Return whether an event of files changes none."""
    if name == "open":
        return not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    return name in ("os.listdir", "os.scandir")


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(killed(*json.loads(line))), flush=True)
