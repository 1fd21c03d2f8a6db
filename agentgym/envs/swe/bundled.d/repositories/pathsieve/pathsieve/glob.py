"""Patterns with wildcards, translated to regular expressions."""

from __future__ import annotations

import re

from pathsieve.braces import expand_braces

WILD = set("*?[")


class PatternError(ValueError):
    """A pattern cannot be understood."""


class Pattern:
    """A glob pattern that matches whole paths.

    Args:
        text: The pattern.
        ignore_case: Whether small and capital letters are the same.
    """

    def __init__(self, text: str, ignore_case: bool = False) -> None:
        self.text = text
        self.ignore_case = ignore_case
        options = expand_braces(text)
        flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        self._regex = re.compile("|".join(translate(option) for option in options), flags)

    def __repr__(self) -> str:
        """Show the pattern as it was written."""
        return f"Pattern({self.text!r})"

    def matches(self, path: str) -> bool:
        """Tell whether a path, from its first to its last character, fits the pattern."""
        return self._regex.fullmatch(path) is not None

    def filter(self, paths: list[str]) -> list[str]:
        """Keep the paths that match, in their order."""
        return [path for path in paths if self.matches(path)]

    @property
    def literal(self) -> bool:
        """Whether the pattern has no wildcards and matches a single path."""
        plain = re.sub(r"\\.", "", self.text)
        return not WILD & set(plain) and len(expand_braces(self.text)) == 1

    @property
    def base(self) -> str:
        """The folder in which everything that matches lies: the names before the first wildcard."""
        names = []
        for name in self.text.split("/")[:-1]:
            if not Pattern(name).literal:
                break
            names.append(re.sub(r"\\(.)", r"\1", name))
        return "/".join(names)


def translate(glob: str) -> str:
    """Translate a pattern without braces to the source of a regular expression."""
    pieces: list[str] = []
    position = 0
    while position < len(glob):
        char = glob[position]
        if char == "*":
            piece, position = _stars(glob, position)
            pieces.append(piece)
            continue
        if char == "[":
            piece, position = _set(glob, position)
            pieces.append(piece)
            continue
        if char == "\\":
            position += 1
            if position == len(glob):
                raise PatternError(f"{glob!r} ends with a backslash")
            char = glob[position]
            pieces.append(re.escape(char))
        elif char == "?":
            pieces.append("[^/]")
        else:
            pieces.append(re.escape(char))
        position += 1
    return "".join(pieces)


def _stars(glob: str, start: int) -> tuple[str, int]:
    """Translate one or more stars; two that fill a whole name cross folders."""
    end = start
    while end < len(glob) and glob[end] == "*":
        end += 1
    at_start = start == 0 or glob[start - 1] == "/"
    if end - start != 2 or not at_start:
        return "[^/]*", end
    if end == len(glob):
        return ".*", end
    if glob[end] == "/":
        return "(?:[^/]+/)*", end + 1
    return "[^/]*", end


def _set(glob: str, start: int) -> tuple[str, int]:
    """Translate a set of characters; a slash is never in it."""
    position = start + 1
    negated = glob[position : position + 1] in ("!", "^")
    if negated:
        position += 1
    first = position
    while position < len(glob) and (glob[position] != "]" or position == first):
        position += 2 if glob[position] == "\\" else 1
    if position >= len(glob):
        raise PatternError(f"{glob!r} has a set that does not end")
    inner = glob[first:position].replace("[", "\\[").replace("&&", "&\\&")
    inner = inner.replace("~", "\\~").replace("|", "\\|")
    if inner.startswith("]"):
        inner = "\\" + inner
    if inner.startswith("^"):
        inner = "\\" + inner
    source = f"(?!/)[{'^' if negated else ''}{inner}]"
    try:
        re.compile(source)
    except re.error:
        raise PatternError(f"{glob!r} has a set that makes no sense") from None
    return source, position + 1
