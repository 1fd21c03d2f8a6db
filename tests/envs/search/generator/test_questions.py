"""Questions: true, unique, found by their plans, unlike each other, not answered at a glance."""

from __future__ import annotations

import hashlib
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace
from functools import cache

import pytest

from agentgym.envs.search.generator import (
    DIFFICULTIES,
    GeneratorConfig,
    QuestionGenerator,
    Universe,
)
from agentgym.envs.search.generator.config import EASY, HARD, MEDIUM, QUESTION_KINDS
from agentgym.envs.search.generator.questions import TOP
from agentgym.envs.search.generator.relations import MOST, RELATIONS
from agentgym.envs.search.question import Question
from agentgym.errors import DataError
from agentgym.retrieval.retriever import Hit
from tests.envs.search.generator.indexed import indexed, questions
from tests.envs.search.generator.solving import Solver

# The same on every machine and every Python; raise GENERATOR_VERSION when they change.
GOLDEN = {
    "easy": "73f3146e5c3651008fd7c8e450709a40954c2f02bcaed2221ed22cda72270780",
    "medium": "d49eeb5a1808511105c47e2f68ea8ba6ca08a2a5eacbac3bd16f190c8acf978f",
    "hard": "68aa0ecc6911d2c63fafc9e015cf64c51b24544ce91b6e14d5291bc2758a533c",
    "local": "52c1666cee85554d7891041e52888039d81298376598e25f037955c175df3e62",
}
SIZE, SHIPPED = 3000, 20_000
ALL_KINDS = replace(
    MEDIUM,
    name="all-kinds",
    inverse=60,
    mix=(
        *(("chain", hops, 2) for hops in range(1, 6)),
        *(("comparison", hops, 1) for hops in range(2, 6)),
        *(("intersection", hops, 1) for hops in range(1, 4)),
        *(("count", hops, 1) for hops in range(1, 6)),
    ),
)
CONFIG = pytest.mark.parametrize("config", [EASY, MEDIUM, HARD, ALL_KINDS], ids=lambda c: c.name)
DIFFICULTY = pytest.mark.parametrize("difficulty", DIFFICULTIES)


def normalised(text: str) -> str:
    """Return a text as answers are compared."""
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


@cache
def cache_of(config: str | GeneratorConfig, size: int, seed: int) -> list[Question]:
    """Return where the questions about a universe are kept that have been made."""
    return []


def first_questions(
    config: str | GeneratorConfig, size: int, seed: int, count: int
) -> list[Question]:
    """Return the first questions about a universe."""
    cached, generator = cache_of(config, size, seed), questions(config, size, seed)
    cached += [generator.question(number) for number in range(len(cached), count)]
    return cached[:count]


@DIFFICULTY
def test_the_questions_are_fixed(difficulty: str):
    text = repr([astuple(question) for question in first_questions(difficulty, 1500, 7, 300)])
    assert hashlib.sha256(text.encode()).hexdigest() == GOLDEN[difficulty]


@pytest.mark.slow
@CONFIG
def test_the_texts_alone_give_the_answer_and_no_other(config: GeneratorConfig):
    solver = Solver(indexed(config, SIZE, 1)[1].passages)
    for question in first_questions(config, SIZE, 1, 400):
        answers = solver.answers(question.text)
        assert answers, question
        assert all(answer == {question.answers[0]} for answer in answers), question


@CONFIG
def test_intersections_comparisons_and_counts_are_what_they_say(config: GeneratorConfig):
    generator = questions(config, SIZE, 1)
    for number, question in enumerate(first_questions(config, SIZE, 1, 400)):
        assert (question.kind, question.hops) == generator.shape(number)
        assert question.hops == generator.hops(number) == len(question.plan)
        if question.kind == "count":
            count = int(question.answers[0])
            assert 1 <= count <= MOST
            assert len(question.gold) == question.hops - 1 + count
            assert question.answers[1] == ("zero", "one", "two", "three")[count]
        else:
            # Each search is for an article that no other one has shown.
            assert len(question.gold) == question.hops
            assert len(question.answers) == 1
        if question.kind == "chain":
            assert question.answers[0] not in question.text


@DIFFICULTY
@pytest.mark.parametrize(("size", "seed"), [(SHIPPED, 0), (SIZE, 1)])
def test_every_plan_finds_its_passages(difficulty: str, size: int, seed: int):
    _, index = indexed(difficulty, size, seed)
    for question in first_questions(difficulty, size, seed, 200):
        ids: set[str] = set()
        for query in question.plan:
            ids.update(hit.passage.id for hit in index.search([query], TOP)[0])
        assert ids.issuperset(question.gold)
        if question.kind == "chain":
            last = index.passages[int(question.gold[-1])]
            assert question.answers[0] in f"{last.title} {last.text}"


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", ["easy", "medium", "hard"])
def test_the_question_itself_does_not_find_the_answer(difficulty: str):
    _, index = indexed(difficulty, SHIPPED, 0)
    answered: list[bool] = []
    for question in first_questions(difficulty, SHIPPED, 0, 500):
        if question.hops < 2:
            continue
        hits = index.search([question.text], 3)[0]
        text = normalised(" ".join(f"{hit.passage.title} {hit.passage.text}" for hit in hits))
        answered.append(f" {normalised(question.answers[0])} " in f" {text} ")
    assert len(answered) > 250
    assert sum(answered) <= 0.05 * len(answered)


