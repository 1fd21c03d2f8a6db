"""The progress of an evaluation: a bar on a terminal, lines on standard error elsewhere."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.evaluation import EpisodeResult, Prices
    from agentgym.policies.base import ModelOutput

SOONEST = 30.0
"""Least seconds between two lines."""


class EpisodeProgress:
    """Episodes, the time left, the success so far, and the tokens, in all and a second.

    Args:
        console: Where the bar is drawn.
        total: Episodes to play.
        prices: Prices of tokens.
        completed: Episodes that were played before, and come at once.
        quiet: Whether no lines are written; a quiet console draws no bar by itself.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        prices: Prices | None,
        *,
        completed: int = 0,
        quiet: bool = False,
    ) -> None:
        from agentgym.support.progress_bars import FittedProgress
        from agentgym.support.progress_lines import ProgressLines

        self._prices = prices
        # Sums, not the rows: adding up all of them after each would take minutes for 10,000.
        self._played = self._solved = self._failed = self._tokens = 0
        self._cost = 0.0
        self._total = total
        self._progress = FittedProgress(console, transient=True)
        self._bar = self._progress.begin("episodes", total)
        silent = quiet or console.is_terminal
        self._lines = None if silent else ProgressLines(_print, SOONEST)
        if self._lines is not None:
            self._lines.begin("episodes", total, completed)
        self._lock = threading.Lock()
        self._tokens_written, self._start_time = 0, time.monotonic()

    def __enter__(self) -> EpisodeProgress:
        """Show the bar."""
        self._progress.start()
        if self._lines is not None:
            self._lines.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the bar away."""
        self._progress.stop()
        if self._lines is not None:
            self._lines.stop()

    @property
    def has_rows(self) -> bool:
        """Whether any episode was counted; episodes of a finished evaluation are not."""
        return self._played > 0

    def add(self, row: EpisodeResult) -> None:
        """Count an episode that has ended."""
        self._played += 1
        self._solved += row.valid and row.success
        self._failed += not row.valid
        self._tokens += row.prompt_tokens + row.completion_tokens
        if self._prices is not None:
            self._cost += self._prices.cost(row)
        values = self._values()
        self._progress.update(self._bar, advance=1, values=values)
        # The report follows the last one.
        if self._lines is not None and self._played < self._total:
            self._lines.update(self._played, values)

    def count(self, output: ModelOutput) -> None:
        """Count the tokens that a model wrote in a turn, from any thread."""
        with self._lock:
            self._tokens_written += output.completion_tokens
        if self._lines is not None:
            self._lines.count(output.completion_tokens)
        else:
            self._progress.update(self._bar, values=self._values())

    def _values(self) -> str:
        """Write the measurements; a narrow terminal leaves them out from the last one."""
        from agentgym.evaluation.prices import dollars

        parts = [f"{self._solved} solved"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        if self._tokens_written:
            parts.append(
                f"tokens_s {self._tokens_written / (time.monotonic() - self._start_time):,.0f}"
            )
        if self._tokens:
            parts.append(f"{self._tokens:,} tokens")
        if self._prices is not None:
            parts.append(f"{dollars(self._cost)} US dollars")
        return "  ".join(parts)


def _print(line: str) -> None:
    """Print a line on standard error, as the trainer does: standard output holds the result."""
    from rich.console import Console

    Console(stderr=True).print(line, highlight=False, markup=False, soft_wrap=True)
