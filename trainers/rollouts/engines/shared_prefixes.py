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


def shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while high - low > 1:  # They agree up to low, and differ before high.
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def shared_prefixes(prompts: Sequence[list[int]], held: Sequence[int]) -> list[SharedPrefix]:
    """Find the next prefixes that are worth a forward of their own.

    Of the tree of all prompts these are the branches next to what is held: when they are, ask
    again for the twigs.

    Args:
        prompts: Different prompts.
        held: Tokens of each whose keys and values are there already.
    """
    order = sorted(range(len(prompts)), key=lambda number: prompts[number])
    found = []
    for run, length in _alike(prompts, held, order):
        if len(run) < 2:
            continue
        # The last token of a prompt is fed for its logits.
        length = min([length, *(len(prompts[number]) - 1 for number in run)])
        if (length - held[run[0]]) * (len(run) - 1) >= SAVED:
            found.append(SharedPrefix(run, length))
    return found


def _alike(
    prompts: Sequence[list[int]], held: Sequence[int], order: Sequence[int]
) -> Iterator[tuple[list[int], int]]:
    """Yield neighbors in sorted order that go on alike behind what is held, and how far."""
    run, length = list(order[:1]), 0
    for one, other in pairwise(order):
        shared = shared_length(prompts[one], prompts[other])
        if held[one] == held[other] and shared >= held[one] + LEAST:
            length = min(length, shared) if len(run) > 1 else shared
            run.append(other)
        else:
            yield run, length
            run, length = [other], 0
    yield run, length
