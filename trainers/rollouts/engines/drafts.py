"""Draft tokens for speculative decoding: earlier continuations of the same two tokens.

A policy repeats itself: names of actions, brackets, words from the page. A forward pass can verify
several draft tokens at once, and since each token has its own random number, the samples do not
depend on the drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["Drafts"]

SURE = 0.7
"""Minimum share of its context's continuations for a token to be drafted."""
MOST = 100_000
"""Maximum pairs of tokens in the table."""


class Drafts:
    """A table of the tokens that followed each pair of tokens."""

    def __init__(self) -> None:
        """Start with an empty table."""
        self._next: dict[tuple[int, int], dict[int, int]] = {}
        self._likely: dict[tuple[int, int], int] = {}

    def learn(self, preceding: Sequence[int], ids: Sequence[int]) -> None:
        """Add sampled tokens to the table.

        Args:
            preceding: The text so far.
            ids: The tokens sampled after it.
        """
        text = [*preceding[-2:], *ids]
        for pair, token in zip(pairwise(text), text[2:], strict=False):
            counts = self._next.get(pair)
            if counts is None:
                if len(self._next) >= MOST:
                    continue
                counts = self._next[pair] = {}
            counts[token] = counts.get(token, 0) + 1
            best = max(counts, key=counts.__getitem__)
            if counts[best] >= SURE * sum(counts.values()):
                self._likely[pair] = best
            else:
                self._likely.pop(pair, None)

    def guess(self, preceding: Sequence[int], limit: int) -> list[int]:
        """Return at most ``limit`` likely next tokens, possibly none."""
        tokens: list[int] = []
        if len(preceding) < 2:
            return tokens
        pair = preceding[-2], preceding[-1]
        while len(tokens) < limit and (token := self._likely.get(pair)) is not None:
            tokens.append(token)
            pair = pair[1], token
        return tokens
