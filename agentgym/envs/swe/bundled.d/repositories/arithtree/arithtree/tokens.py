"""From text to tokens."""

from __future__ import annotations

from dataclasses import dataclass

OPERATORS = ("<=", ">=", "==", "!=", "//", "+", "-", "*", "/", "%", "^", "<", ">", "(", ")", ",")


class ParseError(ValueError):
    """A text is not an expression.

    Attributes:
        position: Where the fault is, counted in characters from 0.
    """

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at position {position})")
        self.position = position


@dataclass(frozen=True)
class Token:
    """A piece of an expression.

    Attributes:
        kind: ``number``, ``name``, ``operator`` or ``end``.
        text: The piece itself; empty at the end.
        position: Where it begins.
    """

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """Split an expression into tokens; the last one is of kind ``end``.

    Numbers are written with digits, an optional fraction and an optional exponent; names with
    letters, digits and underscores.

    Raises:
        ParseError: A character belongs to no token.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char.isspace():
            position += 1
            continue
        if char in "0123456789" or (char == "." and _is_digit(text, position + 1)):
            end = _number_end(text, position)
            kind = "number"
        elif char.isalpha() or char == "_":
            end = position + 1
            while end < len(text) and (text[end].isalnum() or text[end] == "_"):
                end += 1
            kind = "name"
        else:
            operator = next((o for o in OPERATORS if text.startswith(o, position)), None)
            if operator is None:
                raise ParseError(f"unexpected character {char!r}", position)
            end = position + len(operator)
            kind = "operator"
        tokens.append(Token(kind, text[position:end], position))
        position = end
    return [*tokens, Token("end", "", len(text))]


def _is_digit(text: str, position: int) -> bool:
    """Say whether a digit stands at a position, which may lie behind the text."""
    return position < len(text) and text[position] in "0123456789"


def _digits_end(text: str, position: int) -> int:
    """Return the position behind the digits that begin here."""
    while _is_digit(text, position):
        position += 1
    return position


def _number_end(text: str, position: int) -> int:
    """Return the position behind a number."""
    position = _digits_end(text, position)
    if text[position : position + 1] == ".":
        position = _digits_end(text, position + 1)
    if text[position : position + 1] in ("e", "E"):
        # Without digits behind it, the letter is the beginning of a name.
        digits = position + 1
        if text[digits : digits + 1] in ("+", "-"):
            digits += 1
        if _is_digit(text, digits):
            position = _digits_end(text, digits)
    return position
