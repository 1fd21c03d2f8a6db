"""Blank pictures: to draw takes half of a toy run, and few tests look at what is drawn.

All is laid out as ever; matplotlib alone does not render it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest
from matplotlib.figure import Figure

BLANK = {"png": b"\x89PNG\r\n\x1a\n", "svg": '<svg viewBox="0 0 1 1"></svg>'}
DRAW = Figure.savefig


@contextmanager
def drawn(really: bool = True) -> Iterator[None]:
    """Draw pictures, or leave them blank, for a while."""

    def leave_blank(figure: Figure, file: IO[Any], *, format: str, **options: Any) -> None:
        file.write(BLANK[format])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", DRAW if really else leave_blank)
        yield
