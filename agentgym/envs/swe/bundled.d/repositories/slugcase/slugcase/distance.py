"""Distances and similarities of two texts."""

from __future__ import annotations

from collections.abc import Sequence


def hamming(a: Sequence[object], b: Sequence[object]) -> int:
    """Count the places at which two texts of the same length differ."""
    if len(a) != len(b):
        raise ValueError(f"lengths differ: {len(a)} and {len(b)}")
    return sum(x != y for x, y in zip(a, b, strict=True))


def levenshtein(a: str, b: str, transpose: bool = False, limit: int | None = None) -> int:
    """Count the insertions, deletions and replacements that turn one text into another.

    Args:
        a: A text.
        b: Another text.
        transpose: Whether swapping two neighbours counts as one change (Damerau).
        limit: Beyond this distance the exact one does not matter: ``limit + 1`` is returned.
    """
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        current = [i]
        for j, y in enumerate(b, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if transpose and i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if limit is not None and min(current) > limit and not transpose:
            return limit + 1
        before, previous = previous, current
    if limit is not None:
        return min(previous[-1], limit + 1)
    return previous[-1]


def ratio(a: str, b: str) -> float:
    """Turn the distance into a similarity from 0 to 1; two empty texts are equal."""
    longest = max(len(a), len(b))
    return 1 - levenshtein(a, b) / longest if longest else 1.0


def jaro(a: str, b: str) -> float:
    """Compute the similarity of M. A. Jaro (1989), from 0 to 1."""
    if a == b:
        return 1.0
    reach = max(max(len(a), len(b)) // 2 - 1, 0)
    taken = [False] * len(b)
    matched_a: list[str] = []
    for i, char in enumerate(a):
        for j in range(max(i - reach, 0), min(i + reach + 1, len(b))):
            if not taken[j] and b[j] == char:
                taken[j] = True
                matched_a.append(char)
                break
    matches = len(matched_a)
    if matches == 0:
        return 0.0
    matched_b = [char for char, used in zip(b, taken, strict=True) if used]
    swapped = hamming(matched_a, matched_b) / 2
    return (matches / len(a) + matches / len(b) + (matches - swapped) / matches) / 3


def jaro_winkler(a: str, b: str, weight: float = 0.1) -> float:
    """Raise the similarity of Jaro for texts that begin alike (W. E. Winkler, 1990).

    Args:
        a: A text.
        b: Another text.
        weight: How much each of up to four common characters at the beginning counts.
    """
    if not 0 <= weight <= 0.25:
        raise ValueError(f"weight is between 0 and 0.25, got {weight}")
    base = jaro(a, b)
    return base + min(len(common_prefix(a, b)), 4) * weight * (1 - base)


def common_prefix(*texts: str) -> str:
    """Find the longest beginning that all texts share."""
    if not texts:
        return ""
    shortest, longest = min(texts), max(texts)
    for place, char in enumerate(shortest):
        if char != longest[place]:
            return shortest[:place]
    return shortest
