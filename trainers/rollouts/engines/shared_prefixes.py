"""Prefixes that several prompts share, such as the system prompt of a family's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["LEAST", "SharedPrefix", "shared_length", "shared_prefixes"]

LEAST = 32
"""Minimum length of a prefix to copy it instead of computing it."""
SAVED = 128
"""Minimum tokens saved for a separate forward pass of a prefix, which has a fixed cost."""


class SharedPrefix(NamedTuple):
    """Prompts with a common prefix."""

    prompts: list[int]
    """Their indices; the first one is fed."""
    length: int
    """Length of the prefix."""


def shared_length(text: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common prefix of two texts."""
    low, high = 0, min(len(text), len(second))
    if text[:high] == second[:high]:
        return high
    while high - low > 1:  # Bisection: they agree up to low, and differ before high.
        middle = (low + high) // 2
        if text[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle
    return low


def shared_prefixes(prompts: Sequence[list[int]], n_cached: Sequence[int]) -> list[SharedPrefix]:
    """Find the next prefixes that are worth a separate forward pass.

    In the tree of all prompts these are the branches directly after the cached part. Once they are
    cached, call again for the next level.

    Args:
        prompts: Different prompts.
        n_cached: Number of cached tokens of each prompt.
    """
    order = sorted(range(len(prompts)), key=lambda number: prompts[number])
    prefixes = []
    for run, length in _alike(prompts, n_cached, order):
        if len(run) < 2:
            continue
        # The last token of a prompt must be fed, for its logits.
        length = min([length, *(len(prompts[number]) - 1 for number in run)])
        if (length - n_cached[run[0]]) * (len(run) - 1) >= SAVED:
            prefixes.append(SharedPrefix(run, length))
    return prefixes


def _alike(
    prompts: Sequence[list[int]], n_cached: Sequence[int], order: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Yield neighbors in sorted order that share tokens after their cached part, and how many."""
    run, length = list(order[:1]), 0
    for number, following in pairwise(order):
        shared = shared_length(prompts[number], prompts[following])
        if n_cached[number] == n_cached[following] and shared >= n_cached[number] + LEAST:
            length = min(length, shared) if len(run) > 1 else shared
            run.append(following)
        else:
            yield run, length
            run, length = [following], 0
    yield run, length
