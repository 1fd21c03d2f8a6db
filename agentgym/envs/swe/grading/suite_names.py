"""Names that the authors of a suite could have given: made of the words of those they gave."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable

from agentgym.support.random_stream import Stream

TRIES = 100
"""Names that are made before a known one gets a number."""
_WORDS = re.compile(r"_*(?:[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+)|_+")


def another_name(stream: Stream, examples: Iterable[str], excluded: Collection[str]) -> str:
    """Return a new name: it begins as one of the known names and ends as another.

    It has no more words than the longer of the two and no fewer than the shorter, so neither its
    words nor its length tell it from them.

    Args:
        stream: Decides which.
        examples: Names of one kind, such as ``test_empty_text`` or ``TestParser``.
        excluded: Names that it must not be.
    """
    names = sorted(set(examples)) or ["test_value"]
    for _ in range(TRIES):
        first, last = (_WORDS.findall(stream.choice(names)) for _ in range(2))
        if not first or not last:
            continue
        # The first word stands for what pytest looks for.
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
