"""Slugs: names for addresses and files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping

SPELLINGS = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th",
}  # fmt: skip
"""Letters that have no decomposition into a plain letter and an accent."""
SYMBOLS = {"&": "and", "@": "at", "%": "percent", "+": "plus"}


def fold(text: str) -> str:
    """Replace letters by plain ones: accents are dropped, ligatures spelled out."""
    pieces = []
    for char in text:
        plain = SPELLINGS.get(char.lower())
        if plain is not None:
            pieces.append(plain.capitalize() if char.isupper() else plain)
            continue
        decomposed = unicodedata.normalize("NFKD", char)
        pieces.append("".join(part for part in decomposed if not unicodedata.combining(part)))
    return "".join(pieces)


def slugify(
    text: str,
    separator: str = "-",
    max_length: int = 0,
    stopwords: Collection[str] = (),
    symbols: Mapping[str, str] = SYMBOLS,
) -> str:
    """Make a slug: small plain letters and digits, with a separator between words.

    Args:
        text: The text.
        separator: What stands between words.
        max_length: How long it may be; whole words are dropped at the end, and only a first word
            that is too long is cut. 0 is without limit.
        stopwords: Words that are left out, unless nothing else would be left.
        symbols: How symbols are spelled.
    """
    if max_length < 0:
        raise ValueError(f"max_length cannot be negative, got {max_length}")
    for symbol, name in symbols.items():
        text = text.replace(symbol, f" {name} ")
    text = re.sub(r"['\u2019]", "", fold(text).lower())
    words = re.findall(r"[a-z0-9]+", text)
    kept = [word for word in words if word not in stopwords] or words
    if max_length:
        kept = _fit(kept, len(separator), max_length)
    return separator.join(kept)


def _fit(words: list[str], gap: int, limit: int) -> list[str]:
    """Keep as many words as fit."""
    length = -gap
    for place, word in enumerate(words):
        length += gap + len(word)
        if length > limit:
            return words[:place] or [word[:limit]]
    return words
