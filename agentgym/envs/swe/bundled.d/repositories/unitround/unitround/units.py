"""Units and their conversion."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class UnitError(ValueError):
    """A unit is unknown, or two units measure different things."""


@dataclass(frozen=True)
class Unit:
    """A unit.

    Attributes:
        symbol: How it is written.
        kind: What it measures.
        factor: How many base units it is.
        offset: What its zero is in base units.
    """

    symbol: str
    kind: str
    factor: Fraction
    offset: Fraction = Fraction(0)


def _table(kind: str, **factors: str) -> dict[str, Unit]:
    """Return units of a kind from their factors."""
    return {symbol: Unit(symbol, kind, Fraction(text)) for symbol, text in factors.items()}


UNITS: dict[str, Unit] = {
    **_table("length", mm="0.001", cm="0.01", m="1", km="1000"),
    **_table("length", inch="0.0254", ft="0.3048", yd="0.9144", mi="1609.344"),
    **_table("mass", mg="0.001", g="1", kg="1000", t="1000000", oz="28.349523125", lb="453.59237"),
    **_table("volume", ml="0.001", l="1", tsp="0.00492892159375", cup="0.2365882365"),
    **_table("time", s="1", min="60", h="3600", d="86400"),
    "K": Unit("K", "temperature", Fraction(1)),
    "C": Unit("C", "temperature", Fraction(1), Fraction("273.15")),
    "F": Unit("F", "temperature", Fraction(5, 9), Fraction("273.15") - Fraction(160, 9)),
}


def find_unit(symbol: str) -> Unit:
    """Return the unit with a symbol; upper and lower case differ only for temperatures."""
    if symbol in UNITS:
        return UNITS[symbol]
    if symbol.lower() in UNITS:
        return UNITS[symbol.lower()]
    raise UnitError(f"{symbol!r} is not a unit")


def convert(value: Fraction, source: str, target: str) -> Fraction:
    """Return a value in another unit, exactly.

    Args:
        value: The value.
        source: Its unit.
        target: The other unit.

    Returns:
        The value in the other unit.

    Raises:
        UnitError: A unit is unknown, or they measure different things.
    """
    old, new = find_unit(source), find_unit(target)
    if old.kind != new.kind:
        raise UnitError(f"cannot convert {old.kind} ({source}) to {new.kind} ({target})")
    base = value * old.factor + old.offset
    return (base - new.offset) / new.factor
