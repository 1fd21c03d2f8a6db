"""Rounding."""

from fractions import Fraction as F

import pytest
from unitround import MODES, round_significant, round_to

VALUES = (F(-5, 2), F(-3, 2), F(-1, 3), F(1, 3), F(3, 2), F(5, 2), F(8, 3), F(3))


@pytest.mark.parametrize(
    ("mode", "results"),
    [
        ("half_up", (-3, -2, 0, 0, 2, 3, 3, 3)),
        ("half_even", (-2, -2, 0, 0, 2, 2, 3, 3)),
        ("half_down", (-2, -1, 0, 0, 1, 2, 3, 3)),
        ("up", (-3, -2, -1, 1, 2, 3, 3, 3)),
        ("down", (-2, -1, 0, 0, 1, 2, 2, 3)),
        ("floor", (-3, -2, -1, 0, 1, 2, 2, 3)),
        ("ceiling", (-2, -1, 0, 1, 2, 3, 3, 3)),
    ],
)
def test_modes(mode, results):
    """Every mode rounds by its own rule, above and below zero."""
    assert tuple(round_to(value, 1, mode) for value in VALUES) == results


def test_half_up_is_the_default():
    """Halves go up if nothing else is said."""
    assert round_to(F(1, 2), 1) == 1


@pytest.mark.parametrize(("step", "result"), [(F(1, 4), F(1, 4)), (F(1, 10), F(3, 10)), (5, 0)])
def test_steps(step, result):
    """One may round to quarters, to tenths or to multiples of five."""
    assert round_to(F(1, 3), step) == result


@pytest.mark.parametrize("mode", ["half_up", "floor", "ceiling"])
def test_multiples_of_five(mode):
    """A number between two multiples of five goes to one of them."""
    assert round_to(F(12), 5, mode) == {"half_up": 10, "floor": 10, "ceiling": 15}[mode]


@pytest.mark.parametrize("step", [0, -1])
def test_bad_step(step):
    """A step that is not positive is refused."""
    with pytest.raises(ValueError, match="step must be positive"):
        round_to(F(1), step)


def test_unknown_mode():
    """An unknown mode is refused, and the error lists the known ones."""
    with pytest.raises(ValueError, match=", ".join(MODES)):
        round_to(F(1), 1, "sideways")


@pytest.mark.parametrize(
    ("value", "digits", "result"),
    [
        (F(12345), 2, 12000),
        (F(12500), 2, 13000),
        (F("0.01234"), 3, F("0.0123")),
        (F("-9.96"), 2, F(-10)),
        (F(10), 1, 10),
        (F(1), 3, 1),
        (F(0), 3, 0),
    ],
)
def test_significant(value, digits, result):
    """Significant digits are counted from the first one that is not 0."""
    assert round_significant(value, digits) == result


def test_significant_with_mode():
    """Significant digits can be cut off."""
    assert round_significant(F(1299), 2, "down") == 1200


def test_no_digits():
    """At least one digit has to be kept."""
    with pytest.raises(ValueError, match="at least 1"):
        round_significant(F(1), 0)
