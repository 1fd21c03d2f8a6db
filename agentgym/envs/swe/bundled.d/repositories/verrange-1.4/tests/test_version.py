"""Versions."""

import pytest
from verrange import Version, VersionError

V = Version.parse


def test_parse_numbers():
    """The three numbers of a version are read."""
    assert V("1.20.3").release == (1, 20, 3)


def test_parse_pre_release():
    """The parts of a pre-release are read as words and numbers."""
    assert V("1.0.0-rc.12.x-y").pre == ("rc", 12, "x-y")


def test_parse_build():
    """The build is read as it is."""
    assert V("1.0.0-a+b.007").build == "b.007"


def test_leading_v_and_blanks():
    """A leading v and blanks around a version are allowed."""
    assert V(" v2.0.1 ") == Version(2, 0, 1)


@pytest.mark.parametrize(
    "text", ["1.2", "1.2.3.4", "01.2.3", "1.2.x", "", "1.2.3-", "1.2.3+", "-1.0.0"]
)
def test_no_version(text):
    """A text that is no semantic version is refused."""
    with pytest.raises(VersionError, match=r"is not a version such as"):
        V(text)


@pytest.mark.parametrize("text", ["1.0.0-a..b", "1.0.0-01", "1.0.0-rc.00"])
def test_no_pre_release(text):
    """Empty parts and numbers with leading zeros are refused in a pre-release."""
    with pytest.raises(VersionError, match=r"is not a pre-release"):
        V(text)


def test_zero_in_a_pre_release():
    """A single zero is a number of a pre-release."""
    assert V("1.0.0-rc.0").pre == ("rc", 0)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("1.9.0", "1.10.0"),
        ("1.0.9", "1.1.0"),
        ("0.9.9", "1.0.0"),
        ("1.0.0-rc.1", "1.0.0"),
        ("1.0.0-alpha", "1.0.0-beta"),
        ("1.0.0-rc.2", "1.0.0-rc.10"),
        ("1.0.0-rc", "1.0.0-rc.1"),
        ("1.0.0-1", "1.0.0-a"),
        ("0.9.9", "1.0.0-a"),
    ],
)
def test_order(lower, higher):
    """Versions are ordered by numbers, pre-releases before their release, numbers before words."""
    assert V(lower) < V(higher)


def test_build_does_not_count():
    """Versions that differ only in the build are equal."""
    assert V("1.0.0+a") == V("1.0.0+b") and len({V("1.0.0+a"), V("1.0.0+b")}) == 1


def test_not_equal_to_text():
    """A version is not equal to a text."""
    assert V("1.0.0") != "1.0.0"


@pytest.mark.parametrize("text", ["1.2.3", "1.2.3-rc.1", "1.2.3+b", "0.0.0-a.0+x.y"])
def test_written_as_read(text):
    """A version is written as it was read."""
    assert str(V(text)) == text


def test_repr():
    """A version shows itself with its number."""
    assert repr(V("1.2.3-a")) == "Version 1.2.3-a"


@pytest.mark.parametrize(
    ("text", "stable"), [("1.0.0", True), ("0.9.0", False), ("1.0.0-a", False)]
)
def test_stable(text, stable):
    """A version is stable if it is a release from 1.0.0 on."""
    assert V(text).is_stable is stable


@pytest.mark.parametrize(
    ("part", "result"),
    [("major", "2.0.0"), ("minor", "1.3.0"), ("patch", "1.2.4"), ("pre", "1.2.4-rc.1")],
)
def test_bump(part, result):
    """Bumping a part of a release sets those behind it to zero."""
    assert str(V("1.2.3+b").bump(part)) == result


@pytest.mark.parametrize(
    ("text", "part", "result"),
    [
        ("2.0.0-rc.1", "major", "2.0.0"),
        ("2.1.0-rc.1", "major", "3.0.0"),
        ("2.0.1-rc.1", "major", "3.0.0"),
        ("1.3.0-rc.1", "minor", "1.3.0"),
        ("1.3.1-rc.1", "minor", "1.4.0"),
        ("1.2.4-rc.1", "patch", "1.2.4"),
        ("1.2.4-rc.1", "pre", "1.2.4-rc.2"),
        ("1.2.4-beta", "pre", "1.2.4-beta.1"),
    ],
)
def test_bump_of_a_pre_release(text, part, result):
    """Bumping a pre-release gives its release where that is the next one, or counts it up."""
    assert str(V(text).bump(part)) == result


def test_minor_bump_of_a_release():
    """Bumping the minor number of a release that ends with zero counts it up."""
    assert str(V("1.2.0").bump("minor")) == "1.3.0"


def test_unknown_part():
    """Bumping an unknown part is refused."""
    with pytest.raises(ValueError, match=r"a part is major, minor, patch or pre, not 'micro'"):
        V("1.0.0").bump("micro")
