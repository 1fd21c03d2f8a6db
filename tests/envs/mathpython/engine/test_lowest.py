"""What counts as a calculated value, and what is left to calculate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.envs.mathpython.engine.equivalence import equivalent
from agentgym.envs.mathpython.engine.exact import write_number

CALCULATED = [
    ("5", "5"), ("5", "5.0"), ("5", "+5"), ("5", "(5)"), ("5", "$5$"), ("5", r"\boxed{5}"),
    ("5", "x = 5"), ("5", "5 boxes"), ("5", r"5 \text{ boxes}"), ("5", "{5}"), ("-5", "-5"),
    ("12345", "12,345"), ("1/2", "0.5"), ("7/2", r"\frac{7}{2}"), ("7/2", r"\dfrac72"),
    ("-7/2", r"-\frac{7}{2}"), ("-7/2", r"\frac{-7}{2}"), ("-7/2", "(-7)/2"), ("-7/2", "-7/2"),
    ("1/3", "0.333333"), ("-3, 2", "2, -3"), ("-3, 2", "x = 2 or x = -3"), ("-3, 2", "{2, -3}"),
    ("-3, 3", r"\pm 3"), ("-1/2, 2", r"\{2, -\frac{1}{2}\}"), ("0", "0"),
]  # fmt: skip
LEFT_TO_CALCULATE = [
    ("5", "floor((7+66)/13)"), ("5", r"\lfloor 73/13 \rfloor"), ("7", "3+4"), ("7", "8 - 1"),
    ("10", "2*5"), ("10", r"2 \cdot 5"), ("10", "2(5)"), ("10", "1e1"), ("7", "14/2"), ("7", "7/1"),
    ("7", r"\frac{14}{2}"), ("3/2", "6/4"), ("3/2", "1 1/2"), ("3/2", r"1\frac{1}{2}"),
    ("3/2", "1.5/1"), ("3/2", "3/2 + 0"), ("7", "7^1"), ("49", "7**2"), ("7", "sqrt(49)"),
    ("7", "|-7|"), ("7", "73 mod 11"), ("7", "--7"), ("7", "-(-7)"), ("6", "3!"), ("7", "700%"),
    ("7", "700 percent"), ("6", "gcd(12, 18)"), ("7", "max(7, 3)"), ("7", "x = 3 + 4"),
    ("7", "(3 + 4) boxes"), ("-3, 2", "1 - 4, 2"), ("-3, 2", r"\{1 - 4, 2\}"),
    ("-1, 3", r"1 \pm 2"),
    ("0", "0/5"), ("0", "5 - 5"), ("-7", "-(3+4)"), ("-7/2", "7/-2"), ("-7/2", "-(-7)/-2"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), CALCULATED)
def test_values_are_paid(gold: str, answer: str) -> None:
    assert equivalent(gold, answer, lowest_form=True) and equivalent(gold, answer)


@pytest.mark.parametrize(("gold", "answer"), LEFT_TO_CALCULATE)
def test_formulas_are_paid_in_data_sets_alone(gold: str, answer: str) -> None:
    assert equivalent(gold, answer) or answer == "1e1"
    assert not equivalent(gold, answer, lowest_form=True)


@given(st.fractions(max_denominator=10**6), st.integers(2, 9))
def test_every_fraction_has_one_lowest_form(value, factor) -> None:
    gold = write_number(value)
    assert equivalent(gold, gold, lowest_form=True)
    top, bottom = value.numerator * factor, value.denominator * factor
    assert equivalent(gold, f"{top}/{bottom}")
    assert not equivalent(gold, f"{top}/{bottom}", lowest_form=True)
