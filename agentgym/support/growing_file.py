"""Files that grow by a line for each thing that is done, and survive a kill at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def append_line(file: Path, line: str) -> None:
    """Append a line; it is on disk when this returns.

    Args:
        file: The file; it is made if it is not there.
        line: The line, with its line break.

    Raises:
        OSError: It cannot be written.
    """
    with file.open("a", encoding="utf-8") as opened:
        opened.write(line)
        opened.flush()
        os.fsync(opened.fileno())


def drop_cut_line(file: Path) -> None:
    """Remove a last line that a killed process left incomplete.

    Raises:
        OSError: The file cannot be read or written.
    """
    if file.exists():
        content = file.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            with file.open("r+b") as opened:
                opened.truncate(len(complete))
