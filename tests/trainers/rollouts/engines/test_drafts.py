"""Guesses at the next tokens of a text."""

from __future__ import annotations

import pytest

from trainers.rollouts.engines import drafts
from trainers.rollouts.engines.drafts import Drafts


def test_what_came_after_the_same_two_tokens_is_guessed() -> None:
    guesser = Drafts()
    guesser.learn([9, 1], [2, 3, 4, 5])
    assert guesser.guess([7, 9, 1], 9) == [2, 3, 4, 5]
    assert guesser.guess([7, 9, 1], 2) == [2, 3]
    assert guesser.guess([1, 9], 9) == guesser.guess([1], 9) == guesser.guess([], 9) == []


def test_only_what_came_most_of_the_time_is_guessed() -> None:
    guesser = Drafts()
    for token in (3, 3, 4):
        guesser.learn([1, 2], [token])
    assert guesser.guess([1, 2], 1) == [], "two of three times"
    guesser.learn([1, 2], [3])
    assert guesser.guess([1, 2], 1) == [3]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST", 2)
    guesser = Drafts()
    guesser.learn([1, 2], [3, 4, 5, 6])
    assert guesser.guess([1, 2], 9) == [3, 4]
    guesser.learn([2, 3], [4])
    assert guesser.guess([2, 3], 1) == [4]
