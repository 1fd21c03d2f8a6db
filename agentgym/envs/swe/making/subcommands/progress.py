"""The progress bar of long work: the current item, the number done, and the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["counted"]


@contextmanager
def counted(
    console: Console, label: str, total: int | None = None, completed: int = 0
) -> Iterator[Callable[..., None]]:
    """Show a bar during a sequence of steps, if there is a terminal.

    Args:
        console: Where to show it.
        label: Label of the work.
        total: Number of steps, if known.
        completed: Number done at the start; -1 if each step is announced before it is done.

    Yields:
        A function to call after each, with fields of ``rich.progress.Progress.update``.
    """
    from agentgym.support.progress_bars import FittedProgress

    with FittedProgress(console, transient=True) as progress:
        yield partial(progress.update, progress.begin(label, total, completed))
