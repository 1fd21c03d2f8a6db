"""JSON as other parsers read it: finite numbers, every key once, bounded nesting.

Python's own reader takes ``NaN`` and ``1e999``, of a key that comes twice the last one without a
word, and as much nesting as its stack holds: what it accepts, the next program may refuse, or read
otherwise.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

DEEPEST = 100
"""Maximum nesting of lists and objects."""


def parse_json(text: str | bytes | bytearray) -> Any:
    """Read a JSON text.

    Args:
        text: The text; bytes are UTF-8 (or UTF-16 or UTF-32, which JSON tells apart).

    Raises:
        ValueError: It is no JSON, or names a key twice, a number that is not finite, or more than
            :data:`DEEPEST` lists and objects in one another.
    """
    if isinstance(text, bytes | bytearray):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"more than {DEEPEST} lists and objects in one another") from None
    # For most texts, counting brackets is enough to check the nesting.
    if text.count("[") + text.count("{") > DEEPEST:
        check_nesting(value)
    return value


def dump_json(value: object) -> str:
    """Write a value as ASCII JSON.

    Raises:
        ValueError: It holds a number that is not finite.
        TypeError: It contains values that JSON cannot represent.
    """
    return json.dumps(value, allow_nan=False)


def check_nesting(value: object) -> None:
    """Check how deep the lists and objects of parsed data are in one another.

    Raises:
        ValueError: It is more than :data:`DEEPEST`.
    """
    level = [value]
    for _ in range(DEEPEST):
        inner: list[object] = []
        for part in level:
            if isinstance(part, dict):
                inner.extend(part.values())
            elif isinstance(part, list):
                inner.extend(part)
        if not inner:
            return
        level = inner
    if any(isinstance(part, dict | list) for part in level):
        raise ValueError(f"more than {DEEPEST} lists and objects in one another")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of its pairs, for ``object_pairs_hook``.

    Raises:
        ValueError: A key comes twice.
    """
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r:.80} comes twice")
    return mapping


def refuse_constant(word: str) -> NoReturn:
    """Refuse ``NaN`` and the infinities, for ``parse_constant``.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{word}, which is no number of JSON")


def finite_number(digits: str) -> float:
    """Read a number with a fraction or an exponent, for ``parse_float``.

    Raises:
        ValueError: It is larger than any that a computer keeps.
    """
    number = float(digits)
    if number - number != 0.0:
        raise ValueError(f"a number beyond the range of floats ({digits:.40})")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=unique_keys, parse_constant=refuse_constant, parse_float=finite_number
)
