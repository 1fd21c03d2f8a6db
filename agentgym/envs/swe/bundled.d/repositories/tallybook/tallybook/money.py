"""Exact amounts of money."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

from tallybook.errors import MoneyError

DECIMALS = {"JPY": 0, "KRW": 0, "BHD": 3, "KWD": 3}
"""Digits after the decimal point of currencies that do not have two."""
AMOUNT = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?\s*([A-Z]{3})")


def decimals(currency: str) -> int:
    """Number of digits after the decimal point of a currency."""
    return DECIMALS.get(currency, 2)


@total_ordering
@dataclass(frozen=True)
class Money:
    """An amount in the smallest unit of a currency, such as cents."""

    units: int
    currency: str

    @classmethod
    def parse(cls, text: str) -> Money:
        """Read an amount such as ``1,234.50 EUR``; missing decimals are zeros.

        Raises:
            MoneyError: The text is no amount, or has more decimals than the currency.
        """
        match = AMOUNT.fullmatch(text.strip())
        if match is None:
            raise MoneyError(f"{text!r} is not an amount such as 12.50 EUR")
        sign, whole, fraction, currency = match.groups(default="")
        places = decimals(currency)
        if len(fraction) > places:
            raise MoneyError(f"{currency} has {places} decimals, {text!r} has {len(fraction)}")
        units = int(whole.replace(",", "") + fraction.ljust(places, "0"))
        return cls(-units if sign == "-" else units, currency)

    @classmethod
    def zero(cls, currency: str) -> Money:
        """Nothing, in some currency."""
        return cls(0, currency)

    @classmethod
    def total(cls, amounts: Iterable[Money], currency: str) -> Money:
        """Sum up amounts of one currency."""
        result = cls.zero(currency)
        for amount in amounts:
            result += amount
        return result

    def _same(self, other: Money) -> None:
        if self.currency != other.currency:
            raise MoneyError(f"{self.currency} and {other.currency} do not mix")

    def __add__(self, other: Money) -> Money:
        """Add an amount of the same currency."""
        self._same(other)
        return Money(self.units + other.units, self.currency)

    def __sub__(self, other: Money) -> Money:
        """Subtract an amount of the same currency."""
        self._same(other)
        return Money(self.units - other.units, self.currency)

    def __neg__(self) -> Money:
        """Turn the sign round."""
        return Money(-self.units, self.currency)

    def __abs__(self) -> Money:
        """Drop the sign."""
        return Money(abs(self.units), self.currency)

    def __mul__(self, factor: int | Fraction) -> Money:
        """Multiply by a whole number or fraction, rounded to the even neighbour."""
        return Money(round(self.units * Fraction(factor)), self.currency)

    def __lt__(self, other: Money) -> bool:
        """Compare with an amount of the same currency."""
        self._same(other)
        return self.units < other.units

    def __bool__(self) -> bool:
        """Whether the amount is not zero."""
        return self.units != 0

    def percent(self, rate: str) -> Money:
        """Take a percentage, given as text such as ``"19"`` or ``"7.5"``."""
        return self * (Fraction(rate) / 100)

    def split(self, parts: int) -> list[Money]:
        """Split into parts as equal as possible; the larger ones come first."""
        if parts < 1:
            raise MoneyError(f"cannot split into {parts} parts")
        return self.allocate([1] * parts)

    def allocate(self, weights: Sequence[int]) -> list[Money]:
        """Split in proportion to weights without losing a unit.

        Units that are left over go one by one to the parts that lost most by rounding, the
        earlier one among equals.
        """
        whole = sum(weights)
        if whole <= 0 or min(weights) < 0:
            raise MoneyError("weights cannot be negative or all zero")
        amount = abs(self.units)
        shares = [amount * weight // whole for weight in weights]
        lost = [amount * weight % whole for weight in weights]
        order = sorted(range(len(weights)), key=lambda place: (-lost[place], place))
        for place in order[: amount - sum(shares)]:
            shares[place] += 1
        sign = -1 if self.units < 0 else 1
        return [Money(sign * share, self.currency) for share in shares]

    def convert(self, rate: str, currency: str) -> Money:
        """Change into another currency, of which one unit of this one buys ``rate``."""
        value = Fraction(self.units, 10 ** decimals(self.currency)) * Fraction(rate)
        return Money(round(value * 10 ** decimals(currency)), currency)

    def __str__(self) -> str:
        """Write the amount with all decimals and no separators."""
        places = decimals(self.currency)
        digits = str(abs(self.units)).rjust(places + 1, "0")
        sign = "-" if self.units < 0 else ""
        if places:
            digits = f"{digits[:-places]}.{digits[-places:]}"
        return f"{sign}{digits} {self.currency}"

    def __repr__(self) -> str:
        """Show the amount as it is written."""
        return f"Money({str(self)!r})"
