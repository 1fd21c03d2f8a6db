"""Long texts cut into passages: at headings first, then between paragraphs, sentences and words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_SENTENCE_END = re.compile(r"[.!?][\"')\]\u201d]*\s+|[\u3002\uff01\uff1f]|\n")
_LONGEST_TITLE = 200
_PARAGRAPH = 8
"""Passages of text after which a paragraph is cut, whatever follows: bounds the memory."""


def split_text(
    lines: Iterable[str], name: str, limit: int, *, markdown: bool = False
) -> Iterator[tuple[str, str]]:
    """Cut a text into passages.

    Paragraphs that follow each other under one heading share a passage as long as they fit in;
    longer ones are cut at the end of a sentence, or else between words.

    Args:
        lines: The lines of the text with their line ends; one without goes on with the next. Only
            the current paragraph is held in memory.
        name: Title of passages that stand under no heading.
        limit: Most characters of a passage.
        markdown: Whether lines that begin with ``#`` are headings, as in Markdown.

    Yields:
        Title and text of each passage. A title is the path of headings above the passage, such as
        ``Guide > Installation``.
    """
    title, passage = "", ""
    for heading, paragraph in _paragraphs(lines, limit * _PARAGRAPH, markdown):
        for piece in _pieces(paragraph, limit):
            if passage and (heading != title or len(passage) + 1 + len(piece) > limit):
                yield title or name, passage
                passage = ""
            title, passage = heading, f"{passage}\n{piece}" if passage else piece
    if passage:
        yield title or name, passage


def _paragraphs(lines: Iterable[str], limit: int, markdown: bool) -> Iterator[tuple[str, str]]:
    """Yield each paragraph of at most about ``limit`` characters with the path of its headings."""
    path: list[tuple[int, str]] = []
    paragraph: list[str] = []
    title, size, fence, goes_on = "", 0, "", False
    for raw in lines:
        line = raw.rstrip()
        heading = _HEADING.match(line) if markdown and not (fence or goes_on) else None
        if heading or size > limit or not (line or fence or goes_on):
            if paragraph:
                yield title, "".join(paragraph)
            paragraph, size = [], 0
        if heading:
            level = len(heading[1])
            path = [above for above in path if above[0] < level] + [(level, _unclosed(heading[2]))]
            title = " > ".join(text for _, text in path if text)[:_LONGEST_TITLE]
        elif line or paragraph:
            paragraph.append(raw)
            size += len(raw)
            fence = _fence(line, fence) if markdown and not goes_on else fence
        goes_on = not raw.endswith("\n")
    if paragraph:
        yield title, "".join(paragraph)


def _unclosed(heading: str) -> str:
    """Return a heading without the ``#`` that may close it."""
    # A pattern for this takes a time that grows with the square of a run of spaces.
    bare = heading.rstrip("#")
    return bare.rstrip() if bare != heading and bare.endswith((" ", "\t")) else heading


def _fence(line: str, open_fence: str) -> str:
    """Return the fence of the code block that contains the next line; empty outside of code."""
    match = _FENCE.match(line)
    if match is None:
        return open_fence
    if not open_fence:
        return match[1]
    closes = match[1].startswith(open_fence) and not line.strip(" `~")
    return "" if closes else open_fence


def _pieces(paragraph: str, limit: int) -> Iterator[str]:
    """Cut a paragraph into pieces of at most ``limit`` characters."""
    start = 0
    while len(paragraph) - start > limit:
        window = paragraph[start : start + limit]
        cut = max((match.end() for match in _SENTENCE_END.finditer(window)), default=0)
        if cut <= limit // 2:
            cut = max(window.rfind(" "), window.rfind("\t")) + 1 or limit
        if piece := window[:cut].strip():
            yield piece
        start += cut
    if piece := paragraph[start:].strip():
        yield piece
