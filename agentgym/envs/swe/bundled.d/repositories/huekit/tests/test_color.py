"""Changing colours."""

import pytest
from huekit import Color, ColorError

TEAL = Color.parse("#008080")


def test_mix():
    """Half of each colour is mixed by default."""
    assert Color.parse("red").mix(Color.parse("blue")).hex == "#800080"


@pytest.mark.parametrize(("share", "result"), [(0, "#ff0000"), (1, "#0000ff"), (0.2, "#cc0033")])
def test_mix_share(share, result):
    """The share of a mixture is that of the other colour."""
    assert Color.parse("red").mix(Color.parse("blue"), share).hex == result


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_mix_share_out_of_range(share):
    """A share that is not between 0 and 1 is refused."""
    with pytest.raises(ColorError, match=r"share is between 0 and 1"):
        TEAL.mix(TEAL, share)


def test_mix_alpha():
    """The opacity is mixed, too."""
    assert Color(1, 0, 0, 0).mix(Color(1, 0, 0, 1), 0.25).alpha == 0.25


def test_over_opaque():
    """A half transparent colour over an opaque one gives their mean."""
    assert Color(1, 0, 0, 0.5).over(Color(0, 0, 1)) == Color(0.5, 0, 0.5)


def test_over_transparent():
    """Over a transparent ground a colour stays as it is."""
    assert Color(1, 0, 0, 0.5).over(Color(0, 0, 1, 0)) == Color(1, 0, 0, 0.5)


def test_over_half_transparent():
    """Two half transparent colours are three quarters opaque together."""
    seen = Color(1, 0, 0, 0.5).over(Color(0, 0, 1, 0.5))
    assert (seen.alpha, seen.red) == (0.75, pytest.approx(2 / 3))


def test_nothing_over_nothing():
    """Two transparent colours give a transparent one."""
    assert Color(1, 0, 0, 0).over(Color(0, 0, 1, 0)) == Color(0, 0, 0, 0)


def test_lighten_and_darken():
    """The lightness is raised and lowered."""
    assert (TEAL.lighten(0.25).hex, TEAL.darken(0.125).hex) == ("#00ffff", "#004040")


def test_lighten_to_white():
    """A colour becomes at most white or black."""
    assert (TEAL.lighten(2).hex, TEAL.darken(2).hex) == ("#ffffff", "#000000")


def test_saturate():
    """The saturation is raised at most to the pure colour and lowered at most to grey."""
    color = Color.from_hsl(0, 0.5, 0.5)
    assert [color.saturate(amount).hex for amount in (0.25, 2, -2)] == [
        "#df2020",
        "#ff0000",
        "#808080",
    ]


def test_rotate():
    """The hue is turned round the colour wheel in both directions."""
    red = Color.parse("red")
    assert (red.rotate(120).hex, red.rotate(-120).hex) == ("#00ff00", "#0000ff")


def test_invert():
    """The negative of a colour has the opposite components."""
    assert Color.parse("#ff8000").invert().hex == "#007fff"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.lighten(0.1),
        lambda c: c.saturate(0.1),
        lambda c: c.rotate(9),
        lambda c: c.invert(),
    ],
)
def test_alpha_is_kept(change):
    """Changing a colour keeps its opacity."""
    assert change(TEAL.with_alpha(0.5)).alpha == 0.5
