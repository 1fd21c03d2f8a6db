"""From texts to typed values."""

from __future__ import annotations

TRUE_WORDS = ("true", "yes", "on", "1")
FALSE_WORDS = ("false", "no", "off", "0")
SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def to_bool(text: str) -> bool:
    """Read a truth value; ValueError names the words that are understood."""
    word = text.lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(f"expected one of {', '.join(TRUE_WORDS + FALSE_WORDS)}")


def to_int(text: str) -> int:
    """Read a whole number: decimal, or with one of the prefixes 0x, 0o and 0b."""
    digits = text.lower().lstrip("+-")
    if digits[:2] in ("0x", "0o", "0b"):
        return int(text, 0)
    return int(text)


def to_size(text: str) -> int:
    """Read a number of bytes such as ``512``, ``64k`` or ``1.5M`` (powers of 1024)."""
    text = text.strip().lower().removesuffix("b")
    unit = text[-1:] if text[-1:].isalpha() else ""
    if unit not in SIZES:
        raise ValueError("expected a number with k, m or g")
    number = float(text.removesuffix(unit))
    if number < 0:
        raise ValueError("expected no negative size")
    return int(number * SIZES[unit])


def to_list(text: str) -> list[str]:
    """Read items that are separated by commas or lines; empty items are left out."""
    items = (item.strip() for item in text.replace("\n", ",").split(","))
    return [item for item in items if item]
