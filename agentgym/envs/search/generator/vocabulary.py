"""The real words of the encyclopaedia, which ``vocabulary.yaml`` holds."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.support.bundled_files import read_table


@dataclass(frozen=True)
class _Vocabulary:
    words: dict[str, tuple[str, ...]]
    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]


_VOCABULARY = read_table(_Vocabulary, __file__)
WORDS = _VOCABULARY.words
"""Words by what they fill: values of relations that lead to words, and ``{some thing}`` slots."""
ADJECTIVES = _VOCABULARY.adjectives
NOUNS = _VOCABULARY.nouns
"""Words from which titles of books are put together."""
