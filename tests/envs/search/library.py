"""A hand-made corpus, a retriever that counts, and questions over them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from agentgym.envs.search.engine.scoring import normalise
from agentgym.envs.search.question import Question
from agentgym.errors import EnvFailure
from agentgym.retrieval import Hit, Passage

PASSAGES = (
    Passage("p0", "Ada Marley", "Ada Marley was a poet from Belden. She worked for Wern Tools."),
    Passage("p1", "Wern Tools", "Wern Tools makes saws. Tom O'Hare founded the company in 1934."),
    Passage("p2", "Belden", "Belden is a town in Orland. Its mayor is Kit Sorrel."),
    Passage("p3", "Kit Sorrel", "Kit Sorrel was born in Harrow in 1901."),
    Passage("p4", "Harrow", "Harrow is a town in Orland, known for glass."),
    Passage("p5", "Wern Hall", "Wern Hall is a school in Harrow."),
)
QUESTIONS = (
    Question("Who founded Wern Tools?", ("Tom O'Hare",), "chain", 1, ("p1",),
             ("Wern Tools founded",)),
    Question("Where was the mayor of Belden born?", ("Harrow",), "chain", 2, ("p2", "p3"),
             ("Belden mayor", "Kit Sorrel born")),
    Question("When was the employer of Ada Marley founded?", ("1934",), "chain", 2, ("p0", "p1"),
             ("Ada Marley worked for", "Wern Tools founded")),
)  # fmt: skip


class CountingRetriever:
    """Ranks passages by shared words, and remembers every call."""

    def __init__(self, passages: Sequence[Passage] = PASSAGES) -> None:
        self.passages = tuple(passages)
        self.calls: list[tuple[tuple[str, ...], int]] = []
        self.failure: BaseException | None = None
        self.closed = False

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Find by words, or fail as told."""
        self.calls.append((tuple(queries), k))
        if self.failure is not None:
            raise self.failure
        return [self._ranked(query)[:k] for query in queries]

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def _ranked(self, query: str) -> list[Hit]:
        words = set(normalise(query).split())
        hits = []
        for passage in self.passages:
            title = set(normalise(passage.title).split())
            text_words = title | set(normalise(passage.text).split())
            score = float(len(words & text_words) + len(words & title))
            hits.append(Hit(passage, score))
        return sorted(
            (hit for hit in hits if hit.score), key=lambda hit: (-hit.score, hit.passage.id)
        )


def failing(message: str = "the server is down") -> CountingRetriever:
    """Return a retriever that fails."""
    retriever = CountingRetriever()
    retriever.failure = EnvFailure(message)
    return retriever


def write_questions(folder: Path, questions: Sequence[Question] = QUESTIONS) -> Path:
    """Write a question file in which all questions are of the split ``train``."""
    path = folder / "toy.jsonl"
    lines = [
        {"question": question.text, "golden_answers": question.answers, "gold": question.gold,
         "hops": question.hops, "split": "train"}
        for question in questions
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path
