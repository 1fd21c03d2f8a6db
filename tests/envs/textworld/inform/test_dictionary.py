"""Words as the Z-machine keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.envs.textworld.inform.dictionary import LIMIT, key, number, split


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("refrigerator", "refrigerators", True),
        ("refrigerator", "refrigeration", True),
        ("locker", "lockers", False),
        ("non-euclidean", "non-euclid", True),
        ("o-key", "o-keys", False),
        ("thing19", "thing18", False),
        ("adjective19", "adjective18", True),
    ],
)
def test_nine_characters_count(first: str, other: str, same: bool) -> None:
    """Two words with the same nine Z-characters are one; digits and signs count twice."""
    assert (key(first) == key(other)) is same


def test_splitting() -> None:
    """Stops, commas and quotation marks are words of their own; case does not matter."""
    words = split('Take the KEY, then "go".')
    assert words.typed == ["take", "the", "key", ",", "then", '"', "go", '"', "."]
    assert split("x unlockable").typed == ["x", "unlockable"]
    assert list(split("x unlockable")) == ["x", "unlockabl"]


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_split(text: str) -> None:
    """Splitting never fails and never gives more words than a line may have."""
    words = split(text)
    assert len(words) == len(words.typed) <= LIMIT


@pytest.mark.parametrize(
    ("word", "value"),
    [("two", 2), ("thirty", 30), ("7", 7), ("thirty-one", 0), ("", 0), ("²", 0), ("x", 0)],
)
def test_numbers(word: str, value: int) -> None:
    """Numbers are read up to thirty in words, and in digits."""
    assert number(key(word)) == value
