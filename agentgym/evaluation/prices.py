"""Prices of tokens, and limits on tokens and cost."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agentgym.core.hooks import finite
from agentgym.core.options import integer
from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from agentgym.evaluation.episode_result import EpisodeResult, summed
from agentgym.policies.base import ModelOutput

MILLION = 1_000_000


@dataclass(frozen=True)
class Prices:
    """Prices of a model's tokens, in US dollars per million."""

    prompt: float
    """Price of tokens that the model reads."""
    completion: float
    """Price of tokens that the model writes, including thinking."""
    cached: float | None = None
    """Price of tokens that the model reads from a cache; None: the price of other tokens."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A price is negative, not finite, or no number.
        """
        for name, value in asdict(self).items():
            if (value is not None or name != "cached") and not (finite(value) and value >= 0):
                raise ConfigurationError(
                    f"expected the price of {name} tokens to be at least 0 US dollars per million, "
                    f"got {value!r:.80}"
                )

    def cost(self, used: ModelOutput | EpisodeResult) -> float:
        """Return the cost of the tokens of an episode or a response, in US dollars."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = max(0, used.prompt_tokens - used.cached_tokens)
        prompt_cost = fresh * self.prompt + used.cached_tokens * cached
        return (prompt_cost + used.completion_tokens * self.completion) / MILLION


@dataclass(frozen=True)
class Limits:
    """Limits of an episode, or of all episodes of an evaluation together.

    At the limit, an episode ends with its current score; an evaluation begins no further episode.
    """

    tokens: int | None = None
    """Tokens that the model reads and writes in all turns."""
    cost: float | None = None
    """US dollars; needs `Prices`."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: A limit is not above 0, not finite, or no number.
        """
        for name, value in asdict(self).items():
            if value is not None and not (finite(value) and value > 0):
                raise ConfigurationError(
                    f"expected the limit on {name} to be a number greater than 0, got "
                    f"{value!r:.80}; leave it out where there is none"
                )
        if self.tokens is not None:
            integer(self.tokens, "the limit on tokens")

    def __str__(self) -> str:
        """Return the limits in words."""
        parts = [f"{self.tokens:,} tokens"] if self.tokens is not None else []
        parts += [f"{self.cost:g} US dollars"] if self.cost is not None else []
        return " and ".join(parts) or "none"

    def reached(self, used: ModelOutput, prices: Prices | None) -> StopReason:
        """Return the limit that is reached with these tokens, or ``NONE``."""
        read_and_written = used.prompt_tokens + used.completion_tokens
        if self.tokens is not None and read_and_written >= self.tokens:
            return StopReason.TOKEN_LIMIT
        if self.cost is not None and prices is not None and prices.cost(used) >= self.cost:
            return StopReason.COST_LIMIT
        return StopReason.NONE


class Spending:
    """The tokens and cost of all episodes of an evaluation, counted across threads.

    Args:
        limits: Limits of all episodes together.
        prices: Prices of tokens.
        old_results: Episodes of earlier sessions, which count, too.
    """

    def __init__(
        self, limits: Limits, prices: Prices | None, old_results: Sequence[EpisodeResult] = ()
    ) -> None:
        self._limits, self._prices = limits, prices
        self._used = summed(old_results)
        self._lock = threading.Lock()

    def add(self, result: EpisodeResult) -> None:
        """Count an episode that has ended."""
        # Without the lock, one of two concurrent additions could be lost.
        with self._lock:
            self._used = summed([self._used, result])

    @property
    def reached(self) -> bool:
        """Whether a limit is reached, so that no further episode should begin."""
        return self._limits.reached(self._used, self._prices) is not StopReason.NONE


def dollars(amount: float) -> str:
    """Format an amount of US dollars: with cents, or two significant digits if it is smaller."""
    decimals = 2 if amount <= 0 else max(2, 1 - math.floor(math.log10(amount)))
    return f"{amount:,.{decimals}f}"
