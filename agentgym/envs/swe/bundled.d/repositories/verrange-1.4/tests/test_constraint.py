"""Ranges."""

import pytest
from verrange import RangeError, Version, parse_range

V = Version.parse


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("^1.2.3", ">=1.2.3 <2.0.0"),
        ("^0.2.3", ">=0.2.3 <0.3.0"),
        ("^0.0.3", ">=0.0.3 <0.0.4"),
        ("^0.0", ">=0.0.0 <0.1.0"),
        ("^0", ">=0.0.0 <1.0.0"),
        ("^1.2", ">=1.2.0 <2.0.0"),
    ],
)
def test_caret(text, plain):
    """A caret keeps the first number that is not zero."""
    assert str(parse_range(text)) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [("~1.2.3", ">=1.2.3 <1.3.0"), ("~1.2", ">=1.2.0 <1.3.0"), ("~1", ">=1.0.0 <2.0.0")],
)
def test_tilde(text, plain):
    """A tilde keeps the minor number, or the major one if there is no other."""
    assert str(parse_range(text)) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1.2.*", ">=1.2.0 <1.3.0"),
        ("1.x", ">=1.0.0 <2.0.0"),
        ("1", ">=1.0.0 <2.0.0"),
        ("1.2.3", "=1.2.3"),
    ],
)
def test_partial_versions(text, plain):
    """A partial version stands for all versions that begin with it, a whole one for itself."""
    assert str(parse_range(text)) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (">1.2", ">=1.3.0"),
        (">=1.2", ">=1.2.0"),
        ("<1.2", "<1.2.0"),
        ("<=1.2", "<1.3.0"),
        ("<=1.2.3", "<=1.2.3"),
        (">1.2.3", ">1.2.3"),
    ],
)
def test_comparisons_with_partial_versions(text, plain):
    """Greater than a partial version is beyond all versions that begin with it."""
    assert str(parse_range(text)) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [("1.2.3 - 2.3.4", ">=1.2.3 <=2.3.4"), ("1.2 - 2.3", ">=1.2.0 <2.4.0"), ("* - 2", "<3.0.0")],
)
def test_hyphen(text, plain):
    """A hyphen between blanks gives both ends, which belong to the range."""
    assert str(parse_range(text)) == plain


@pytest.mark.parametrize("text", ["*", "", "x", ">=*", "1 || *"])
def test_any_version(text):
    """A star or nothing stands for any release."""
    assert V("9.9.9") in parse_range(text)


def test_all_comparisons_must_hold():
    """Comparisons with a comma or blank between them must all hold."""
    allowed = parse_range(">= 1.0, <2 !=1.5.0")
    assert [V(v) in allowed for v in ("1.0.0", "1.5.0", "2.0.0")] == [True, False, False]


def test_alternatives():
    """Of alternatives with two bars between them one must hold."""
    allowed = parse_range("^1.2 || =3.0.0")
    assert [V(v) in allowed for v in ("1.2.0", "2.0.0", "3.0.0")] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<1.0.0", "0.9.9", "1.0.0"),
        ("<=1.0.0", "1.0.0", "1.0.1"),
        (">1.0.0", "1.0.1", "1.0.0"),
        (">=1.0.0", "1.0.0", "0.9.9"),
        ("=1.0.0", "1.0.0", "1.0.1"),
    ],
)
def test_bounds(text, inside, outside):
    """The bound of a comparison belongs to the range only with an equals sign."""
    allowed = parse_range(text)
    assert (V(inside) in allowed, V(outside) in allowed) == (True, False)


def test_pre_release_is_not_in_a_range_of_releases():
    """A pre-release is not in a range that does not mention one."""
    assert V("1.5.0-rc.1") not in parse_range("^1.0")


def test_pre_release_of_the_same_version():
    """A pre-release is in a range whose bound is a pre-release of the same numbers."""
    assert V("1.5.0-rc.2") in parse_range(">=1.5.0-rc.1")


def test_pre_release_of_another_version():
    """A pre-release is not in a range whose bound is a pre-release of other numbers."""
    assert V("1.6.0-rc.2") not in parse_range(">=1.5.0-rc.1")


@pytest.mark.parametrize("text", ["a", "1.2.3.4", "==1", "^", "1 -2", ">=1.0 and"])
def test_unreadable_range(text):
    """A text that is no range is refused."""
    with pytest.raises(RangeError, match=r"cannot read"):
        parse_range(text)


def test_operator_at_the_end_of_a_hyphen_range():
    """The ends of a range with a hyphen cannot have operators."""
    with pytest.raises(RangeError, match=r"have no operators"):
        parse_range("1.0 - <2.0")


@pytest.mark.parametrize("operator", ["<", ">", "!="])
def test_nothing_beyond_any_version(operator):
    """A range that no version can be in, such as <*, is refused."""
    with pytest.raises(RangeError, match=f"nothing is {operator} any version"):
        parse_range(operator + "*")


def test_not_equal_needs_three_numbers():
    """Not equal to a partial version is refused."""
    with pytest.raises(RangeError, match=r"!= needs all three numbers"):
        parse_range("!=1.2")


def test_damaged_pre_release():
    """A range with a damaged pre-release is refused."""
    with pytest.raises(RangeError, match=r"is not a pre-release"):
        parse_range(">=1.0.0-a..b")


def test_filter():
    """Filtering lists the versions in the range, highest first."""
    assert parse_range("^1").filter([V("1.0.0"), V("2.0.0"), V("1.10.0")]) == [
        V("1.10.0"),
        V("1.0.0"),
    ]


def test_best():
    """The best version is the highest one in the range."""
    assert parse_range("^1").best([V("1.9.0"), V("2.0.0"), V("1.10.0")]) == V("1.10.0")


def test_no_best():
    """There is no best version if none is in the range."""
    assert parse_range("^3").best([V("1.9.0")]) is None


def test_both_ranges():
    """A version is in two ranges joined with an ampersand if it is in both."""
    both = parse_range("^1.2 || ^3") & parse_range("<1.5 || >=3.1")
    versions = ("1.1.0", "1.4.0", "1.5.0", "3.0.0", "3.1.0")
    assert [V(v) in both for v in versions] == [False, True, False, False, True]


def test_pre_release_in_one_of_both_ranges():
    """A pre-release is in two joined ranges if one of them mentions it and it is in both."""
    both = parse_range(">=1.5.0-rc.1") & parse_range("<2")
    assert (V("1.5.0-rc.2") in both, V("1.6.0-rc.1") in both) == (True, False)


def test_written_alternatives():
    """Alternatives are written with two bars between them."""
    assert str(parse_range("1.2.3||*")) == "=1.2.3 || *"
