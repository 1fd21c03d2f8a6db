"""Progress bars that keep what matters in a narrow terminal: description, count and time left.

A row is a description, a bar, the count, the time left and measurements. Where there is no room for
all of them, measurements are left out from the last one, then the bar gets shorter and goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.control import Control
from rich.progress import Progress, Task, TaskID, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

__all__ = ["FittedProgress"]

LONGEST_BAR, SHORTEST_BAR = 24, 6
"""Cells of a bar that has room, and below which there is none."""
BETWEEN = "  "
"""Separator of measurements."""


class FittedProgress(Progress):
    """Bars whose rows are never longer than the terminal is wide.

    Args:
        console: Console to draw on; nothing is drawn if it is not a terminal.
        transient: Whether they are taken away at the end.
        hidden: Draw nothing.
        speed_seconds: Seconds over which the speed is estimated.
    """

    def __init__(
        self,
        console: Console,
        *,
        transient: bool = False,
        hidden: bool = False,
        speed_seconds: float = 30.0,
    ) -> None:
        self._time_left = TimeRemainingColumn()
        self._screen, self._drawn_at = console, console.width
        self._lengths: tuple[int, ...] = ()
        # Drawn once by this already, so it comes last.
        super().__init__(
            console=console,
            transient=transient,
            disable=hidden or not console.is_terminal,
            speed_estimate_period=speed_seconds,
        )

    def begin(
        self, description: str, total: float | None, completed: float = 0, values: str = ""
    ) -> TaskID:
        """Add a row; `update` takes ``values``, too: measurements with two spaces between them."""
        row = self.add_task(description, total=total, values=values)
        self.update(row, completed=completed)
        return row

    def get_renderable(self) -> RenderableType:
        """Return the rows, cut to the present width."""
        self._take_back_wrapped_lines()
        return super().get_renderable()

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the rows."""
        yield self.make_tasks_table(self.tasks)

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        """Return the rows as a table that fits the terminal."""
        visible = [task for task in tasks if task.visible]
        cells = [(task.description, _count(task), self._time(task)) for task in visible]
        widths = [max(map(cell_len, column), default=0) for column in zip(*cells, strict=True)]
        room = self._screen.width - sum(widths) - max(0, len(widths) - 1) - 1
        values = [_fitting(str(task.fields.get("values", "")), room - 1) for task in visible]
        longest = max(map(cell_len, values), default=0)
        bar = min(LONGEST_BAR, room - 1 - (longest + 1 if longest else 0))
        table = Table.grid(padding=(0, 1, 0, 0))
        for _ in range(5 if bar >= SHORTEST_BAR else 4):
            table.add_column(no_wrap=True, overflow="crop")
        for task, (description, count, time), measured in zip(visible, cells, values, strict=True):
            drawn = [_bar(task, bar)] if bar >= SHORTEST_BAR else []
            table.add_row(Text(description, "bold"), *drawn, count, time, measured)
        used = sum(widths) + len(widths) + (bar + 1 if bar >= SHORTEST_BAR else 0) + longest + 1
        self._lengths = (min(used, self._screen.width),) * len(visible)
        return table

    def _time(self, task: Task) -> str:
        """Write the time left; without a total, or at the end, the time that it took."""
        if task.finished:
            return f"took {_clock(task.finished_time)}"
        if task.total is None:
            return f"after {_clock(task.elapsed)}"
        return f"left {self._time_left.render(task).plain.strip()}"

    def _take_back_wrapped_lines(self) -> None:
        """Erase rows that the terminal wrapped when it became narrower."""
        width = self._screen.width
        if width < self._drawn_at and self._screen.is_terminal:
            wrapped = sum(math.ceil(length / width) - 1 for length in self._lengths if length)
            up = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            self._screen.control(Control(*(up * wrapped)))
        self._drawn_at = width


def _count(task: Task) -> str:
    """Format the completed and the total amount."""
    total = "?" if task.total is None else f"{task.total:g}"
    return f"{task.completed:g}/{total}".rjust(2 * len(total) + 1)


def _bar(task: Task, width: int) -> ProgressBar:
    """Return the bar of a row."""
    return ProgressBar(
        total=task.total,
        completed=task.completed,
        width=width,
        pulse=not task.started,
        animation_time=task.get_time(),
    )


def _fitting(values: str, room: int) -> str:
    """Leave out measurements from the last one until the others fit."""
    parts: Sequence[str] = values.split(BETWEEN) if values else ()
    while parts and cell_len(BETWEEN.join(parts)) > room:
        parts = parts[:-1]
    return BETWEEN.join(parts)


def _clock(seconds: float | None) -> str:
    """Write seconds as hours, minutes and seconds."""
    minutes, rest_seconds = divmod(int(seconds or 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:d}:{minutes:02d}:{rest_seconds:02d}"
