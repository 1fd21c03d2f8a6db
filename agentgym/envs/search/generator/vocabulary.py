"""The real words of the encyclopaedia, which ``vocabulary.yaml`` holds."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.bundled_files import read_table


@dataclass(frozen=True)
class _Vocabulary:
    words: dict[str, tuple[str, ...]]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    second: dict[str, tuple[str, ...]]
    more_second: dict[str, tuple[str, ...]]
    unwanted: tuple[str, ...]


_VOCABULARY = read_table(_Vocabulary, __file__)
WORDS = _VOCABULARY.words
"""Words by what they fill: values of relations that lead to words, and ``{some thing}`` slots."""
ADJECTIVES = _VOCABULARY.adjectives
NOUNS = _VOCABULARY.nouns
"""Words from which titles of books are put together."""
SECOND_WORDS = _VOCABULARY.second
"""The second words of two-word names, by kind."""
MORE_SECOND_WORDS = _VOCABULARY.more_second
"""Further second words of plain names in large universes."""
UNWANTED = _VOCABULARY.unwanted
"""What no word made of syllables may hold."""
