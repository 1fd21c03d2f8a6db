"""The table of kinds and relations holds together, and its wordings cannot be mistaken."""

from __future__ import annotations

from collections import Counter

import pytest

from agentgym.envs.search.generator.kinds import KINDS, ArticleKind
from agentgym.envs.search.generator.relations import RELATIONS, WORD, YEAR, Relation
from agentgym.envs.search.generator.templates import QuestionTemplate
from agentgym.envs.search.generator.vocabulary import WORDS

WORDINGS = ("phrases", "questions", "inverse", "inverse_questions", "count")
PAIRS = ("earlier", "later")
KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
RELATION = pytest.mark.parametrize("relation", RELATIONS.values(), ids=list(RELATIONS))


def test_there_are_enough_of_them():
    assert len(KINDS) >= 10
    assert len([relation for relation in RELATIONS.values() if relation.questions]) >= 25
    assert sum(kind.share for kind in KINDS.values()) == 1000


@KIND
def test_the_sentences_of_a_kind_state_each_of_its_relations_once(kind: ArticleKind):
    stated: list[str] = []
    for group in kind.sentences:
        relations = {frozenset(QuestionTemplate(text).relations) for text in group}
        assert len(relations) == 1, group
        stated += relations.pop()
        assert 3 <= len(group) <= 4
    expected = [relation.name for relation in RELATIONS.values() if relation.subject == kind.name]
    assert sorted(stated) == sorted(expected)
    assert all("{subject}" in text for text in kind.sentences[0])


@KIND
def test_mentions_and_former_facts_state_nothing(kind: ArticleKind):
    for text in (*kind.former, *(text for group in kind.mentions for text in group)):
        assert QuestionTemplate(text).relations == ()
    for text in kind.former:
        former = [slot for slot in QuestionTemplate(text).slots if slot.startswith("former ")]
        assert former and "{some year}" in text
        assert all(RELATIONS[slot.removeprefix("former ")].subject == kind.name for slot in former)


@RELATION
def test_wordings_have_their_places(relation: Relation):
    assert relation.subject in KINDS
    assert relation.object in (*KINDS, YEAR, WORD)
    for field in WORDINGS:
        assert all(text.count("{}") == 1 for text in getattr(relation, field))
    for field in PAIRS:
        assert all("{} or {}" in text for text in getattr(relation, field))
        assert not getattr(relation, field) or relation.object == YEAR
    for text in (*relation.phrases, *relation.inverse):
        assert text.startswith("the ")
        assert " and " not in text and " or " not in text
    assert (
        bool(relation.inverse) == bool(relation.inverse_questions) == bool(relation.inverse_words)
    )
    assert relation.object != WORD or relation.name in WORDS
    if relation.object not in (YEAR, WORD):
        assert relation.phrases and relation.questions and relation.words


def test_no_wording_belongs_to_two_relations():
    counted = Counter(
        text for relation in RELATIONS.values() for field in (*WORDINGS, *PAIRS)
        for text in getattr(relation, field)
    )  # fmt: skip
    assert [text for text, count in counted.items() if count > 1] == []


def test_plain_sentences():
    assert RELATIONS["mayor"].plain_phrase == "The mayor of {subject} is {mayor}."
