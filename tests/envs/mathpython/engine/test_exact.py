"""The calculator: exact, and refusing what it cannot do."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.mathpython.engine.exact import NotRational, Unreadable, calculated, write_number

VALUES = [
    ("2 + 3 * 4", "14"), ("(2 + 3) * 4", "20"), ("-2^2", "-4"), ("(-2)^2", "4"), ("2^-2", "1/4"),
    ("2^3^2", "512"), ("7 / 2", "7/2"), ("0.1 + 0.2", "3/10"), ("17 mod 5", "2"),
    ("mod(-1, 5)", "4"),
    ("floor(-7/2)", "-4"), ("ceil(7/2)", "4"), ("round(2.5)", "3"), ("round(-1/3, 2)", "-33/100"),
    ("gcd(12, 18)", "6"), ("lcm(4, 6)", "12"), ("10!", "3628800"), ("binom(10, 3)", "120"),
    ("sqrt(49/4)", "7/2"), ("8^(1/3)", "2"), ("max(1, 2, 1/2)", "2"), ("50%", "1/2"), ("2(3)", "6"),
    ("3 * -2", "-6"), ("2**10", "1024"), ("1,234 + 1", "1235"), ("abs(-3)", "3"), ("0^0", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_values(text: str, value: str) -> None:
    assert write_number(calculated(text)) == value


@pytest.mark.parametrize(
    "text",
    ["", "x + 1", "1/0", "5 mod 0", "sqrt(2)", "2^0.5", "9^9^9", "1001!", "hello", "1 = 1", "1, 2",
     "gcd(1/2, 3)", "floor(1, 2)", "0^-1", "(-1)^(1/2)", "7 8", "2 +", "import os", "sin(1)"],
)  # fmt: skip
def test_what_it_refuses(text: str) -> None:
    with pytest.raises((NotRational, Unreadable)):
        calculated(text)


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_it_calculates_as_fractions_do(first: Fraction, other: Fraction) -> None:
    assert calculated(f"({first}) + ({other})") == first + other
    assert calculated(f"({first}) * ({other}) - ({other})") == first * other - other
    assert calculated(write_number(first)) == first
