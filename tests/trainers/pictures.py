"""Blank pictures: to draw takes half of a toy run, and few tests look at what is drawn.

All is laid out as ever; matplotlib alone does not render it, and the panels of a page, of which a
run has fifteen, are laid out one after the other on the same axes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import IO, Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.studies.runner.blank import BLANK
from tests.trainers.words import remembered
from trainers.output import curve, health_chart
from trainers.phases.multirun.process import Main, begin_process

DRAW, PANEL = Figure.savefig, curve.svg_axes


@contextmanager
def drawn(really: bool = True) -> Iterator[None]:
    """Draw pictures, or leave them blank, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", DRAW if really else _leave_blank)
        for module in (curve, health_chart):
            patch.setattr(module, "svg_axes", PANEL if really else _blank_panel)
        yield


def _leave_blank(figure: Figure, file: IO[Any], *, format: str, **options: Any) -> None:
    file.write(BLANK[format])


@contextmanager
def _blank_panel(size: tuple[float, float]) -> Iterator[tuple[Axes, io.StringIO]]:
    """Give the same axes as ever, and take off afterwards what was laid out."""
    axes = _axes()
    yield axes, io.StringIO(BLANK["svg"])
    for artist in (*axes.lines, *axes.patches, *axes.texts):
        artist.remove()
    axes.set_yscale("linear")


@cache
def _axes() -> Axes:
    return Figure().subplots()


def begin_blank(main: Main, arguments: list[str], log: Path, threads: int = 1) -> BaseProcess:
    """Begin a run in a process of its own, whose pictures are blank, too."""
    return begin_process(partial(_blank, main), arguments, log, threads)


def _blank(main: Main, arguments: list[str]) -> int:
    with drawn(False), remembered():
        return main(arguments)
