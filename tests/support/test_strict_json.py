"""JSON that other parsers would refuse, or read otherwise, is refused; all else is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentgym.support.strict_json import DEEPEST, dump_json, parse_json


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "NaN, which is no number"),
        ('{"a": [-Infinity]}', "-Infinity"),
        ('{"a": Infinity}', "Infinity"),
        ("[1e309]", "beyond the range"),
        ("-1e999", "beyond the range"),
        ('{"a": 1, "b": 2, "a": 1}', "the key 'a' comes twice"),
        ('[{"x": {"k": 1, "\\u006b": 2}}]', "the key 'k' comes twice"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "more than 100 lists"),
        ('{"a":' * 200 + "1" + "}" * 200, "more than 100 lists"),
        ("[" * 100_000, "more than 100 lists"),
        ("", "Expecting value"),
        ("{'a': 1}", "Expecting property name"),
    ],
)
def test_what_is_no_sound_json_is_refused(text: str, words: str) -> None:
    for form in (text, text.encode(), bytearray(text.encode())):
        with pytest.raises(ValueError, match=words):
            parse_json(form)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, -3e300, None, True, "NaN", "\ud800 \x00 😀"], "b": {"a": {}}},
        [[[]] * 200],
        10**300,
        [0.1] * 1000,
    ],
)
def test_everything_else_is_read_as_it_was_written(value: Any) -> None:
    text = dump_json(value)
    assert text.isascii()
    for form in (text, text.encode(), text.encode("utf-16"), f"\ufeff{text}"):
        assert parse_json(form) == value == json.loads(text)


def test_nesting_up_to_the_bound_is_read() -> None:
    text = '[{"a":' * (DEEPEST // 2) + "1" + "}]" * (DEEPEST // 2)
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize("value", [float("nan"), {"a": [float("inf")]}])
def test_what_is_not_finite_is_not_written(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump_json(value)
