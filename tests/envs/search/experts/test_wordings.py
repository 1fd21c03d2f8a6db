"""Questions are read back as what they were worded from."""

from __future__ import annotations

import pytest

from agentgym.envs.search.experts.wordings import (
    ComparisonPhrase,
    Count,
    Holder,
    Intersection,
    Mention,
    Value,
    read_question,
)
from agentgym.envs.search.generator.relations import RELATIONS

RELATION_NAMES = sorted(RELATIONS)


def forward(relation, of, plain=False):
    return Value(RELATIONS[relation], of, plain)


def backward(relation, value):
    return Holder(RELATIONS[relation], value)


@pytest.mark.parametrize("name", RELATION_NAMES)
def test_every_wording_means_its_relation(name):
    relation = RELATIONS[name]
    person = Mention("Ada Marley")
    for text in relation.questions:
        phrase = read_question(text.format("Ada Marley"))
        assert isinstance(phrase, Value) and (phrase.relation, phrase.of) == (relation, person), (
            text
        )
    for text in relation.inverse_questions:
        assert read_question(text.format("Ada Marley")) == Holder(relation, person), text
    for text in relation.count:
        assert read_question(text.format("Ada Marley")) == Count(relation, person), text
    for greater, texts in ((False, relation.earlier), (True, relation.later)):
        for text in texts:
            phrase = read_question(text.format("Ada Marley", "the Tor Quartet"))
            assert phrase == ComparisonPhrase(relation, person, Mention("Tor Quartet"), greater), (
                text
            )


@pytest.mark.parametrize("name", RELATION_NAMES)
def test_every_phrase_means_its_relation_inside_of_a_question(name):
    """The question around it asks for something that things of the phrase's kind have."""
    relation = RELATIONS[name]
    for texts, kind, make in (
        (relation.phrases, relation.object, forward),
        (relation.inverse, relation.subject, backward),
    ):
        outer = next((r for r in RELATIONS.values() if r.subject == kind and r.questions), None)
        for text in texts:
            assert outer is not None
            # The last wording of a question is none of plain style.
            phrase = read_question(outer.questions[-1].format(text.format("Ada Marley")))
            inner = make(relation.name, Mention("Ada Marley"))
            assert phrase in (Value(outer, inner), plainly(outer, inner)), text


def plainly(outer, inner):
    """The same where outer and inner wording happen to be plain ones."""
    if isinstance(inner, Value):
        inner = Value(inner.relation, inner.of, plain=True)
    return Value(outer, inner, plain=True)


def test_phrases_stand_in_phrases():
    phrase = read_question(
        "When was the company founded by the mayor of the town where the Bo Quartet was formed "
        "established?"
    )
    assert phrase == forward(
        "established", backward("founder", forward("mayor", forward("home", Mention("Bo Quartet"))))
    )


def test_a_plain_question_is_known_as_one():
    phrase = read_question("Who is the mayor of the birthplace of Ada Marley?")
    inner = forward("birthplace", Mention("Ada Marley"), plain=True)
    assert phrase == forward("mayor", inner, plain=True)


def test_names_may_hold_the_words_between_two_phrases():
    phrase = read_question(
        "Which novel was written by the mayor of Salt and Iron and is set in the birthplace of Bo?"
    )
    assert phrase == Intersection(
        backward("author", forward("mayor", Mention("Salt and Iron"))),
        backward("setting", forward("birthplace", Mention("Bo"))),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "Who?",
        "Who is the mayor of ?",
        "Who is the colour of Ada Marley?",
        "Who is the mayor of the author of Ada Marley?",
        "Which town is older, Ada Marley?",
        "Which person was born in Belden and?",
        "What is Ada Marley?",
        "the " * 10_000,
    ],
)
def test_other_questions_mean_nothing(text):
    assert read_question(text) is None
