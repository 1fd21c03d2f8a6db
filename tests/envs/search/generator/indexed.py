"""Universes with an index of their passages, built once for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from agentgym.envs.search.generator import (
    DIFFICULTIES,
    GeneratorConfig,
    QuestionGenerator,
    Universe,
)
from agentgym.retrieval.bm25 import BM25Index
from agentgym.retrieval.retriever import Hit, Passage


class Indexed:
    """A retriever over the passages of a universe, with the parameters of the shipped index."""

    def __init__(self, universe: Universe) -> None:
        self.passages: list[Passage] = list(universe.passages())
        texts = (f"{passage.title} {passage.title} {passage.text}" for passage in self.passages)
        self._index = BM25Index.build(texts, k1=1.2, b=0.75)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        results = (self._index.search_rows(query, k) for query in queries)
        return [
            [Hit(self.passages[row], float(score)) for row, score in zip(rows, scores, strict=True)]
            for rows, scores in results
        ]

    def close(self) -> None:
        pass


def indexed(config: str | GeneratorConfig, size: int, seed: int) -> tuple[Universe, Indexed]:
    """Return a universe and its index."""
    return _indexed(DIFFICULTIES[config] if isinstance(config, str) else config, size, seed)


@cache
def _indexed(config: GeneratorConfig, size: int, seed: int) -> tuple[Universe, Indexed]:
    universe = Universe(config, size, seed)
    return universe, Indexed(universe)


def questions(config: str | GeneratorConfig, size: int, seed: int) -> QuestionGenerator:
    """Return the questions about a universe."""
    return QuestionGenerator(*indexed(config, size, seed))
