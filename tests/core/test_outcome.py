"""How an episode ended, in words."""

from __future__ import annotations

import pytest

from agentgym.core.outcome import StopReason, ending_words


@pytest.mark.parametrize(
    ("reason", "success", "words"),
    [
        (StopReason.ANSWER, True, "solved"),
        (StopReason.ANSWER, False, "wrong answer"),
        (StopReason.FAILURE, False, "wrong answer"),
        (StopReason.HORIZON, False, "turn limit"),
    ],
)
def test_an_answer_is_right_or_wrong(reason: StopReason, success: bool, words: str) -> None:
    assert ending_words(reason.value, success) == words
