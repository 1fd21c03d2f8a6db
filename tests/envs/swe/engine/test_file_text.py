"""Pieces of files are found and replaced in the line ends and the encoding of the file."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentgym.envs.swe.engine.file_text import read_file_text


def edited(content: bytes, old: str, new: str) -> bytes | int:
    """Return the content after an edit, or how often the piece occurs if that is not once."""
    file = read_file_text(content)
    places = file.places(old)
    if len(places) != 1:
        return len(places)
    return file.replace(places[0], old, new).encode(file.encoding)


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nB\nx", b"a\r\nB\r\nx\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b\nx", b"a\r\nb\r\nx\r\nc\r\n"),
        (b"a\r\nb\r\nc", "c", "c\nd", b"a\r\nb\r\nc\r\nd"),
        (b"a\r\nb", "a\n", "", b"b"),
        (b"a\nb\r\nc\n", "b", "x\ny", b"a\nx\r\ny\r\nc\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nb\nq\nc", b"a\nb\r\nq\nc\n"),
        (b"a\nb\r\nc\n", "a", "a\nz", b"a\nz\nb\r\nc\n"),
        (b"a\rb\rc", "a\nb", "a\nx\ny", b"a\rx\ry\rc"),
        (b"p = '\r'\nq\n", "q", "r\ns", b"p = '\r'\nr\ns\n"),
        (b"p = '\r'\nq\n", "'\r'", "'\n'", b"p = '\n'\nq\n"),
        (b"a\r\nb\r\n", "a\r\nb", "a\nb", b"a\nb\r\n"),
        (b"a\nb\n", "a\r\nb", "a\r\nc", b"a\nc\n"),
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", "c\nd", b"\xef\xbb\xbfc\r\nd\r\n"),
        (
            b"caf\xe9 = 1\r\nx = '\xfc'\n",
            "café = 1\nx",
            "thé = 1\ny",
            b"th\xe9 = 1\r\ny = '\xfc'\n",
        ),
        ("\ufeffä\nb\n".encode("utf-16-le"), "ä\nb", "ö\nc", "\ufeffö\nc\n".encode("utf-16-le")),
        (
            b"# coding: koi8-r\nx = '\xc1'\n",
            "'\u0430'",
            "'\u0431'",
            b"# coding: koi8-r\nx = '\xc2'\n",
        ),
        (b"a\x0cb\r\nc\xc2\x85d\r\n", "b\nc", "B\nC", b"a\x0cB\r\nC\xc2\x85d\r\n"),
        (b"x\n\n\ny", "\n\n\n", "\n", b"x\ny"),
        (b"a\r\nb\na\nb\n", "a\nb", "c", 2),
        (b"a\r\nb\r\n", "b\nc", "d", 0),
        (b"aaa", "a", "b", 2),
    ],
)
def test_a_piece_is_replaced_in_the_line_ends_of_its_file(
    content: bytes, old: str, new: str, after: bytes | int
) -> None:
    assert edited(content, old, new) == after


LINES = st.lists(st.text(alphabet="abcé\x0c\u2028", min_size=1, max_size=3), min_size=1, max_size=6)


@settings(max_examples=300)
@given(LINES, LINES, st.data(), st.booleans())
def test_files_of_one_kind_of_line_end_stay_so(
    lines: list[str], new: list[str], data: st.DataObject, closed: bool
) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    stop = data.draw(st.integers(start + 1, len(lines)))
    old = "\n".join(lines[start:stop])
    plain = "\n".join(lines) + "\n" * closed
    assume(plain.count(old) == 1)
    fixed = plain.replace(old, "\n".join(new))
    for end in ("\n", "\r\n"):
        content = plain.replace("\n", end).encode()
        if end not in content.decode():
            continue
        assert edited(content, old, "\n".join(new)) == fixed.replace("\n", end).encode()


def test_lines_are_shown_without_their_ends() -> None:
    assert read_file_text(b"a\r\nb\nc").lines() == ["a", "b", "c"]
    assert read_file_text(b"a\rb\r").lines() == ["a", "b"]
    assert read_file_text(b"a\x0cb\rc\n\n").lines() == ["a\x0cb\rc", ""]
    assert read_file_text(b"").lines() == []


@pytest.mark.parametrize("name", ["punycode", "hex", "idna", "unicode_escape", "none-such", "zip"])
def test_encodings_that_are_none_of_files(name: str) -> None:
    assert read_file_text(f"# coding: {name}\n".encode() + b"\xff\n").encoding == "latin-1"
