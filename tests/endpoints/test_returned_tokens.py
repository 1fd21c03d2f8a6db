"""Tokens of an answer are untrusted data."""

from __future__ import annotations

from typing import Any

import pytest

from agentgym.endpoints.returned_tokens import ReturnedTokens, read_tokens

CHOICE = {
    "prompt_token_ids": [1, 2],
    "response_token_ids": [3],
    "logprobs": {"content": [{"logprob": -1}]},
}


def test_the_tokens_of_an_answer() -> None:
    assert read_tokens({}, CHOICE) == ReturnedTokens([1, 2], [3], [-1.0])


@pytest.mark.parametrize(
    "change",
    [
        {"prompt_token_ids": None},
        {"prompt_token_ids": "12"},
        {"response_token_ids": []},
        {"response_token_ids": [3, 4]},
        {"response_token_ids": [-3]},
        {"response_token_ids": [True]},
        {"logprobs": None},
        {"logprobs": {"content": [-1.0]}},
        {"logprobs": {"content": [{"logprob": None}]}},
        {"logprobs": {"content": [{"logprob": "-1"}]}},
        {"logprobs": {"content": [{"logprob": float("nan")}]}},
        {"logprobs": {"content": [{"logprob": -(10**400)}]}},
    ],
)
def test_incomplete_or_malformed_tokens_are_left_out(change: dict[str, Any]) -> None:
    assert read_tokens({}, {**CHOICE, **change}) is None
