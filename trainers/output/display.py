"""The progress display of a run: phase, step, horizon, reward, speed and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from types import TracebackType

from rich.console import Console
from rich.progress import TaskID
from rich.table import Table

from agentgym.support.progress_bars import FittedProgress
from agentgym.support.progress_lines import ProgressLines
from agentgym.support.terminal import cell
from trainers.output.remarks import scaled_text
from trainers.output.roles import TRAINED
from trainers.output.summary import ArmResult, Results

REFRESH = 1.0
"""Minimum seconds between two updates that need costly measurements."""
UNKNOWN = "-"
"""Shown for a value that has not been measured yet."""


def measurements(values: Mapping[str, object]) -> str:
    """Write measurements as ``name value`` pairs; None has not been measured yet."""
    parts = []
    for name, value in values.items():
        if value is None:
            parts.append(f"{name} {UNKNOWN}")
        elif isinstance(value, float):
            parts.append(f"{name} {value:.3f}" if abs(value) < 100 else f"{name} {value:,.0f}")
        else:
            parts.append(f"{name} {value}")
    return "  ".join(parts)


class Display:
    """A progress bar per phase on a terminal, and lines elsewhere, at least one a minute.

    Args:
        console: Where to draw; None takes standard error.
        quiet: Draw nothing.
        progress: Draw progress bars, not only notes.
    """

    def __init__(
        self, console: Console | None = None, quiet: bool = False, progress: bool = True
    ) -> None:
        self.console = console or Console(stderr=True)
        self._quiet, self._progress = quiet, progress and not quiet
        self._live = self.console.is_terminal and self._progress
        self._bar = FittedProgress(self.console, hidden=not self._live)
        self._task: TaskID | None = None
        self._last_update = 0.0
        lines = ProgressLines(self._print)
        self._lines = lines if self._progress and not self._live else None

    def __enter__(self) -> Display:
        """Start drawing."""
        self._bar.start()
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop drawing and leave the terminal as it was."""
        self._bar.stop()
        if self._lines is not None:
            self._lines.stop()

    def phase(self, name: str, total: int, step: int = 0, unit: str = "steps") -> None:
        """Begin a phase of ``total`` steps (or another unit), of which ``step`` are done."""
        if self._live:
            self._task = self._bar.begin(name, total, step)
        elif self._lines is not None:
            self._print(f"[{name}]" + (f" {total} {unit}" if total > 1 else ""))
            self._lines.begin(name, total, step)

    def update(self, step: int, **values: object) -> None:
        """Show that ``step`` steps of the phase are done, with its measurements."""
        self._last_update = time.monotonic()
        if self._live and self._task is not None:
            self._bar.update(self._task, completed=step, values=measurements(values))
        elif self._lines is not None:
            self._lines.update(step, measurements(values))

    @property
    def due(self) -> bool:
        """Whether an update would be drawn now, so that measurements are worth their cost."""
        if self._live:
            return time.monotonic() - self._last_update >= REFRESH
        return self._lines is not None and self._lines.due

    def count(self, tokens: int) -> None:
        """Count sampled tokens, for the lines printed within a long step."""
        if self._lines is not None:
            self._lines.count(tokens)

    def episodes(self, name: str, total: int, *, result: bool = False) -> Callable[[], None]:
        """Begin a phase that plays episodes; return a function to call as each ends.

        Args:
            name: Name of the phase.
            total: Episodes.
            result: Whether a later update with the result of all ends the phase.
        """
        self.phase(name, total, unit="episodes")
        numbers = count(1)

        def tell() -> None:
            finished_count = next(numbers)
            if finished_count < total or not result:
                self.update(finished_count)

        return tell

    def note(self, text: str | Table) -> None:
        """Show one line, or a table, above the bar."""
        if not self._quiet:
            line = cell(text) if isinstance(text, str) else text
            # A terminal wraps sentences at words; elsewhere each stays on one line.
            self.console.print(line, highlight=False, soft_wrap=not self.console.is_terminal)

    def _print(self, line: str) -> None:
        """Print a line verbatim."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)


def result_table(summary: Results) -> Table:
    """Return the compared policies as a table."""
    panel = summary.evaluation
    table = Table(
        title=f"{summary.env}: {summary.eval[TRAINED].n} held-out tasks, "
        f"{'' if summary.horizon else 'at most '}{panel.horizon} turns, {panel.decoding} actions"
        + (" unless marked greedy" if summary.greedy else "")
    )
    # At 80 columns figures are never cut, and long names take two lines.
    table.add_column("policy")
    for head in ("score, 95 %", "success, 95 %", "turns", "0 to 100"):
        table.add_column(head, justify="right", no_wrap=True)
    for _, name, result in summary.results():
        table.add_row(name, *_cells(result))
    return table


def _cells(result: ArmResult) -> list[str]:
    """Write the figures of one policy."""
    estimates = [
        f"{value:.3f} {low:.2f}-{high:.2f}"
        for value, (low, high) in (
            (result.score_mean, result.score_ci95),
            (result.success, result.success_ci95),
        )
    ]
    return [*estimates, f"{result.turns_mean:.1f}", scaled_text(result.scaled)]
