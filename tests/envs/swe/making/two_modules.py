"""A library of two modules and its tests, with something in it for every kind of task."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "prices/__init__.py": '"""Prices."""\n',
    "prices/adding.py": '''"""Prices, added."""

from __future__ import annotations

import math

from prices.checking import checked


def total(prices: list[int], discount: int = 0) -> int:
    """Return the sum of prices, less a discount of at most the sum.

    Args:
        prices: The prices.
        discount: What is taken off.
    """
    result = 0
    for price in checked(prices, 1000):
        result += price
    if discount > result:
        return 0
    return result - discount


def whole(price: float) -> int:
    """Return the next whole price above."""
    return math.ceil(price)
''',
    "prices/checking.py": '''"""Prices, checked."""

from __future__ import annotations


def checked(prices: list[int], most: int, discount: int = 0) -> list[int]:
    """Return prices that are neither negative nor above ``most``, less a discount."""
    kept = []
    for price in prices:
        # Nobody pays for taking.
        if price < 0:
            raise ValueError(f"a negative price: {price}")
        if price > most:
            raise OverflowError(f"too much: {price}")
        kept.append(price - discount)
    return kept
''',
    "tests/test_prices.py": '''"""Prices."""

import pytest
from prices.adding import total, whole
from prices.checking import checked


class TestTotal:
    """Of sums."""

    # Added, and nothing else.
    def test_total(self):
        """Prices are added up."""
        assert total([2, 3]) == 5

    def test_discount(self):
        """A discount is taken off the sum."""
        assert total([2, 3], discount=1) == 4


@pytest.mark.parametrize(
    "discount",
    [6, 100],
)
def test_large_discount(discount):
    """A discount never makes a price negative."""
    assert total([2, 3], discount=discount) == 0


def test_negative():
    """A negative price is refused."""
    with pytest.raises(ValueError):
        checked([-1], 5)


def test_too_much():
    """A price above the most is refused."""
    with pytest.raises(OverflowError):
        checked([6], 5)


def test_checked():
    """Prices that fit are returned."""
    assert checked([1, 2], 5) == [1, 2]


def test_whole():
    """Prices are rounded up."""
    assert whole(1.2) == 2
''',
}


def make_two_modules(folder: Path) -> Path:
    """Write the library and its tests."""
    for path, content in FILES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return folder
