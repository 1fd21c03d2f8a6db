"""Draft tokens, guessed from earlier continuations of the same two tokens.

A policy writes the same words again and again: names of actions, brackets, what it read on the
page. A forward can check several guessed tokens at once, and since each token has a random number
of its own, what is sampled does not depend on what was guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["Drafts"]

SURE = 0.7
"""Share of the times that a token has come next at which it is guessed."""
MOST = 100_000
"""Pairs of tokens that are remembered."""


class Drafts:
    """Which token came after which two."""

    def __init__(self) -> None:
        """Know nothing."""
        self._next: dict[tuple[int, int], dict[int, int]] = {}
        self._likely: dict[tuple[int, int], int] = {}

    def learn(self, before: Sequence[int], ids: Sequence[int]) -> None:
        """Remember what was written.

        Args:
            before: The text so far.
            ids: What was written then.
        """
        text = [*before[-2:], *ids]
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

    def guess(self, before: Sequence[int], most: int) -> list[int]:
        """Return at most so many tokens that probably come next, maybe none."""
        tokens: list[int] = []
        if len(before) < 2:
            return tokens
        pair = before[-2], before[-1]
        while len(tokens) < most and (token := self._likely.get(pair)) is not None:
            tokens.append(token)
            pair = pair[1], token
        return tokens
