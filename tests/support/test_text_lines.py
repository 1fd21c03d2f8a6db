from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.support.text_lines import error_line, first_line, last_line, split_lines

SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = st.text(alphabet=f"ab \r\n{SEPARATORS}", max_size=30)


@given(TEXTS)
def test_lines_with_their_ends_are_the_text(text: str) -> None:
    lines = split_lines(text, keep_ends=True)
    assert "".join(lines) == text
    assert all("\n" not in line[:-1] for line in lines)
    assert len(lines) == len(split_lines(text))


@pytest.mark.parametrize("sign", SEPARATORS)
def test_what_stands_inside_a_line_ends_none(sign: str) -> None:
    assert split_lines(f"a{sign}b\r\n\nc") == [f"a{sign}b", "", "c"]
    assert first_line(f"\n a{sign}b \nc") == f"a{sign}b"
    assert last_line(f"c\n a{sign}b \n\n") == f"a{sign}b"


def test_nothing_has_no_lines() -> None:
    assert (split_lines(""), first_line(" \n"), last_line("\n")) == ([], "", "")


def test_an_error_is_named_by_its_first_line_or_its_repr() -> None:
    assert error_line(ValueError("\n too long \nby far")) == "too long"
    assert error_line(KeyError()) == "KeyError()"