@pytest.mark.slow
@DIFFICULTY
def test_no_constant_answer_is_worth_giving(difficulty: str):
    answers = Counter(
        normalised(question.answers[0])
        for question in first_questions(difficulty, SHIPPED, 0, 1000)
    )
    assert answers.most_common(1)[0][1] <= 0.01 * 1000


@pytest.mark.slow
@DIFFICULTY
def test_no_two_questions_are_alike(difficulty: str):
    assert (
        len({question.text for question in first_questions(difficulty, SHIPPED, 0, 1000)}) == 1000
    )
    count = 1000 // GeneratorConfig.of(difficulty).passages_a_question
    assert len({question.text for question in first_questions(difficulty, 1000, 1, count)}) == count


def test_counts_come_equally_often():
    config = replace(MEDIUM, name="counting", mix=(("count", 1, 1), ("chain", 1, 49)))
    generator = questions(config, SIZE, 1)
    numbers = [number for number in range(1500) if generator.shape(number)[0] == "count"]
    counts = Counter(generator.question(number).answers[0] for number in numbers)
    assert counts == {"1": 10, "2": 10, "3": 10}


@DIFFICULTY
def test_a_question_depends_on_no_other(difficulty: str):
    first = first_questions(difficulty, 1000, 1, 240)
    generator = questions(difficulty, 1000, 1)
    assert [generator.question(number) for number in (239, 3, 150)] == [
        first[number] for number in (239, 3, 150)
    ]


def test_there_are_enough_of_them():
    generator = questions("medium", SHIPPED, 0)
    assert len(generator) == 10_000
    assert generator.question(9_999).plan
    for number in (-1, 10_000):
        with pytest.raises(IndexError, match="10000"):
            generator.question(number)


@CONFIG
def test_the_mix_is_a_setting(config: GeneratorConfig):
    generator = questions(config, SIZE, 1)
    cycle = len(config.cycle)
    shapes = Counter(generator.shape(number) for number in range(cycle))
    assert shapes == {(kind, hops): count for kind, hops, count in config.mix}
    assert generator.shape(2) == generator.shape(2 + cycle)


def test_every_hop_count_comes_soon():
    for config in (EASY, MEDIUM, HARD):
        assert {hops for _, hops in config.cycle[:30]} == {1, 2, 3, 4, 5}
    assert {kind for kind, _ in MEDIUM.cycle} == set(QUESTION_KINDS)


def test_steps_from_a_value_to_the_only_thing_with_it_are_a_setting():
    forward = {relation.words for relation in RELATIONS.values()}
    words = {relation.inverse_words for relation in RELATIONS.values()} - forward

    def share(inverse: int) -> float:
        config = replace(MEDIUM, name=f"inverse-{inverse}", inverse=inverse)
        chains = [chain for chain in first_questions(config, SIZE, 1, 200) if chain.kind == "chain"]
        return sum(any(chain.plan[-1].endswith(w) for w in words) for chain in chains) / len(chains)

    assert share(0) == 0 < 0.02 < share(30) < share(100)


def test_plain_queries_are_parts_of_the_question():
    for question in first_questions("easy", SIZE, 1, 100):
        assert question.plan[0] in question.text
        assert len(question.text.split()) <= 4 + 3 * question.hops + 2


class _Index:
    """A retriever whose results are wrong."""

    def __init__(self, hits: Sequence[Hit] = ()) -> None:
        self._hits = list(hits)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [self._hits[:k] for _ in queries]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("other", [False, True])
def test_an_index_of_something_else_is_told(other: bool):
    hits = [Hit(passage, 1.0) for passage in indexed("easy", 1000, 1)[1].passages[-3:]]
    generator = QuestionGenerator(Universe("medium", 300, 0), _Index(hits if other else ()))
    with pytest.raises(DataError, match="index holds the passages of this universe"):
        generator.question(0)


@pytest.mark.parametrize("size", [200, 500])
@DIFFICULTY
def test_small_universes_have_questions_of_every_kind(difficulty: str, size: int):
    count = size // GeneratorConfig.of(difficulty).passages_a_question
    for question in first_questions(difficulty, size, 2, count):
        assert question.plan and question.gold
