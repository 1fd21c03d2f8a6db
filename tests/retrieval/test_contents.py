"""Title and text in one field: what is written is what is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.retrieval.passage_text import join_contents, split_contents

LINE = st.text(st.characters(blacklist_characters="\n"), max_size=30)


@given(title=LINE, text=st.text(max_size=60))
def test_what_is_written_is_read(title: str, text: str) -> None:
    assert split_contents(join_contents(title, text)) == (title, text)


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ('"Evan Morris"\nEvan L. Morris was a lobbyist.',
         ("Evan Morris", "Evan L. Morris was a lobbyist.")),
        ('"A ""B"" C"\ntext', ('A ""B"" C', "text")),
        ("Title\ntext\nmore", ("Title", "text\nmore")),
        ("only text", ("", "only text")),
        ('"only a title"', ("only a title", "")),
        ('"', ("", '"')),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_other_peoples_contents(contents: str, expected: tuple[str, str]) -> None:
    assert split_contents(contents) == expected
