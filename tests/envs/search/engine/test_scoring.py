"""The measures, against another formulation of the same rules."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.search.engine.scoring import NO_ANSWER, mentions, normalise, score

WORDS = st.sampled_from(
    [
        "yes",
        "no",
        "noanswer",
        "a",
        "an",
        "the",
        "The",
        "A.",
        "U.S.A.",
        "the-cat",
        "Ada",
        "O'Hare",
        "1934",
        "x",
        "",
        "-",
        "é",
    ]
)
TEXTS = st.text(max_size=40) | st.lists(WORDS, max_size=8).map(" ".join)


def plainly_normalised(text: str) -> str:
    """The rules character by character, without regular expressions or tables."""
    characters = [c for c in text.lower() if c not in string.punctuation]
    words, word = [], ""
    for character in [*characters, " "]:
        if character.isalnum() or character == "_":
            word += character
            continue
        words += [] if word in ("a", "an", "the") else [word]
        words.append(" " if character.isspace() else character)
        word = ""
    return " ".join("".join(words).split()) if words else ""


def by_hand(answer: str, gold: list[str]) -> tuple[float, ...]:
    """The measures from lists of words, one gold answer after the other."""
    predicted, best = plainly_normalised(answer), (0.0,) * 4
    for expected in map(plainly_normalised, gold):
        expected_words, shared = expected.split(), 0
        for word in predicted.split():
            if word in expected_words:
                expected_words.remove(word)
                shared += 1
        if shared:
            precision, recall = shared / len(predicted.split()), shared / len(expected.split())
            f1 = 2 * precision * recall / (precision + recall)
            hotpot = f1
        else:
            f1, hotpot = float(not predicted and not expected), 0.0
        agrees = predicted == expected
        for closed in ("yes", "no", "noanswer"):
            hotpot = hotpot if agrees or closed not in (predicted, expected) else 0.0
        contained = agrees or (expected != "" and predicted.find(expected) >= 0)
        best = tuple(map(max, best, (float(agrees), float(contained), f1, hotpot)))
    return best


def has_marks(text: str) -> bool:
    """Whether a text holds what is a word character to re and no letter or digit to str."""
    return any(re.match(r"\w", c) and not (c.isalnum() or c == "_") for c in text.lower())


@given(TEXTS.filter(lambda text: not has_marks(text)))
def test_normalisation_equals_another_formulation(text: str) -> None:
    joined = re.sub(r"\s+", " ", plainly_normalised(text)).strip()
    # An article leaves a gap, also between signs that are neither word nor white space.
    expected = re.sub(
        r"\b(a|an|the)\b", " ", "".join(c for c in text.lower() if c not in set(string.punctuation))
    )
    assert normalise(text) == " ".join(expected.split())
    assert normalise(text).replace(" ", "") == joined.replace(" ", "")


@given(TEXTS)
def test_normalisation_is_stable_in_case_and_punctuation(text: str) -> None:
    normalised = normalise(text)
    assert not set(normalised) & set(string.punctuation) and "  " not in normalised
    assert normalised == normalised.strip()
    assert not {"a", "an", "the"} & set(re.findall(r"\w+", normalised))


@given(
    st.lists(WORDS, max_size=8).map(" ".join),
    st.lists(st.lists(WORDS, max_size=4).map(" ".join), min_size=1, max_size=3),
)
def test_measures_equal_another_formulation(answer: str, gold: list[str]) -> None:
    assert score(answer, gold) == pytest.approx(by_hand(answer, gold))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_measures_are_ordered(answer: str, gold: list[str]) -> None:
    em, subem, f1, f1_hotpot = score(answer, gold)
    assert 0.0 <= em <= subem <= 1.0 and em <= f1 <= 1.0 and f1_hotpot <= f1
    assert score(gold[0], gold)[:3] == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("answer", "gold", "f1", "f1_hotpot"),
    [
        ("no it was yes", "yes", 0.4, 0.0),
        ("yes", "yes indeed", 2 / 3, 0.0),
        ("Yes!", "yes", 1.0, 1.0),
        ("noanswer", "no", 0.0, 0.0),
        ("in Harrow", "Harrow", 2 / 3, 2 / 3),
        ("the", "a", 1.0, 0.0),
    ],
)
def test_f1_of_hotpotqa_counts_yes_and_no_whole(
    answer: str, gold: str, f1: float, f1_hotpot: float
) -> None:
    scores = score(answer, [gold])
    assert (scores.f1, scores.f1_hotpot) == (pytest.approx(f1), pytest.approx(f1_hotpot))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U.S.A", "usa"),
        ("the-cat", "thecat"),
        ("The  Cat", "cat"),
        ("A", ""),
        ("An apple a day", "apple day"),
        ("theatre", "theatre"),
        ("\tO'Hare\n", "ohare"),
        ("«the»", "« »"),
        ("", ""),
    ],
)
def test_edges_of_normalisation(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_an_empty_gold_answer_is_contained_in_nothing() -> None:
    assert score("Paris", ["A"]) == NO_ANSWER
    assert score("the", ["A"])[:3] == (1.0, 1.0, 1.0), "both are nothing: equal to the letter"
    assert not mentions("some text", ["The"])


def test_a_sub_match_is_of_characters_and_a_mention_is_of_words() -> None:
    assert score("it was 1934", ["34"]).subem == 1.0
    assert not mentions("founded in 1934", ["34"])
    assert mentions("founded by Tom O'Hare.", ["x", "tom ohare"])
