"""English text analysis equal to Lucene's: tokenizer, possessives, stop words, Porter stems.

The chain is that of Anserini's ``DefaultEnglishAnalyzer`` (Lucene 8): ``StandardTokenizer``, which
follows the word boundaries of UAX #29 and keeps ideographs, hiragana and pictographs apart;
``EnglishPossessiveFilter``; lower case; 33 stop words; ``PorterStemFilter``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from agentgym.retrieval.bm25.porter import stem

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
    """Split text at the word boundaries of Lucene's ``StandardTokenizer``; case is kept.

    Runs of underscores alone are still among the tokens of ASCII text; :func:`term` drops them.
    """
    pattern = _ASCII_WORD if text.isascii() else _unicode_word()
    tokens = list(filter(None, pattern.findall(text)))
    if len(text) > LONGEST_TOKEN and len(max(tokens, key=len, default="")) > LONGEST_TOKEN:
        return [w[i : i + LONGEST_TOKEN] for w in tokens for i in range(0, len(w), LONGEST_TOKEN)]
    return tokens


@lru_cache(maxsize=1 << 16)
def term(word: str) -> str | None:
    """Reduce one lower-case token of :func:`words` to its index term.

    It is None if the token is a stop word or holds no letter, digit or pictograph.
    """
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    if word in STOP_WORDS or not word.strip("_"):
        return None
    return stem(word)


def tokenize(text: str) -> list[str]:
    """Turn a document or a query into index terms, in order, repetitions included."""
    terms = map(term, words(text.lower()))
    return [token for token in terms if token is not None]


# Character classes of Unicode word breaking (UAX #29), named as in its Word_Break property and
# written as the inside of a class, since :mod:`re` knows no properties.
_HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN += "\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u3096\u309d-\u309f\U0001b001-\U0001b11f\U0001f200"
_KATAKANA = "\u3031-\u3035\u309b\u309c\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe"
_KATAKANA += "\u3300-\u3357\uff66-\uff9d\U0001b000"
_HEBREW = "\u05d0-\u05ea\u05ef-\u05f2\ufb1d\ufb1f-\ufb28\ufb2a-\ufb4f"
_SOUTH_EAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf\u1000-\u103f"
_SOUTH_EAST_ASIAN += "\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u19df"
_CIRCLED_LETTERS = "\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
_HALFWIDTH_MARKS = "\uff9e\uff9f"

_MID_LETTER = ":\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a\u02d7"
_MID_NUMBER = ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
_MID_BOTH = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"

_REGIONAL_INDICATOR = "\U0001f1e6-\U0001f1ff"
_EMOJI_MODIFIER = "\U0001f3fb-\U0001f3ff"
_KEYCAP_BASE = "0-9#*"
# Extended_Pictographic of Emoji 11, the version that Lucene 8 reads.
_PICTOGRAPHIC = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605"
    "\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721\u2728\u2733"
    "\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f\U0001f16c-\U0001f171\U0001f17e"
    "\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ad-\U0001f1e5\U0001f201-\U0001f20f"
    "\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f\U0001f249-\U0001f3fa"
    "\U0001f400-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff\U0001f774-\U0001f77f"
    "\U0001f7d5-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f\U0001f85a-\U0001f85f"
    "\U0001f888-\U0001f88f\U0001f8ae-\U0001f8ff\U0001f90c-\U0001f93a\U0001f93c-\U0001f945"
    "\U0001f947-\U0001fffd"
)

# A joiner between two pictographs joins them; elsewhere it attaches to the character before it.
_JOINERS = f"\u200d+(?![\u200d{_PICTOGRAPHIC}])"

_PLANES = (range(0x20000), range(0xE0000, 0xE01F0))
"""Code points that can be in a class of :func:`_collected`: letters end with the second plane."""
_ZERO_WIDTH_SPACE = 0x200B
_ARABIC_DECIMAL_SEPARATOR = 0x066B
_NARROW_NO_BREAK_SPACE = 0x202F


@lru_cache(maxsize=1)
def _unicode_word() -> re.Pattern[str]:
    """Build the full grammar; alternatives stand in the order of precedence.

    The last one finds, as empty words, runs that belong to no word: without it each place of such a
    run would be looked at from every other, which takes hours for a long one.

    It is built when the first text comes that is not ASCII: collecting the classes takes a while.
    """
    extend, numeric, extend_num_let, letters = _collected()
    ext = f"[{extend}]*"
    letter, hebrew = f"[{letters}]{ext}", f"[{_HEBREW}]{ext}"
    number, katakana = f"[{numeric}]{ext}", f"[{_KATAKANA}]{ext}"
    join = f"(?:[{extend_num_let}]{ext})"
    mid_letter = f"[{_MID_LETTER}{_MID_BOTH}]{ext}"
    mid_number = f"[{_MID_NUMBER}{_MID_BOTH}]{ext}"

    kana_run = f"{katakana}(?:{join}*{katakana})*"
    number_run = f"{number}(?:(?:{join}*|{mid_number}){number})*"
    letter_run = f"{letter}(?:(?:{join}*|{mid_letter}){letter})*"
    hebrew_run = f"{hebrew}(?:\"{ext}{hebrew}|'{ext})"
    run = f"(?:{kana_run}|(?:{hebrew_run}|{number_run}|{letter_run})+)"
    word = f"{join}*{run}(?:{join}+{run})*{join}*"
    south_east_asian = f"(?:[{_SOUTH_EAST_ASIAN}]{ext})+"
    ideograph = f"[{_HAN}]{ext}|[{_HIRAGANA}]{ext}"
    nothing = f"{_JOINERS}|[{extend_num_let}](?:[{extend_num_let}]|{_attached(extend)})*"
    token = f"{_pictographs(extend)}|{word}|{south_east_asian}|{ideograph}"
    return re.compile(f"({token})|{nothing}")


def _pictographs(extend: str) -> str:
    """Write the grammar of emoji: single ones, joined and tagged ones, keycaps and flags."""
    ext = f"(?:(?![\ufe0e\ufe0f]){_attached(extend)})*"
    modifier = f"[{_EMOJI_MODIFIER}]{ext}"
    emoji = f"(?:\u200d*[{_PICTOGRAPHIC}]{ext}(?:{modifier}|\ufe0f?)|{modifier})"
    tags = "[\U000e0020-\U000e007e]+\U000e007f"
    keycap = f"[{_KEYCAP_BASE}]{ext}\ufe0f?\u20e3{ext}"
    flag = f"(?:[{_REGIONAL_INDICATOR}][{extend}]*){{2}}"
    return f"{emoji}(?:{tags}|(?:\u200d{emoji})*)|{keycap}|{flag}"


def _attached(extend: str) -> str:
    """Write what attaches to the character before it, where pictographs may follow."""
    return f"(?:(?!\u200d)[{extend}]|{_JOINERS})"


def _collected() -> tuple[str, str, str, str]:
    """Collect the classes Extend, Numeric, ExtendNumLet and ALetter from :mod:`unicodedata`."""
    table: dict[str, set[int]] = defaultdict(set)
    for plane in _PLANES:
        for point in plane:
            table[unicodedata.category(chr(point))].add(point)

    def points(*categories: str) -> set[int]:
        return set().union(*(table[name] for name in categories))

    # Extend, Format and ZWJ attach to the character before them (rule WB4).
    extend = points("Mn", "Me", "Mc", "Cf") | _expand(_HALFWIDTH_MARKS)
    alphabetic = points("Lu", "Ll", "Lt", "Lm", "Lo", "Nl") | _expand(_CIRCLED_LETTERS)
    # Scripts with separate rules for word breaks do not count as letters.
    non_letters = _expand(_HAN + _HIRAGANA + _KATAKANA + _SOUTH_EAST_ASIAN + _HALFWIDTH_MARKS)
    return (
        _ranges(extend - {_ZERO_WIDTH_SPACE}),
        _ranges(points("Nd") | {_ARABIC_DECIMAL_SEPARATOR}),
        _ranges(points("Pc") | {_NARROW_NO_BREAK_SPACE}),
        _ranges(alphabetic - non_letters),
    )


def _ranges(points: Iterable[int]) -> str:
    """Write code points as the inside of a character class."""
    runs: list[list[int]] = []
    for point in sorted(points):
        if runs and runs[-1][1] == point - 1:
            runs[-1][1] = point
        else:
            runs.append([point, point])
    return "".join(
        f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}"
        for first, last in runs
    )


def _expand(ranges: str) -> set[int]:
    """List the code points that a class such as ``"a-cx"`` names, up to the second plane."""
    points: set[int] = set()
    i = 0
    while i < len(ranges):
        run = ranges[i + 1 : i + 2] == "-"
        last = ord(ranges[i + 2] if run else ranges[i])
        points.update(range(ord(ranges[i]), min(last + 1, _PLANES[0].stop)))
        i += 3 if run else 1
    return points
