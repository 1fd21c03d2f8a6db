"""JSON-lines files that survive ``kill -9``: an unfinished last line is cut off."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agentgym.errors import DataError
from agentgym.support.caching import write_atomically


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON-lines file; an unfinished last line is left out.

    Raises:
        DataError: A line other than the last is not JSON.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"expected JSON in line {number} of {path}, got {line[:60]!r}; the file was "
                    "changed by something other than the run"
                ) from error


def append_line(path: Path, line: str) -> None:
    """Append one line and flush it to the operating system; all of it or, on an error, nothing."""
    with path.open("ab", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        data = line.encode() + b"\n"
        try:
            while data:  # Unbuffered, so a write may be partial.
                data = data[file.write(data) :]
        except OSError:
            with suppress(OSError):
                file.truncate(size)
            raise


def cut_unfinished_line(path: Path) -> None:
    """Cut off the unfinished last line of a killed run."""
    if not path.is_file():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                file.truncate(start + newline + 1)
                return
            end = start
        file.truncate(0)


def filter_lines(path: Path, keep: Callable[[Mapping[str, Any]], bool]) -> None:
    """Rewrite a JSON-lines file with the records that ``keep`` accepts, one at a time."""
    records = (record for record in read_jsonl(path) if keep(record))
    write_atomically(path, (json.dumps(record).encode() + b"\n" for record in records))
