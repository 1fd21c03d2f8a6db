"""Split the text of an answer, LaTeX or plain, into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.envs.mathpython.engine.spelling import END, TEXT, simplified
from agentgym.envs.mathpython.engine.tree import Unreadable

LONGEST = 1000
"""Most characters of a text that is read as mathematics."""
MOST_DIGITS = 300
"""Most digits of a number that is written out."""

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.\d+|\d+\.(?!\d)|\.\d+|\d+)(?:[eE][-+]?\d+(?![\d.]))?)"
    r"|(?P<command>\\[A-Za-z]+|\\[{}|%])"
    r"|(?P<word>[A-Za-z]+(?:['-][A-Za-z]+)*)"
    r"|(?P<sign>\*\*|<=|>=|!=|==|//|[-+*/^(){}\[\]|,;:=<>!%_])"
    r"|(?P<blank>\s+)"
)


class Token(NamedTuple):
    """A token of a text."""

    kind: str
    """``number``, ``word``, ``sign``, ``end``; in LaTeX also ``command`` and ``text`` (words)."""
    text: str
    """Its text; a command without its backslash."""
    spaced: bool
    """Whether a blank precedes it."""


def answer_text(text: str) -> str:
    r"""Return the answer in a text: the argument of the last ``\boxed``, else the whole text.

    Args:
        text: An answer, or a solution that ends in its answer.
    """
    start = max(text.rfind(r"\boxed"), text.rfind(r"\fbox"))
    if start < 0:
        return text.strip()
    tail = text[start + (6 if text[start + 1] == "b" else 5) :].lstrip()
    if not tail.startswith("{"):
        return tail.split("$")[0].strip()
    depth = 0
    for place, letter in enumerate(tail):
        escaped = place > 0 and tail[place - 1] == "\\"
        depth += 0 if escaped else (letter == "{") - (letter == "}")
        if depth == 0:
            return tail[1:place].strip()
    return tail[1:].strip()


def tokens(text: str) -> list[Token]:
    """Split a text into tokens.

    Raises:
        Unreadable: It is too long, or contains something other than mathematics.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"expected at most {LONGEST} characters, got {len(text)}")
    text = simplified(text)
    token_list: list[Token] = []
    place, spaced = 0, False
    while place < len(text):
        if text[place] == TEXT:
            end = text.index(END, place)
            token_list.append(Token("text", " ".join(text[place + 1 : end].split()), spaced))
            place, spaced = end + 1, False
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise Unreadable(f"expected mathematics, got {text[place]!r}")
        kind, place = str(match.lastgroup), match.end()
        if kind == "number" and len(match[0]) > MOST_DIGITS:
            raise Unreadable(f"expected numbers of at most {MOST_DIGITS} digits")
        if kind != "blank":
            word = match[0][1:] if kind == "command" else match[0]
            token_list.append(Token(kind, word, spaced))
        spaced = kind == "blank"
    return [*token_list, Token("end", "", False)]
