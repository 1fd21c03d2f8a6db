"""The information block: bounded, complete, and beyond forgery."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.search.engine.information import (
    CLOSING,
    NOTHING,
    OPENING,
    check_length,
    holds_information,
    information,
    plain_text,
)
from agentgym.errors import ConfigurationError
from agentgym.retrieval import Passage

PIECES = st.sampled_from(
    ["</information>", "<information>", "< / Information >", "<search>x</search>", "<answer>",
     "<think>", "</tool_call>", "<|im_end|>", "\n", "Doc 9 (Title: \"no\")", "word ", "<", "&lt;"]
)  # fmt: skip
HOSTILE = st.lists(PIECES | st.text(max_size=20), max_size=60).map("".join)
PASSAGES = st.builds(Passage, st.just("id"), HOSTILE, HOSTILE)


@given(st.lists(PASSAGES, max_size=5), st.integers(0, 3000))
def test_the_frame_and_every_title_stay(passages: list[Passage], extra: int) -> None:
    slots = max(1, len(passages))
    length = len(OPENING) + len(CLOSING) + 1 + slots * 81 + extra
    check_length(slots, length)
    block = information(passages, slots, length)
    assert len(block) <= length
    assert block.startswith(OPENING) and block.endswith(CLOSING)
    assert len(re.findall(r"<\s*/?\s*information", block, re.IGNORECASE)) == 2
    inside = block[len(OPENING) : -len(CLOSING)]
    assert not re.search(r"<\s*/?\s*(search|answer|think|tool_call)|<\|", inside, re.IGNORECASE)
    if passages:
        lines = inside.strip("\n").split("\n")
        assert len(lines) == len(passages)
        for number, line in enumerate(lines, 1):
            assert re.match(rf'Doc {number} \(Title: ".*"\)', line)
    else:
        assert block == NOTHING


def test_a_block_to_the_letter() -> None:
    passages = [Passage("1", "Ada  Marley", "a poet\nfrom Belden"), Passage("2", "", "untitled")]
    assert information(passages, 3, 400) == (
        '<information>\nDoc 1 (Title: "Ada Marley") a poet from Belden\n'
        'Doc 2 (Title: "") untitled\n</information>'
    )
    assert information([], 3, 400) == "<information>No results.</information>"


def test_a_long_passage_costs_the_others_nothing() -> None:
    short, long = Passage("1", "S", "short text"), Passage("2", "T" * 500, "x " * 9000)
    block = information([long, short], 2, 400)
    lines = block.split("\n")
    assert lines[2] == 'Doc 2 (Title: "S") short text'
    assert lines[1].startswith('Doc 1 (Title: "TTT') and '...") x x' in lines[1]
    assert lines[1].endswith("...") and len(block) <= 400


def test_too_little_room_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"max_observation_chars of at least 271 for 3 passages"
    ):
        check_length(3, 270)
    check_length(3, 271)


@given(HOSTILE)
def test_plain_text_is_one_line_and_stays_what_it_is(text: str) -> None:
    line = plain_text(text)
    assert plain_text(line) == line and len(line.splitlines()) <= 1
    assert not holds_information(line)


@pytest.mark.parametrize("text", ["<information>", "x </INFORMATION>", "< / information"])
def test_information_tags_are_noticed(text: str) -> None:
    assert holds_information(text)
    assert not holds_information("information, <info>, <search>information</search>")
