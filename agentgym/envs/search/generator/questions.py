"""Questions by number: each made on demand, checked by searching, and unlike all the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count, islice

from agentgym.envs.search.generator.drafts import Drafter, QuestionDraft
from agentgym.envs.search.generator.facts import GENERATOR_VERSION
from agentgym.envs.search.generator.universe import Universe
from agentgym.envs.search.question import Question
from agentgym.errors import DataError
from agentgym.retrieval.retriever import Retriever
from agentgym.support.random_stream import Stream

__all__ = ["GENERATOR_VERSION", "TOP", "QuestionGenerator"]

TOP = 3
"""A query of a plan finds its passages among this many."""
_DRAWS = 3
"""Drafts about one target before the next one is tried."""
_LIMIT = 600
"""Drafts before a universe is given up."""


class QuestionGenerator:
    """Questions about one universe, numbered from 0.

    Kind and hops of a number follow from the cycle of the configuration. Each number has targets of
    its own (see :mod:`~agentgym.envs.search.generator.drafts`), at its places in a permutation of
    all targets of its shape. The first draft whose plan works becomes the question, so no question
    depends on another, and no two are equal. (In a universe of a few hundred passages the targets
    can run out; then those of other numbers are taken.)

    Args:
        universe: What to ask about.
        search: An index of the universe's passages. The questions depend on it, since those whose
            plan does not find its passages are replaced.
    """

    def __init__(self, universe: Universe, search: Retriever) -> None:
        self._universe = universe
        self._search = search
        self._cycle = universe.config.cycle
        self._shapes: dict[tuple[str, int], list[_Permuted]] = {}

    def __len__(self) -> int:
        """Number of questions: half as many as there are passages, or a quarter."""
        return self._universe.size // self._universe.config.passages_a_question

    def shape(self, number: int) -> tuple[str, int]:
        """Return kind and hops of a question, without making it."""
        return self._cycle[number % len(self._cycle)]

    def hops(self, number: int) -> int:
        """Return the hops of a question, without making it."""
        return self.shape(number)[1]

    def question(self, number: int) -> Question:
        """Return a question, the same each time.

        Args:
            number: From 0 to the number of questions - 1.

        Raises:
            IndexError: There is no such question.
            DataError: The universe is too small for it, or the index is not that of its passages.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"expected the number of a question below {len(self)}, got {number}")
        kind, hops = self.shape(number)
        for draft in islice(self._drafts(number), _LIMIT):
            if draft is not None and self._works(draft):
                gold = dict.fromkeys(str(entity) for step in draft.steps for entity in step.gold)
                plan = tuple(step.query for step in draft.steps)
                return Question(draft.text, draft.answers, kind, hops, tuple(gold), plan)
        raise DataError(
            f"expected a {kind} question of {hops} hops about a universe of "
            f"{self._universe.size:,} passages, but {_LIMIT} drafts led nowhere; check that the "
            "index holds the passages of this universe, or make the universe larger"
        )

    def _drafts(self, number: int) -> Iterator[QuestionDraft | None]:
        """Draft questions about the targets of a number; None where the draws led nowhere."""
        kind, hops = self.shape(number)
        facts, drafter = self._universe.facts, self._drafter
        for attempt, (entity, group) in enumerate(self._targets(number)):
            stream = facts.stream("question", number, attempt)
            for _ in range(_DRAWS):
                yield drafter.draft(kind, hops, entity, group + 1, stream)

    def _targets(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield the targets of a number with the places of their lists, its own ones first.

        Then, in small universes, come all there are, from the far end of each list, and on and on.
        """
        shape = self.shape(number)
        groups = self._permuted(shape)
        rounds, place = divmod(number, len(self._cycle))
        in_cycle = self._cycle.count(shape)
        ordinal = rounds * in_cycle + self._cycle[:place].count(shape)
        alike = in_cycle * -(-len(self) // len(self._cycle))
        first, own_group = divmod(ordinal, len(groups))
        for index in range(first, len(groups[own_group]), -(-alike // len(groups))):
            yield groups[own_group][index], own_group
        for turn in count(1) if any(map(len, groups)) else ():
            group = (own_group + turn) % len(groups)
            for index in range(len(groups[group])):
                yield groups[group][-1 - first - index], group

    def _works(self, draft: QuestionDraft) -> bool:
        """Return whether the plan finds its passages, and is needed.

        A question that its own words answer, when they are searched for, is no question of several
        hops.
        """
        if draft.hidden:
            for hit in self._search.search([draft.text], TOP)[0]:
                text = f"{hit.passage.title} {hit.passage.text}"
                if any(name in text for name in draft.hidden):
                    return False
        results = self._search.search([step.query for step in draft.steps], TOP)
        return all(
            {str(entity) for entity in step.gold} <= {hit.passage.id for hit in hits}
            for step, hits in zip(draft.steps, results, strict=True)
        )

    def _permuted(self, shape: tuple[str, int]) -> list[_Permuted]:
        """Return the targets of a shape, each list in an order that the seed decides."""
        targets = self._shapes.get(shape)
        if targets is None:
            stream = self._universe.facts.stream("targets", *shape)
            targets = [_Permuted(entities, stream) for entities in self._drafter.targets(*shape)]
            self._shapes[shape] = targets
        return targets

    @cached_property
    def _drafter(self) -> Drafter:
        return Drafter(self._universe.config, self._universe.facts)


class _Permuted:
    """A list in another order: place ``i`` holds item ``(a * i + b) mod n``."""

    def __init__(self, items: Sequence[int], stream: Stream) -> None:
        self._items = items
        size = max(len(items), 1)
        self._start = stream.below(size)
        self._step = size // 2 + stream.below(size)
        while math.gcd(self._step, size) > 1:
            self._step += 1

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: int) -> int:
        return self._items[(self._step * place + self._start) % len(self._items)]
