"""Palettes, gradients and reducing colours."""

import pytest
from huekit import Color, ColorError, Gradient, closest, palette, quantize, ramp
from huekit.palettes import distinct

RED, LIME, BLUE, WHITE = (Color.parse(name) for name in ("red", "lime", "blue", "white"))


def hexes(colors):
    """The colours in hexadecimal notation."""
    return [color.hex for color in colors]


@pytest.mark.parametrize(
    ("scheme", "colors"),
    [
        ("complementary", ["#ff0000", "#00ffff"]),
        ("analogous", ["#ff0080", "#ff0000", "#ff8000"]),
        ("triadic", ["#ff0000", "#00ff00", "#0000ff"]),
        ("split", ["#ff0000", "#00ff80", "#0080ff"]),
        ("tetradic", ["#ff0000", "#80ff00", "#00ffff", "#8000ff"]),
    ],
)
def test_palette(scheme, colors):
    """Each scheme turns the colour round the colour wheel."""
    assert hexes(palette(scheme, RED)) == colors


def test_unknown_scheme():
    """An unknown scheme is refused."""
    with pytest.raises(ColorError, match=r"unknown scheme 'random'"):
        palette("random", RED)


def test_ramp():
    """Shades go from dark to light in even steps, both ends included."""
    assert hexes(ramp(RED, 3, 0.25, 0.75)) == ["#800000", "#ff0000", "#ff8080"]


def test_ramp_of_one():
    """A single shade lies in the middle."""
    assert hexes(ramp(RED, 1, 0.2, 0.8)) == ["#ff0000"]


def test_ramp_of_none():
    """No shades at all are refused."""
    with pytest.raises(ColorError, match=r"at least one colour, got 0"):
        ramp(RED, 0)


@pytest.mark.parametrize(("darkest", "lightest"), [(0.8, 0.2), (-0.1, 0.5), (0.5, 1.1)])
def test_ramp_bounds(darkest, lightest):
    """Bounds of shades that are out of range or in the wrong order are refused."""
    with pytest.raises(ColorError, match=r"in this order"):
        ramp(RED, 3, darkest, lightest)


def test_distinct():
    """Distinct colours are even steps round the colour wheel."""
    assert hexes(distinct(3, saturation=1)) == ["#ff0000", "#00ff00", "#0000ff"]


def test_gradient_between_stops():
    """Between two stops colours are mixed."""
    assert Gradient([RED, BLUE]).at(0.5).hex == "#800080"


def test_gradient_at_a_stop():
    """At a stop a gradient has its colour."""
    assert Gradient([RED, LIME, BLUE]).at(0.5) == LIME


def test_gradient_with_places():
    """Stops may stand at any places."""
    assert Gradient([(0, RED), (0.2, LIME), (1, BLUE)]).at(0.4).hex == "#00bf40"


@pytest.mark.parametrize(("place", "color"), [(0.1, RED), (-1, RED), (0.9, BLUE), (0.8, BLUE)])
def test_gradient_beyond_the_stops(place, color):
    """Beyond the outermost stops the colour stays the same."""
    assert Gradient([(0.2, RED), (0.8, BLUE)]).at(place) == color


def test_hard_edge():
    """Of two stops at the same place the later one counts there."""
    assert Gradient([(0, RED), (0.5, RED), (0.5, BLUE), (1, BLUE)]).at(0.5) == BLUE


def test_gradient_of_one_stop():
    """A gradient with a single stop is refused."""
    with pytest.raises(ColorError, match=r"at least two stops"):
        Gradient([RED])


@pytest.mark.parametrize("places", [(0.5, 0.2), (-0.1, 1), (0, 1.1)])
def test_order_of_stops(places):
    """Stops that do not ascend from 0 to 1 are refused."""
    with pytest.raises(ColorError, match=r"ascend from 0 to 1"):
        Gradient([(places[0], RED), (places[1], BLUE)])


def test_gradient_colors():
    """Evenly spread colours of a gradient include both ends."""
    assert hexes(Gradient([RED, BLUE]).colors(3)) == ["#ff0000", "#800080", "#0000ff"]


def test_gradient_of_one_color():
    """Fewer than two colours of a gradient are refused."""
    with pytest.raises(ColorError, match=r"at least two colours, got 1"):
        Gradient([RED, BLUE]).colors(1)


def test_gradient_reversed():
    """A reversed gradient has its stops at the opposite places."""
    stops = Gradient([(0, RED), (0.25, LIME), (1, BLUE)]).reversed().stops
    assert stops == [(0, BLUE), (0.75, LIME), (1, RED)]


def test_gradient_css():
    """A gradient is written for a style sheet with its angle and stops."""
    assert Gradient([RED, BLUE]).css(45) == "linear-gradient(45deg, #ff0000 0%, #0000ff 100%)"


def test_quantize():
    """Similar colours are reduced to their average, those of most colours first."""
    colors = ["#000000", "#ff0000", "#fd0000"]
    assert hexes(quantize(map(Color.parse, colors), 2)) == ["#fe0000", "#000000"]


def test_quantize_to_one():
    """A single colour stands for all by their average, rounded down."""
    assert hexes(quantize([Color.parse("#000000"), Color.parse("#030507")], 1)) == ["#010203"]


def test_quantize_by_the_widest_component():
    """Colours are divided where they differ most."""
    colors = [Color.parse(text) for text in ("#00a000", "#00a010", "#40a000", "#40a010")]
    assert hexes(quantize(colors, 2)) == ["#00a008", "#40a008"]


def test_quantize_fewer_colors():
    """There are never more colours than different ones."""
    assert hexes(quantize([RED, RED, BLUE], 5)) == ["#ff0000", "#0000ff"]


def test_quantize_nothing():
    """No colours are reduced to none."""
    assert quantize([], 3) == []


def test_quantize_to_none():
    """Reducing to no colours is refused."""
    with pytest.raises(ColorError, match=r"at least one colour, got 0"):
        quantize([RED], 0)


def test_closest():
    """The colour that looks most alike is chosen."""
    assert closest(Color.parse("#ee1111"), [BLUE, RED, WHITE]) == RED


def test_closest_of_none():
    """Choosing among no colours is refused."""
    with pytest.raises(ColorError, match=r"no colour to choose from"):
        closest(RED, [])
