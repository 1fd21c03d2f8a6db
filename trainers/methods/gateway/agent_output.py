"""Output and logs of user agents: in a file of the run, not between its bars."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from trainers import processes

OURS = ("agentgym", "trainers")
"""Packages whose warnings the run itself handles."""


class _LateFile(io.TextIOBase):
    """A file for text that is made when something is written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def write(self, text: str) -> int:
        """Append some text; a disk that is full is noticed by more than this."""
        with suppress(OSError), self._path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return len(text)


@contextmanager
def agent_output_to(path: Path) -> Iterator[None]:
    """Redirect agents' output and their packages' warnings from the screen to a file.

    The display of a run is on standard error, and stays there.

    Args:
        path: The file, created on the first write; each process has its own.
    """
    if not processes.is_main():
        path = path.with_stem(f"{path.stem}-{processes.rank()}")
    output = _LateFile(path)
    handler = logging.StreamHandler(output)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
    handler.addFilter(lambda record: record.name.partition(".")[0] not in OURS)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with redirect_stdout(output):
            yield
    finally:
        root.removeHandler(handler)
