"""Beginnings that several prompts share, such as the system prompt of a family's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["LEAST", "SharedPrefix", "shared_length", "shared_prefixes"]

LEAST = 32
"""Tokens of a prefix from which on it is copied, not computed."""
SAVED = 128
"""Tokens that a forward of a prefix by itself has to save: it costs as much as some tokens do."""


class SharedPrefix(NamedTuple):
    """Prompts that begin alike."""

    prompts: list[int]
    """Their numbers; the first is to be fed."""
    length: int
    """Tokens that all of them begin with."""


def shared_length(text: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two texts begin with alike."""
    low, high = 0, min(len(text), len(other))
    if text[:high] == other[:high]:
        return high
    while high - low > 1:  # They agree up to low, and differ before high.
        middle = (low + high) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def shared_prefixes(prompts: Sequence[list[int]], n_cached: Sequence[int]) -> list[SharedPrefix]:
    """Find the next prefixes that are worth a forward of their own.

    Of the tree of all prompts these are the branches next to what is held: when they are, ask
    again for the twigs.

    Args:
        prompts: Different prompts.
        n_cached: Tokens of each whose keys and values are there already.
    """
    order = sorted(range(len(prompts)), key=lambda number: prompts[number])
    prefixes = []
    for run, length in _alike(prompts, n_cached, order):
        if len(run) < 2:
            continue
        # The last token of a prompt is fed for its logits.
        length = min([length, *(len(prompts[number]) - 1 for number in run)])
        if (length - n_cached[run[0]]) * (len(run) - 1) >= SAVED:
            prefixes.append(SharedPrefix(run, length))
    return prefixes


def _alike(
    prompts: Sequence[list[int]], n_cached: Sequence[int], order: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Yield neighbors in sorted order that go on alike behind what is held, and how far."""
    run, length = list(order[:1]), 0
    for number, other in pairwise(order):
        shared = shared_length(prompts[number], prompts[other])
        if n_cached[number] == n_cached[other] and shared >= n_cached[number] + LEAST:
            length = min(length, shared) if len(run) > 1 else shared
            run.append(other)
        else:
            yield run, length
            run, length = [other], 0
    yield run, length
