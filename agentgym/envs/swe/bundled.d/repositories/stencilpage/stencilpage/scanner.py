"""From the text of a template to pieces: text, values and tags."""

from __future__ import annotations

import re
from dataclasses import dataclass

OPENERS = {"{{": "}}", "{%": "%}", "{#": "#}"}
_OPENER = re.compile(r"\{[{%#]")


class TemplateError(ValueError):
    """A template is malformed.

    Attributes:
        line: The number of the line, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True)
class Piece:
    """A part of a template.

    Attributes:
        kind: ``text``, ``value`` or ``tag``.
        content: The text, or what stands between the braces without space around it.
        line: The line in which it begins.
    """

    kind: str
    content: str
    line: int


def scan(source: str) -> list[Piece]:
    """Split a template into its pieces; comments and empty texts are left out.

    Raises:
        TemplateError: A value, a tag or a comment is not closed.
    """
    pieces: list[Piece] = []
    position = 0
    strip_next = False
    while match := _OPENER.search(source, position):
        opener = match.group()
        line = source.count("\n", 0, match.start()) + 1
        end = source.find(OPENERS[opener], match.end())
        if end < 0:
            raise TemplateError(f"{opener} is not closed", line)
        content = source[match.end() : end]
        text = source[position : match.start()]
        if strip_next:
            text = text.lstrip()
        if content.startswith("-"):
            text = text.rstrip()
            content = content[1:]
        strip_next = content.endswith("-")
        content = content.removesuffix("-").strip()
        if text:
            pieces.append(Piece("text", text, line))
        if opener == "{{":
            pieces.append(Piece("value", content, line))
        elif opener == "{%":
            pieces.append(Piece("tag", content, line))
        position = end + 2
    rest = source[position:]
    if strip_next:
        rest = rest.lstrip()
    if rest:
        pieces.append(Piece("text", rest, source.count("\n", 0, position) + 1))
    return pieces
