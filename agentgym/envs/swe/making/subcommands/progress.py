"""The bar of work that takes its time: what is at hand, how many are done, and for how long."""

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
    """Show a bar while things are done one after the other, if there is a terminal.

    Args:
        console: Where to show it.
        label: What is done.
        total: How many there are, if that is known.
        completed: How many are done; -1 where each is announced before it is done.

    Yields:
        What is called after each, with fields of ``rich.progress.Progress.update``.
    """
    from agentgym.support.progress_bars import FittedProgress

    with FittedProgress(console, transient=True) as progress:
        yield partial(progress.update, progress.begin(label, total, completed))
