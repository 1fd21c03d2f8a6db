"""Answers: how values are told, which bind a repair, and which are equal."""

from __future__ import annotations

import fractions
import json
import pathlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentgym.envs.swe.held_out.answers import binding, equal, known_names, read_answer
from agentgym.envs.swe.held_out.driver import LONGEST_ANSWER, encode, fault


class Point:
    def __init__(self, x: int, y: int) -> None:
        self.x, self._y = x, y

    @property
    def worse(self) -> int:
        raise ValueError("no")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_every_value_equals_itself_after_a_journey(value: Any) -> None:
    line = json.dumps(encode(value))
    assert "NaN" not in line.replace('"NaN"', "") or isinstance(value, str)
    assert equal(encode(value), read_answer(line))


HALVES = st.text(st.characters(min_codepoint=0xD7F0, max_codepoint=0xE00F), max_size=3)
"""Mostly surrogates, of which JSON joins two to one character."""
TEXTS = HALVES | st.text(max_size=3) | HALVES.map(lambda text: text + "\U00010000\ud800\udc00")


@given(TEXTS, TEXTS)
@example("\ud800\udc00", "\U00010000")
@example("\ud800\udc00", "eda080edb080")
def test_any_two_texts_are_told_apart(left: str, right: str) -> None:
    ways = (str, ValueError, lambda text: [text], lambda text: {text: text}, pathlib.PurePosixPath)
    for way in ways:
        first, second = (read_answer(json.dumps(encode(way(text)))) for text in (left, right))
        assert equal(encode(way(left)), first)
        agree = way is pathlib.PurePosixPath and way(left) == way(right)
        assert equal(first, second) == (left == right or agree)


def test_surrogates_take_no_more_room_than_in_json() -> None:
    text = "\ud800" * 1000
    assert len(json.dumps(encode(text))) < len(json.dumps(text)) + 20


@given(
    VALUES,
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
    ),
)
def test_any_json_can_be_compared(want: Any, answer: Any) -> None:
    assert equal(encode(want), answer) in (True, False)


@pytest.mark.parametrize(
    ("want", "answer", "same"),
    [
        (1, 1, True), (1, 2, False), (1, True, True), (1, 1.0, True), ([1], (1,), False),
        (0.1 + 0.2, 0.3, True), (0.1, 0.2, False), (float("nan"), float("nan"), True),
        (float("inf"), float("-inf"), False), ("1", 1, False), (None, False, False),
        ({"a": 1}, {"a": 1, "b": 2}, False), ({1, 2}, {2, 1}, True), (10**30, 10**30, True),
        (10**30, 10**30 + 1, False), (b"a", "a", False), (fractions.Fraction(1, 2), 0.5, False),
        (iter([1, 2]), iter([1, 2]), True), (range(3), [0, 1, 2], False),
    ],
)  # fmt: skip
def test_what_is_equal(want: Any, answer: Any, same: bool) -> None:
    assert equal(encode(want), encode(answer)) == same


def test_objects_have_at_least_the_attributes_of_the_sound_one() -> None:
    encoded = encode(Point(1, 2))
    assert encoded == ["o", "Point", {"worse": ["!", "ValueError"], "x": 1}]
    [bound] = binding([encoded], {"x"}, as_plain=False)
    assert bound == ["o", "Point", {"x": 1}]
    assert equal(bound, ["o", "Point", {"x": 1, "z": 3}]) and equal(bound, encoded)
    assert not equal(bound, ["o", "Point", {}]) and not equal(bound, ["o", "Other", {"x": 1}])


def raised(error: Exception) -> list[Any]:
    try:
        raise error
    except Exception as caught:
        return fault("!", caught)


class Own(ValueError):
    """An exception of a package."""


def test_exceptions_are_equal_by_class_or_a_class_below() -> None:
    assert equal(["!", "ValueError"], raised(Own("a")))
    assert not equal(["!", "Own"], raised(ValueError("a")))
    assert equal(["!", "Own", "a"], raised(Own("a")))
    assert not equal(["!", "Own", "a"], raised(Own("b")))
    assert not equal(["end", "Own"], raised(Own("a")))


def test_accidental_answers_are_not_binding() -> None:
    accident = ["!", "TypeError", "words", False, ["Exception"]]
    declared = ["!", "Own", "words", True, ["ValueError", "Exception"]]
    assert binding([1, accident], (), as_plain=False) is None
    assert binding([accident], (), as_plain=True) == [["!", "TypeError"]]
    assert binding([["end", *accident[1:]]], (), as_plain=True) is None
    assert binding([declared], (), as_plain=False) == [["!", "Own"]]
    assert binding([declared], (), as_plain=True) == [["!", "Own", "words"]]
    for untold in (["deep"], ["long", 9], ["l", 1, ["deep"]]):
        assert binding([untold], (), as_plain=True) is None
    assert binding([], (), as_plain=True) is None and binding(None, (), as_plain=True) is None


def test_names_are_those_that_tests_name() -> None:
    assert known_names(["assert a.size == b.x.y", "def test(:"]) == {"iter()", "size", "x", "y"}
    assert "str()" in known_names(["assert str(a) == 'b'"])


@pytest.mark.parametrize(
    "line",
    ["[" * 30_000, "NaN", "[1, Infinity]", "", "{", "nul", '"' + "a" * LONGEST_ANSWER + '"',
     "1" * 30_000],
)  # fmt: skip
def test_hostile_lines_are_no_answers(line: str) -> None:
    assert not equal([1], read_answer(line))
