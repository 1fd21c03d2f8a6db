"""Shared by the commands on files of episodes: a progress bar, and a note on torn lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def progress(
    path: Path, console: Console, action: str, *, silent: bool, max_episodes: int | None = None
) -> Iterator[Callable[[], None]]:
    """Show a bar over the episodes of a file, which is read once to count them.

    Args:
        path: The file; if it cannot be read, there is no bar, and the reader reports the error.
        console: Where to show the bar.
        action: Description of the work.
        silent: Show nothing.
        max_episodes: Maximum number of episodes.

    Yields:
        A function to call after each episode.
    """
    from agentgym.support.progress_bars import FittedProgress

    silent = silent or not console.is_terminal
    # Without a visible bar, do not read a large file twice.
    count = None if silent else _lines(path)
    total = count if max_episodes is None or count is None else min(max_episodes, count)
    with FittedProgress(console, transient=True, hidden=silent) as display:
        bar = display.begin(action, total)
        yield lambda: display.advance(bar)


def _lines(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            return sum(not line.isspace() for line in file)
    except OSError:
        return None


def episodes_file(path: Path) -> Path:
    """Return the file of episodes at a path, which may be the folder of an evaluation.

    Raises:
        ConfigurationError: The folder contains several files of episodes.
        DataError: The folder contains none.
    """
    from agentgym.viewer import find_run

    if not path.is_dir():
        return path
    files = [source.path for source in find_run(path).sources]
    if len(files) > 1:
        raise ConfigurationError(
            f"expected one file of episodes, got the folder {path}, which holds several: name one "
            f"of {', '.join(map(str, files))}"
        )
    return files[0]


def torn_note(torn: Sequence[int]) -> str:
    """Return a space and a sentence on skipped lines; empty if there are none."""
    if not torn:
        return ""
    names = ", ".join(map(str, torn))
    lines = f"line {names} is" if len(torn) == 1 else f"lines {names} are"
    return f" Skipped: {lines} cut off, as when a process is killed."


def say(console: Console, text: str) -> None:
    """Print text unchanged, in one line."""
    line = printable(" ".join(text.split()))
    console.print(line, markup=False, highlight=False, soft_wrap=True)
