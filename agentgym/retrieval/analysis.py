"""English text analysis equal to Lucene's: tokenizer, possessives, stop words, Porter stems.

The chain is that of Anserini's ``DefaultEnglishAnalyzer`` (Lucene 8): ``StandardTokenizer``, which
follows the word boundaries of UAX #29 and keeps ideographs, hiragana and pictographs apart;
``EnglishPossessiveFilter``; lower case; 33 stop words; ``PorterStemFilter``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentgym.retrieval import characters as ch
from agentgym.retrieval.porter import stem

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their "
        "then there these they this to was will with",
    )
)
"""Lucene's English stop words."""

LONGEST_TOKEN = 255
"""Longer runs are cut into tokens of this length."""

_ASCII_WORD = re.compile(
    r"\w+(?:(?:(?<=[a-zA-Z])[.':](?=[a-zA-Z])|(?<=[0-9])[.,;'](?=[0-9]))\w+)*", re.ASCII
)
_POSSESSIVES = ("'s", "\u2019s", "\uff07s")


def words(text: str) -> list[str]:
    """Split text at the word boundaries of Lucene's ``StandardTokenizer``.

    Args:
        text: Any text; it is not changed to lower case.

    Returns:
        The tokens in order. Runs of underscores alone are still among the tokens of ASCII text;
        :func:`term` drops them.
    """
    pattern = _ASCII_WORD if text.isascii() else _unicode_word()
    found = pattern.findall(text)
    if len(text) > LONGEST_TOKEN and len(max(found, key=len, default="")) > LONGEST_TOKEN:
        return [w[i : i + LONGEST_TOKEN] for w in found for i in range(0, len(w), LONGEST_TOKEN)]
    return found


@lru_cache(maxsize=1 << 16)
def term(word: str) -> str | None:
    """Reduce one lower-case token to its index term.

    Args:
        word: A token of :func:`words` over lower-case text.

    Returns:
        The term, or None if the token is a stop word or holds no letter, digit or pictograph.
    """
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    if word in STOP_WORDS or not word.strip("_"):
        return None
    return stem(word)


def tokenize(text: str) -> list[str]:
    """Turn text into index terms.

    Args:
        text: A document or a query.

    Returns:
        The terms in order, repetitions included.
    """
    terms = map(term, words(text.lower()))
    return [token for token in terms if token is not None]


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    """Build the full grammar; alternatives stand in the order of precedence."""
    ext = f"[{ch.extend()}]*"
    letter, hebrew = f"[{ch.letter()}]{ext}", f"[{ch.HEBREW}]{ext}"
    number, katakana = f"[{ch.numeric()}]{ext}", f"[{ch.KATAKANA}]{ext}"
    join = f"(?:[{ch.extend_num_let()}]{ext})"
    mid_letter = f"[{ch.MID_LETTER}{ch.MID_BOTH}]{ext}"
    mid_number = f"[{ch.MID_NUMBER}{ch.MID_BOTH}]{ext}"

    kana_run = f"{katakana}(?:{join}*{katakana})*"
    number_run = f"{number}(?:(?:{join}*|{mid_number}){number})*"
    letter_run = f"{letter}(?:(?:{join}*|{mid_letter}){letter})*"
    hebrew_run = f"{hebrew}(?:\"{ext}{hebrew}|'{ext})"
    run = f"(?:{kana_run}|(?:{hebrew_run}|{number_run}|{letter_run})+)"
    word = f"{join}*{run}(?:{join}+{run})*{join}*"
    thai = f"(?:[{ch.SOUTH_EAST_ASIAN}]{ext})+"
    return re.compile(f"{_pictographs()}|{word}|{thai}|[{ch.HAN}]{ext}|[{ch.HIRAGANA}]{ext}")


def _pictographs() -> str:
    """Write the grammar of emoji: single ones, joined and tagged ones, keycaps and flags."""
    # A joiner between two pictographs joins them; elsewhere it attaches to what stands before it.
    ext = f"(?:(?![\ufe0e\ufe0f])(?!\u200d+[{ch.PICTOGRAPHIC}])[{ch.extend()}])*"
    modifier = f"[{ch.EMOJI_MODIFIER}]{ext}"
    one = f"(?:\u200d*[{ch.PICTOGRAPHIC}]{ext}(?:{modifier}|\ufe0f?)|{modifier})"
    tags = "[\U000e0020-\U000e007e]+\U000e007f"
    keycap = f"[{ch.KEYCAP_BASE}]{ext}\ufe0f?\u20e3{ext}"
    flag = f"(?:[{ch.REGIONAL_INDICATOR}][{ch.extend()}]*){{2}}"
    return f"{one}(?:{tags}|(?:\u200d{one})*)|{keycap}|{flag}"
