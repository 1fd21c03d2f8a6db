"""Generate test names that look like those of a suite, by recombining the words of its names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable

from agentgym.support.random_stream import Stream

TRIES = 100
"""Number of attempts before an existing name gets a numeric suffix instead."""
_WORDS = re.compile(r"_*(?:[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+)|_+")


def another_name(stream: Stream, examples: Iterable[str], excluded: Collection[str]) -> str:
    """Return a new name that begins like one of the examples and ends like another.

    Its number of words is between those of the two, so neither its words nor its length
    distinguish it from them.

    Args:
        stream: Source of randomness.
        examples: Names of one kind, such as ``test_empty_text`` or ``TestParser``.
        excluded: Names that must not be returned.
    """
    names = sorted(set(examples)) or ["test_value"]
    for _ in range(TRIES):
        first, last = (_WORDS.findall(stream.choice(names)) for _ in range(2))
        if not first or not last:
            continue
        # Keep the first word: it is the prefix by which pytest finds tests.
        words = first[: stream.between(1, len(first))] + last[stream.between(1, len(last)) :]
        fits = min(len(first), len(last)) <= len(words) <= max(len(first), len(last))
        twice = any(word == next_word for word, next_word in itertools.pairwise(words))
        name = "".join(words)
        if fits and not twice and name.isidentifier() and name not in excluded:
            return name
    base, number = stream.choice(names), 2
    while f"{base}_{number}" in excluded:
        number += 1
    return f"{base}_{number}"
