"""Exact fractions, rounding and conversion of units."""

from unitround.numbers import format_decimal, nearest_fraction, parse_number, to_mixed
from unitround.quantity import Quantity
from unitround.rounding import MODES, round_significant, round_to
from unitround.units import UnitError, convert, find_unit

__all__ = [
    "MODES",
    "Quantity",
    "UnitError",
    "convert",
    "find_unit",
    "format_decimal",
    "nearest_fraction",
    "parse_number",
    "round_significant",
    "round_to",
    "to_mixed",
]
