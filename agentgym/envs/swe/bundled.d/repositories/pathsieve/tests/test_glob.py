"""Patterns."""

import pytest
from pathsieve import Pattern, PatternError


@pytest.mark.parametrize("path", ["a.py", ".py", "long-name.py"])
def test_star(path):
    """A star stands for any characters of a name, also for none."""
    assert Pattern("*.py").matches(path) is True


@pytest.mark.parametrize("path", ["src/a.py", "a.pyc", "a_py"])
def test_star_stays_in_a_name(path):
    """A star does not cross folders, and the other characters stand for themselves."""
    assert Pattern("*.py").matches(path) is False


@pytest.mark.parametrize(
    ("path", "result"), [("ab", True), ("a", False), ("abc", False), ("a/", False)]
)
def test_question_mark(path, result):
    """A question mark stands for exactly one character that is no slash."""
    assert Pattern("a?").matches(path) is result


@pytest.mark.parametrize("path", ["a.py", "x/a.py", "x/y/a.py"])
def test_two_stars_in_front(path):
    """Two stars in front stand for any folders, also for none."""
    assert Pattern("**/a.py").matches(path) is True


def test_two_stars_do_not_end_within_a_name():
    """The pattern **/a.py does not match a name that only ends with a.py."""
    assert Pattern("**/a.py").matches("xa.py") is False


@pytest.mark.parametrize("path", ["src/a.py", "src/x/a.py", "src/x/y/a.py"])
def test_two_stars_between(path):
    """Two stars between names stand for any folders, also for none."""
    assert Pattern("src/**/*.py").matches(path) is True


def test_two_stars_at_the_end():
    """Two stars at the end stand for everything in a folder but not for the folder."""
    pattern = Pattern("docs/**")
    assert [pattern.matches(path) for path in ("docs/a/b", "docs", "docs2/a")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("pattern", ["a**", "**a", "***"])
def test_stars_beside_other_characters(pattern):
    """Two stars beside other characters, and three stars, stay within a name."""
    assert (Pattern(pattern).matches("aba"), Pattern(pattern).matches("a/a")) == (True, False)


@pytest.mark.parametrize(
    ("path", "result"), [("b1", True), ("d1", False), ("B1", False), ("b", False)]
)
def test_set(path, result):
    """A set stands for one of its characters."""
    assert Pattern("[a-c]1").matches(path) is result


@pytest.mark.parametrize("pattern", ["[!a-c]", "[^a-c]"])
def test_negated_set(pattern):
    """A set that begins with an exclamation mark or caret stands for any other character."""
    assert [Pattern(pattern).matches(path) for path in "adz/"] == [False, True, True, False]


def test_bracket_in_a_set():
    """A closing bracket at the beginning of a set is one of its characters."""
    assert [Pattern("[]a]").matches(path) for path in "]ab"] == [True, True, False]


def test_special_characters_in_a_set():
    """Opening brackets, bars and carets are plain characters in a set."""
    assert [Pattern("[a^|[]").matches(path) for path in "a^|[b"] == [True] * 4 + [False]


@pytest.mark.parametrize("pattern", ["[abc", "[", "[]", "[!]"])
def test_set_without_end(pattern):
    """A set without a closing bracket is refused."""
    with pytest.raises(PatternError, match=r"a set that does not end"):
        Pattern(pattern)


def test_reversed_range():
    """A set whose range runs backwards is refused."""
    with pytest.raises(PatternError, match=r"a set that makes no sense"):
        Pattern("[z-a]")


def test_backslash():
    """A backslash takes the meaning from the character behind it."""
    pattern = Pattern(r"a\*b\\")
    assert (pattern.matches("a*b\\"), pattern.matches("axb\\")) == (True, False)


def test_backslash_at_the_end():
    """A pattern that ends with a backslash is refused."""
    with pytest.raises(PatternError, match=r"ends with a backslash"):
        Pattern("a\\")


def test_characters_of_regular_expressions():
    """Characters such as points, plus signs and parentheses stand for themselves."""
    assert [Pattern("a.(b)+$").matches(path) for path in ("a.(b)+$", "axbb")] == [True, False]


def test_braces():
    """Braces offer alternatives, each of which must fit the whole path."""
    pattern = Pattern("*.{jpg,png}")
    assert [pattern.matches(path) for path in ("a.jpg", "a.png", "a.gif", "a.png2")] == [
        True,
        True,
        False,
        False,
    ]


def test_ignore_case():
    """Letters of both cases match on request."""
    assert (Pattern("A*", ignore_case=True).matches("ab"), Pattern("A*").matches("ab")) == (
        True,
        False,
    )


def test_filter():
    """Filtering keeps the paths that match in their order."""
    assert Pattern("*.py").filter(["b.py", "c.txt", "a.py"]) == ["b.py", "a.py"]


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("a/b.py", True),
        (r"a\*", True),
        ("a?", False),
        ("{a,b}", False),
        ("{a}", True),
        ("[a]", False),
    ],
)
def test_literal(text, literal):
    """A pattern without wildcards and alternatives is literal."""
    assert Pattern(text).literal is literal


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("src/app/*.py", "src/app"),
        ("src/*/x/y", "src"),
        ("*.py", ""),
        (r"a\*/b", "a*"),
        ("a/b", "a"),
    ],
)
def test_base(text, base):
    """The base of a pattern is the folder before its first wildcard."""
    assert Pattern(text).base == base
