"""Long texts: nothing is lost, nothing is too long, and headings become titles."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.retrieval.corpora.splitting import split_text

GUIDE = """\
An introduction.

# Guide #

First paragraph,
on two lines.

Second paragraph.

## Install
```bash
# not a heading

pip install it
```
### Linux
Nothing to do.
## Use
#hashtag is text
#
#### Deep
Text.
"""


def split(text: str, limit: int = 200, markdown: bool = True) -> list[tuple[str, str]]:
    return list(split_text(text.splitlines(keepends=True), "file", limit, markdown=markdown))


def test_headings_become_titles_and_paragraphs_share_passages() -> None:
    assert split(GUIDE) == [
        ("file", "An introduction."),
        ("Guide", "First paragraph,\non two lines.\nSecond paragraph."),
        ("Guide > Install", "```bash\n# not a heading\n\npip install it\n```"),
        ("Guide > Install > Linux", "Nothing to do."),
        ("Guide > Use", "#hashtag is text\n#"),
        ("Guide > Use > Deep", "Text."),
    ]


def test_plain_text_has_no_headings() -> None:
    assert split("# one\n\ntwo\n", markdown=False) == [("file", "# one\ntwo")]


def test_long_paragraphs_end_with_sentences_then_words_then_anywhere() -> None:
    sentences = " ".join(f"This is sentence {i}." for i in range(20))
    parts = [text for _, text in split(sentences, 60)]
    assert all(text.endswith(".") for text in parts) and " ".join(parts) == sentences
    words = "word " * 40
    parts = [text for _, text in split(words, 52)]
    assert set(" ".join(parts).split()) == {"word"} and max(map(len, parts)) <= 52
    assert [text for _, text in split("x" * 120, 50)] == ["x" * 50, "x" * 50, "x" * 20]
    chinese = "\u4f60\u597d\u4e16\u754c\u3002" * 30
    assert all(text.endswith("\u3002") for _, text in split(chinese, 52))


@pytest.mark.parametrize(
    ("line", "title"),
    [("# a ##", "a"), ("# C#", "C#"), ("#  ##", "##"), ("# a # #", "a #"), ("#\ta\t#", "a"),
     ("# a" + " " * 60_000 + "x", "a" + " " * 199), ("# " + " #" * 30_000, "# " * 100)],
)  # fmt: skip
def test_a_heading_may_be_closed(line: str, title: str) -> None:
    # The long ones end in no time that grows with more than their length.
    assert split(f"{line}\nText.\n") == [(title, "Text.")]


def test_a_fence_is_closed_by_one_of_its_kind() -> None:
    text = "````\n```\n# code\n~~~\n````\n# Title\ntext\n"
    assert split(text)[-1] == ("Title", "text")
    assert split("~~~ python\n# code\n")[0][0] == "file"


@settings(max_examples=200, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(["a", "bc", ". ", " ", "\n", "\n\n", "```", "\u4f60", "\u3002", "\t"]),
        max_size=400,
    ).map("".join),
    limit=st.integers(50, 90),
)
def test_no_character_is_lost_and_no_passage_is_too_long(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert "".join("".join(part for _, part in parts).split()) == "".join(text.split())
    assert all(0 < len(part) <= limit and part.strip() == part for _, part in parts)


@settings(max_examples=200, deadline=None)
@given(
    pieces=st.lists(st.sampled_from(["a ", "b. ", "cd", "# ", "\n", "\n\n"]), max_size=100),
    size=st.integers(1, 9),
)
def test_lines_that_come_in_parts_are_whole_again(pieces: list[str], size: int) -> None:
    text = "".join(pieces)

    def parts():
        for line in text.splitlines(keepends=True):
            yield from (line[i : i + size] for i in range(0, len(line), size))

    assert list(split_text(parts(), "file", 60)) == split(text, 60, markdown=False)


def test_a_text_without_end_is_read_as_a_stream() -> None:
    def endless():
        while True:
            yield "a line of an endless paragraph without any empty line\n"

    parts = split_text(endless(), "file", 100)
    assert len(next(parts)[1]) <= 100
