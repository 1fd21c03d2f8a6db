"""Naming styles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from slugcase.words import split_words

STYLES: dict[str, tuple[str, str, str]] = {
    "snake": ("_", "lower", "lower"),
    "kebab": ("-", "lower", "lower"),
    "dot": (".", "lower", "lower"),
    "constant": ("_", "upper", "upper"),
    "camel": ("", "lower", "capital"),
    "pascal": ("", "capital", "capital"),
    "title": (" ", "capital", "capital"),
    "sentence": (" ", "capital", "lower"),
    "train": ("-", "capital", "capital"),
}
"""For each style what stands between words, the case of the first word, and that of the others."""
CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "capital": str.capitalize,
}
PATTERNS = {
    "constant": re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+"),
    "snake": re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)+"),
    "kebab": re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+"),
    "dot": re.compile(r"[a-z][a-z0-9]*(\.[a-z0-9]+)+"),
    "train": re.compile(r"[A-Z][a-z0-9]*(-[A-Z0-9][a-z0-9]*)+"),
    "camel": re.compile(r"[a-z][a-z0-9]*([A-Z][A-Za-z0-9]*)+"),
    "pascal": re.compile(r"[A-Z]+[a-z][A-Za-z0-9]*"),
}


def convert(text: str, style: str, acronyms: Sequence[str] = ()) -> str:
    """Write a text or identifier in a style.

    Args:
        text: The text, in any style.
        style: One of ``STYLES``.
        acronyms: Words that keep this spelling where their style would capitalise them.
    """
    if style not in STYLES:
        raise ValueError(f"unknown style {style!r}, there are {', '.join(STYLES)}")
    separator, first, rest = STYLES[style]
    spelled = {word.lower(): word for word in acronyms}
    words = []
    for place, word in enumerate(split_words(text, digits=False)):
        case = rest if place else first
        if case == "capital" and word.lower() in spelled:
            words.append(spelled[word.lower()])
        else:
            words.append(CASES[case](word))
    return separator.join(words)


def detect(text: str) -> str | None:
    """Guess the style of an identifier; ``None`` if it has none or is a single small word."""
    for style, pattern in PATTERNS.items():
        if pattern.fullmatch(text):
            return style
    return None
