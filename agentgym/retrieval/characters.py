"""Character classes of Unicode word breaking (UAX #29), as fragments of regular expressions.

The names are those of the Word_Break property. Python's ``re`` has no Unicode properties, so the
classes are collected from :mod:`unicodedata`, once per process and only when the first text that
is not ASCII is read.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HAN += "\U00020000-\U0003ffff"
HIRAGANA = "\u3041-\u3096\u309d-\u309f\U0001b001-\U0001b11f\U0001f200"
KATAKANA = "\u3031-\u3035\u309b\u309c\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u32d0-\u32fe"
KATAKANA += "\u3300-\u3357\uff66-\uff9d\U0001b000"
HEBREW = "\u05d0-\u05ea\u05ef-\u05f2\ufb1d\ufb1f-\ufb28\ufb2a-\ufb4f"
SOUTH_EAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf\u1000-\u103f"
SOUTH_EAST_ASIAN += "\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u19df"
CIRCLED_LETTERS = "\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189"
HALFWIDTH_MARKS = "\uff9e\uff9f"

MID_LETTER = ":\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a\u02d7"
MID_NUMBER = ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
MID_BOTH = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"

REGIONAL_INDICATOR = "\U0001f1e6-\U0001f1ff"
EMOJI_MODIFIER = "\U0001f3fb-\U0001f3ff"
KEYCAP_BASE = "0-9#*"
# Extended_Pictographic of Emoji 11, the version that Lucene 8 reads.
PICTOGRAPHIC = (
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

_PLANES = (range(0x20000), range(0xE0000, 0xE01F0))
"""Code points that can be in a collected class: letters end with the second plane."""
_ZERO_WIDTH_SPACE = 0x200B
_ARABIC_DECIMAL_SEPARATOR = 0x066B
_NARROW_NO_BREAK_SPACE = 0x202F


@lru_cache(maxsize=1)
def extend() -> str:
    """Return Extend, Format and ZWJ: what attaches to the character before it (rule WB4)."""
    points = _categories("Mn", "Me", "Mc", "Cf") | _expand(HALFWIDTH_MARKS)
    return _ranges(points - {_ZERO_WIDTH_SPACE})


@lru_cache(maxsize=1)
def numeric() -> str:
    """Return Numeric: decimal digits (fullwidth ones too, as in Lucene)."""
    return _ranges(_categories("Nd") | {_ARABIC_DECIMAL_SEPARATOR})


@lru_cache(maxsize=1)
def extend_num_let() -> str:
    """Return ExtendNumLet: the underscore and other connectors."""
    return _ranges(_categories("Pc") | {_NARROW_NO_BREAK_SPACE})


@lru_cache(maxsize=1)
def letter() -> str:
    """Return ALetter and Hebrew_Letter: alphabetic, but in no class with rules of its own."""
    alphabetic = _categories("Lu", "Ll", "Lt", "Lm", "Lo", "Nl") | _expand(CIRCLED_LETTERS)
    others = _expand(HAN + HIRAGANA + KATAKANA + SOUTH_EAST_ASIAN + HALFWIDTH_MARKS)
    return _ranges(alphabetic - others)


def _categories(*names: str) -> set[int]:
    """Return the code points of some general categories."""
    table = _by_category()
    return {point for name in names for point in table.get(name, ())}


@lru_cache(maxsize=1)
def _by_category() -> dict[str, list[int]]:
    """List the code points of each general category."""
    table: dict[str, list[int]] = {}
    category = unicodedata.category
    for plane in _PLANES:
        for point in plane:
            table.setdefault(category(chr(point)), []).append(point)
    return table


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
