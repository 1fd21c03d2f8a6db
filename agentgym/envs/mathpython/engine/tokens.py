"""Split the text of an answer, LaTeX or plain, into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.envs.mathpython.engine.tree import Unreadable

LONGEST = 1000
"""Most characters of a text that is read as mathematics."""
MOST_DIGITS = 300
"""Most digits of a number that is written out."""

_PLAIN = {
    "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u22c5": "*", "\u00f7": "/",
    "\u03c0": r"\pi ", "\u221e": r"\infty ", "\u221a": r"\sqrt ", "\u00b1": r"\pm ",
    "\u222a": r"\cup ", "\u2208": r"\in ", "\u2264": r"\le ", "\u2265": r"\ge ",
    "\u2260": r"\ne ", "\u00b0": r"\degree ", "\u00b2": "^2", "\u00b3": "^3",
    "\u2205": r"\emptyset ", "\u00a0": " ",
}  # fmt: skip
"""Signs beyond ASCII -> how they are written here."""
_SPACES = re.compile(
    r"\\(?:[,;:! ]|(?:quad|qquad|left|right|displaystyle|textstyle|limits|bigl?|bigr?|Bigl?|Bigr?)"
    r"(?![A-Za-z]))|~|\\\\|\$"
)
_FRACTION = re.compile(r"\\[dtc]frac(?![A-Za-z])")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\(?:circ|degree)\s*\}|\\(?:circ|degree)(?![A-Za-z]))")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox|textbf|textit|operatorname|mathbf)\s*\{([^{}]*)\}")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\{,\}|,|\\,)(?:\\!)?\d{3})+(?!\d)")
_INSIDE = re.compile(r"(?<![\d.])\d{1,3}(?:(?:\{,\}|,\\!|\\,)\d{3})+(?!\d)")
"""Thousands in brackets, where a bare comma stands between two items."""
_TOKEN = re.compile(
    r"(?P<number>\d+\.\d+|\d+\.(?!\d)|\.\d+|\d+)"
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
    rest = text[start + (6 if text[start + 1] == "b" else 5) :].lstrip()
    if not rest.startswith("{"):
        return rest.split("$")[0].strip()
    depth = 0
    for place, letter in enumerate(rest):
        escaped = place > 0 and rest[place - 1] == "\\"
        depth += 0 if escaped else (letter == "{") - (letter == "}")
        if depth == 0:
            return rest[1:place].strip()
    return rest[1:].strip()


def tokens(text: str) -> list[Token]:
    """Split a text into tokens.

    Raises:
        Unreadable: It is too long, or contains something other than mathematics.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"expected at most {LONGEST} characters, got {len(text)}")
    text = _simplified(text)
    found: list[Token] = []
    place, spaced = 0, False
    while place < len(text):
        if text[place] == "\x00":
            end = text.index("\x01", place)
            found.append(Token("text", " ".join(text[place + 1 : end].split()), spaced))
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
            found.append(Token(kind, word, spaced))
        spaced = kind == "blank"
    return [*found, Token("end", "", False)]


def _simplified(text: str) -> str:
    """Write a text with fewer spellings: no spacing, one kind of fraction, plain thousands."""
    if not text.isascii():
        text = "".join(_PLAIN.get(letter, letter) for letter in text)
    text = text.replace("\x00", " ").replace("\x01", " ")
    text = _thousands(text.replace(r"\$", " ").replace(r"\(", " ").replace(r"\)", " "))
    text = _TEXT.sub(lambda found: f"\x00{found[1]}\x01", text)
    text = _DEGREE.sub(r"\\degree ", text)
    text = _FRACTION.sub(r"\\frac", _SPACES.sub(" ", text)).strip()
    return text.rstrip(".").rstrip() if not text.endswith("..") else text


def _thousands(text: str) -> str:
    """Take the commas out of numbers; those between the items of a bracket stay."""
    bracket = any(letter in "([{" for letter in text.replace("{,}", ""))
    pattern = _INSIDE if bracket else _THOUSANDS
    return pattern.sub(lambda found: re.sub(r"[^\d]", "", found[0]), text)
