"""Numbers with units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from unitround.numbers import format_decimal, parse_number
from unitround.rounding import round_to
from unitround.units import UnitError, convert, find_unit

_TEXT = re.compile(r"\s*(.*[\d.%])\s*([A-Za-z]+)\s*")


@dataclass(frozen=True)
class Quantity:
    """A number with a unit.

    Attributes:
        value: The number.
        unit: The symbol of the unit.
    """

    value: Fraction
    unit: str

    def __post_init__(self) -> None:
        """Refuse an unknown unit and write a known one as it should be."""
        object.__setattr__(self, "unit", find_unit(self.unit).symbol)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a number and a unit, such as ``2 1/2 cup``; UnitError if there is no unit."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise UnitError(f"{text!r} is not a number with a unit")
        return cls(parse_number(match.group(1)), match.group(2))

    def to(self, unit: str) -> Quantity:
        """Return the quantity in another unit."""
        return Quantity(convert(self.value, self.unit, unit), unit)

    def rounded(self, decimals: int, mode: str = "half_up") -> Quantity:
        """Return the quantity rounded to so many decimals."""
        return Quantity(round_to(self.value, Fraction(1, 10**decimals), mode), self.unit)

    def best(self, *units: str) -> Quantity:
        """Return the quantity in the largest of some units in which it is at least 1.

        If it is less than 1 in all of them, it is given in the smallest.
        """
        ranked = sorted(units, key=lambda unit: find_unit(unit).factor, reverse=True)
        for unit in ranked:
            if abs(self.to(unit).value) >= 1:
                return self.to(unit)
        return self.to(ranked[-1])

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum in the unit of the first quantity."""
        return Quantity(self.value + convert(other.value, other.unit, self.unit), self.unit)

    def __sub__(self, other: Quantity) -> Quantity:
        """Return the difference in the unit of the first quantity."""
        return Quantity(self.value - convert(other.value, other.unit, self.unit), self.unit)

    def __mul__(self, factor: Fraction | int) -> Quantity:
        """Return so many times the quantity."""
        return Quantity(self.value * factor, self.unit)

    def __lt__(self, other: Quantity) -> bool:
        """Say whether the quantity is smaller, whatever the units."""
        return self.value < convert(other.value, other.unit, self.unit)

    def same_as(self, other: Quantity) -> bool:
        """Say whether two quantities are the same, whatever the units."""
        return self.value == convert(other.value, other.unit, self.unit)

    def __str__(self) -> str:
        """Return the number with up to six decimals and the unit."""
        return f"{format_decimal(self.value, 6, trim=True)} {self.unit}"
