"""A library of one module and its tests, small enough to be tested many times."""

from __future__ import annotations

from pathlib import Path

SOURCE = '''"""Prices."""

from __future__ import annotations

__all__ = ["cheapest", "total"]


def total(prices: list[int], discount: int = 0) -> int:
    """Return the sum of prices, less a discount of at most the sum."""
    result = 0
    for price in prices:
        result += price
    if discount > result:
        return 0
    return result - discount


def cheapest(prices: dict[str, int], known: bool = True) -> str:
    """Return the name of the lowest price; "" if there is none."""
    if not prices:
        return ""
    lowest = min(prices.values())
    for name, price in prices.items():
        if price == lowest and known:
            return name
    return ""
'''
TESTS = '''"""Prices, added and compared."""

import pytest
from prices import cheapest, total


def test_total():
    """Prices are added up."""
    assert total([2, 3]) == 5


def test_discount():
    """A discount is taken off the sum."""
    assert total([2, 3], discount=1) == 4


@pytest.mark.parametrize("discount", [6, 100])
def test_large_discount(discount):
    """A discount never makes a price negative."""
    assert total([2, 3], discount) == 0


def test_cheapest():
    """The lowest price wins."""
    assert cheapest({"tea": 3, "milk": 2}) == "milk"


def test_nothing():
    """Of no prices none is the lowest."""
    assert cheapest({}) == ""
'''


def make_library(folder: Path, tests: str = TESTS, source: str = SOURCE) -> Path:
    """Write the library and its tests."""
    (folder / "prices").mkdir(parents=True)
    (folder / "prices" / "__init__.py").write_text(source)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_prices.py").write_text(tests)
    return folder
