"""Finding similar texts among many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from slugcase.distance import jaro_winkler, levenshtein
from slugcase.slug import fold


def bigrams(text: str) -> Counter[str]:
    """Count the pairs of neighbouring characters within the words of a text, without case."""
    return Counter(
        word[place : place + 2] for word in text.lower().split() for place in range(len(word) - 1)
    )


def dice(a: str, b: str) -> float:
    """Compare the pairs of characters of two texts (L. R. Dice, 1945), from 0 to 1."""
    left, right = bigrams(a), bigrams(b)
    total = sum(left.values()) + sum(right.values())
    if total == 0:
        return 1.0 if a.lower() == b.lower() else 0.0
    return 2 * sum((left & right).values()) / total


def best_matches(
    text: str, candidates: Iterable[str], count: int = 3, cutoff: float = 0.8
) -> list[str]:
    """Choose the candidates that are most similar, without regard to case and accents.

    Args:
        text: What was meant.
        candidates: What there is.
        count: How many are wanted at most.
        cutoff: The least similarity (of Jaro and Winkler) that counts.

    Returns:
        The candidates, the most similar first; equal ones in their order.
    """
    if count < 1:
        raise ValueError(f"count is at least 1, got {count}")
    wanted = fold(text).lower()
    scored = [(jaro_winkler(wanted, fold(item).lower()), item) for item in candidates]
    good = [pair for pair in scored if pair[0] >= cutoff]
    good.sort(key=lambda pair: -pair[0])
    return [item for _, item in good[:count]]


def closest(text: str, candidates: Iterable[str], limit: int = 2) -> str | None:
    """Choose the candidate with the fewest typing errors, the first among equals.

    Args:
        text: What was typed.
        candidates: What there is.
        limit: How many errors are allowed; ``None`` is returned if all have more.
    """
    best: str | None = None
    for candidate in candidates:
        distance = levenshtein(text, candidate, transpose=True)
        if distance <= limit:
            best, limit = candidate, distance - 1
    return best
