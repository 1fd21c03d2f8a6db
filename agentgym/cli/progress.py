"""The progress bar of an evaluation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.evaluation import EpisodeResult, Prices


class EpisodeProgress:
    """A progress bar with the time left, the success so far and the tokens used.

    Args:
        console: Where the bar is drawn.
        total: Episodes to play.
        prices: Prices of tokens.
    """

    def __init__(self, console: Console, total: int, prices: Prices | None) -> None:
        from agentgym.support.progress_bars import FittedProgress

        self._prices = prices
        self._rows: list[EpisodeResult] = []
        self._progress = FittedProgress(console, transient=True)
        self._bar = self._progress.begin("episodes", total)

    def __enter__(self) -> EpisodeProgress:
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the bar away."""
        self._progress.stop()

    @property
    def told(self) -> bool:
        """Whether any episode was counted; episodes of a finished evaluation are not."""
        return bool(self._rows)

    def add(self, row: EpisodeResult) -> None:
        """Count an episode that has ended."""
        from agentgym.evaluation.prices import dollars

        self._rows.append(row)
        valid = [each for each in self._rows if each.valid]
        told = [f"{sum(each.success for each in valid)} solved"]
        if len(valid) < len(self._rows):
            told.append(f"{len(self._rows) - len(valid)} failed")
        tokens = sum(each.prompt_tokens + each.completion_tokens for each in self._rows)
        if tokens:
            told.append(f"{tokens:,} tokens")
        if self._prices is not None:
            cost = dollars(sum(map(self._prices.cost, self._rows)))
            told.append(f"{cost} US dollars")
        self._progress.update(self._bar, advance=1, values="  ".join(told))
