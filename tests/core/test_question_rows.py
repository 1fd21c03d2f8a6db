"""Questions of published rows are shown whole, with their stories and options."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.core.question_rows import read_options, right_option, with_options, with_story


def test_a_story_stands_before_its_question_once() -> None:
    row = {"body": "Kim has 4 kites and loses 1.", "table": "", "context": None}
    assert with_story("How many are left?", row) == f"{row['body']}\nHow many are left?"
    text = f"{row['body']} How many are left?"
    assert with_story(text, row) == text
    assert with_story("How many?", row, ("passage",)) == "How many?"
    several = {"context": "Two.", "background": "One."}
    assert with_story("Three?", several) == "One.\nTwo.\nThree?"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"context": ["a", "b"]}, "context to be a text"),
        ({"image": "fig1.png"}, "in words alone, got the field 'image'"),
        ({"images": [{"bytes": b""}]}, "in words alone"),
    ],
)
def test_what_cannot_be_shown_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_story("What is shown?", row)


OPTIONS = ("3", "4", "none of these")


@pytest.mark.parametrize(
    "row",
    [
        {"choices": ["3", "4", "none of these"]},
        {"options": ["A) 3", "B) 4", "C) none of these"]},
        {"options": ["(A) 3", "(B) 4", "(C) none of these"]},
        {"options": {"B": "4", "A": "3", "C": "none of these"}},
        {"choices": {"text": ["3", "4", "none of these"], "label": ["A", "B", "C"]}},
        {"options": "A) 3 B) 4 C) none of these"},
        {"options": "(A) 3\n(B) 4\n(C) none of these"},
        {"options": "A. 3  B. 4  C. none of these", "choices": []},
        {"choices": [3, 4, "none of these"]},
    ],
    ids=str,
)
def test_options_in_the_forms_in_which_they_are_published(row: dict[str, Any]) -> None:
    assert read_options(row) == OPTIONS
    assert read_options({}) == read_options({"options": None, "choices": []}) == ()


def test_options_are_shown_behind_the_question() -> None:
    text = with_options("How many?", OPTIONS)
    assert text.startswith("How many?\nA) 3\nB) 4\nC) none of these\n") and "letter" in text
    assert with_options("How many?", ()) == "How many?"


@pytest.mark.parametrize("row", [{"options": ["3"]}, {"choices": 4}, {"choices": [None, "3"]}])
def test_fields_that_hold_no_options(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a list of 2 to 26 texts"):
        read_options(row)


def test_the_right_option_by_place_letter_or_text() -> None:
    for answer in (2, "C", "c", "(C)", "C)", "none of these", "None of these"):
        assert right_option(answer, OPTIONS) == 2
    assert right_option("3", OPTIONS) == 0  # the text of the first, and no place
    for bad_input in (3, -1, True, "D", "5", None, "", 1.0, [2]):
        with pytest.raises(ValueError, match="letter, the place"):
            right_option(bad_input, OPTIONS)
    with pytest.raises(ValueError):
        right_option("4", ("4", "4"))
