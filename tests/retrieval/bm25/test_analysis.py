"""Tokens, as Lucene's English analyzer makes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.retrieval.bm25.analysis import LONGEST_TOKEN, tokenize, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The women's Running-Shoes", ["women", "run", "shoe"]),
        ("3.5mm x 1,000 u.s.a 1:2", ["3.5mm", "x", "1,000", "u.s.a", "1", "2"]),
        ("material:wood 5'10 can't", ["material:wood", "5'10", "can't"]),
        ("__ snake_case _x", ["snake_cas", "_x"]),
        ("", []),
        ("!?", []),
        ("caf\u00e9 na\u00efve", ["caf\u00e9", "na\u00efv"]),
        ("cafe\u0301 x", ["cafe\u0301", "x"]),
        ("\u7425\u73c0 360\u5929", ["\u7425", "\u73c0", "360", "\u5929"]),
        ("\u3072\u3089 \u30ab\u30bf", ["\u3072", "\u3089", "\u30ab\u30bf"]),
        ("\u5bb9\u91cf\uff1a120ml\uff0c\u767d", ["\u5bb9", "\u91cf", "120ml", "\u767d"]),
        ("big\u2605deal\u2122", ["big", "\u2605", "deal", "\u2122"]),
        ("\U0001f469\u200d\U0001f4bb ok", ["\U0001f469\u200d\U0001f4bb", "ok"]),
        ("\U0001f1e9\U0001f1ea x", ["\U0001f1e9\U0001f1ea", "x"]),
        ("m\u00b2 x\u00bd", ["m", "x"]),
        ("women\u2019s \u0e44\u0e17\u0e22", ["women", "\u0e44\u0e17\u0e22"]),
    ],
)
def test_examples(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_the_ascii_path_agrees_with_the_full_grammar(text: str) -> None:
    plain_words = [word for word in words(text) if word.strip("_")]
    assert words(text + " \u00a7") == plain_words


@given(st.text(max_size=80))
def test_any_text_can_be_analysed(text: str) -> None:
    assert all(isinstance(token, str) and token for token in tokenize(text))


def test_long_runs_are_cut() -> None:
    assert [len(word) for word in words("a" * (2 * LONGEST_TOKEN + 1))] == [255, 255, 1]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("_\u0301", []),
        ("\u203f", []),
        ("_\u200d", []),
        ("\u200d", []),
        ("#\u200d", []),
        ("#" + "\u200d" * 300_000, []),
        ("\u231a" + "\u200d" * 300_000, ["\u231a"]),
        ("\u231a\u200d", None),
    ],
)
def test_long_runs_that_hold_few_words_or_none_take_no_time(
    run: str, expected: list[str] | None
) -> None:
    # Time that grows with the square of the length would be hours.
    tokens = words("\u00e9 " + run * max(1, 300_000 // len(run)) + " x")
    assert tokens[0] == "\u00e9" and tokens[-1] == "x"
    if expected is not None:
        assert [word[: len(expected[0])] for word in tokens[1:-1][:1]] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_\u200d\u231a", ["\u200d\u231a"]),
        ("\u200d_a", ["_a"]),
        ("#\u200d_a", ["_a"]),
        ("__\u200d_\u00e9", ["__\u200d_\u00e9"]),
        ("_\u0301\u4e00", ["\u4e00"]),
        ("1\u200d\u20e3", ["1\u200d\u20e3"]),
    ],
)
def test_what_such_runs_stand_before_is_found(text: str, expected: list[str]) -> None:
    assert words(text) == expected
