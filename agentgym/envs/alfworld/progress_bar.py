"""A progress bar for work that takes more than a moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

MANY = 500
"""Items from which on progress is shown."""


def tracked(items: Iterable[Item], total: int, description: str) -> Iterator[Item]:
    """Yield ``items``; where there are many, show progress on the standard error of a terminal."""
    if total < MANY:
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    hidden = not console.is_terminal
    yield from track(
        items, description, total=total, console=console, transient=True, disable=hidden
    )
