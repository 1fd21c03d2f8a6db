"""Templates: what is written is read again, whatever the names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.search.generator.kinds import KINDS
from agentgym.envs.search.generator.relations import RELATIONS, YEAR
from agentgym.envs.search.generator.templates import PRONOUNS, SUBJECT, QuestionTemplate, article

STATING = [
    QuestionTemplate(text) for kind in KINDS.values() for group in kind.sentences for text in group
]
WORDS = st.from_regex(r"[A-Z][a-z]{2,9}", fullmatch=True)
NAMES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)


@given(st.sampled_from(STATING), st.data())
def test_a_sentence_gives_back_the_values_it_was_made_of(
    template: QuestionTemplate, data: st.DataObject
):
    values: dict[str, str] = {}
    filled = []
    for slot in template.slots:
        if slot in PRONOUNS:
            filled.append(data.draw(st.sampled_from(PRONOUNS[slot])))
            continue
        relation = RELATIONS.get(slot.rpartition(" ")[2])
        year = "year" in slot or (relation is not None and relation.object == YEAR)
        word = str(data.draw(st.integers(1000, 1999))) if year else data.draw(NAMES)
        if not slot.startswith(("some ", "former ", "a some ")):
            values[slot.removeprefix("a ")] = word
        filled.append(article(word) if slot.startswith("a ") else word)
    assert template.read(template.layout % tuple(filled)) == values


@given(st.sampled_from(STATING), st.text(max_size=80))
def test_other_sentences_say_nothing(template: QuestionTemplate, text: str):
    assert template.read(text) is None


def test_a_sentence_that_is_cut_off_says_nothing():
    template = QuestionTemplate("{subject} is {a genre} by {author}.")
    assert template.read("The Tide is a novel by Ora Bell.") == {
        SUBJECT: "The Tide", "genre": "novel", "author": "Ora Bell"
    }  # fmt: skip
    assert template.read("The Tide is a novel by Ora Be") is None
    assert template.read("The Tide is a novel by Ora Bell. It") is None


def test_only_slots_for_values_state_something():
    template = QuestionTemplate(
        "{They} met {a some person}, {former mayor} and {mayor} in {some year}."
    )
    assert template.relations == ("mayor",)
    assert template.slots == ("They", "a some person", "former mayor", "mayor", "some year")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("novel", "a novel"), ("epic poem", "an epic poem"), ("Architect", "an Architect")],
)
def test_articles(word: str, expected: str):
    assert article(word) == expected
