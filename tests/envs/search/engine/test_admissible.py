"""What counts as a name in what was shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.search.engine.admissible import names
from agentgym.retrieval import Passage

WORD = r"[A-Z][\w'-]*"
PLAIN = re.compile(
    rf"{WORD}(?: (?:(?:of|the) )?{WORD}){{1,4}}|(?<=[^.!?] ){WORD}|(?<!\w)\d{{1,4}}(?!\w)"
)
"""The names of a text, written without regard to speed."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Its founder is Ada Marley. Later she left.", ["Ada Marley"]),
        ("The Bank of North lends to Marley.", ["The Bank of North", "Marley"]),
        ("founded in 1720, with 12345 men and x7", ["1720"]),
        ("Port of call", []),
    ],
)
def test_names_and_numbers_are_found(text: str, expected: list[str]) -> None:
    assert names([Passage("1", "", text)], text) == expected


@given(st.text(alphabet="AbZ .!?'-19\u0663\u00c9fo", max_size=60) | st.text(max_size=40))
def test_names_are_those_of_the_plain_pattern(text: str) -> None:
    expected = list(dict.fromkeys(PLAIN.findall(text)))[:24]
    assert names([Passage("1", "", text)], text) == expected
