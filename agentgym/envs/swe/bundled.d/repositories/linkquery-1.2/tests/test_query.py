"""Query strings."""

import pytest
from linkquery import Query, UrlError


def test_parse():
    """A query string is split into names and values."""
    assert list(Query.parse("a=1&b=2")) == [("a", "1"), ("b", "2")]


def test_question_mark():
    """A question mark at the beginning does not belong to the first name."""
    assert Query.parse("?a=1") == Query([("a", "1")])


def test_empty_query():
    """An empty query string has no values."""
    assert len(Query.parse("")) == 0


def test_empty_parts():
    """Empty parts between ampersands are left out."""
    assert list(Query.parse("&a=1&&b=2&")) == [("a", "1"), ("b", "2")]


def test_name_without_value():
    """A name without equals sign has an empty value."""
    assert list(Query.parse("a&b=")) == [("a", ""), ("b", "")]


def test_equals_sign_in_value():
    """Only the first equals sign separates name and value."""
    assert Query.parse("a=b=c").get("a") == "b=c"


def test_plus_and_percent():
    """Plus signs stand for spaces and encoded characters are decoded, also in names."""
    assert list(Query.parse("a+b=c%2Bd%20e")) == [("a b", "c+d e")]


def test_malformed_query():
    """A malformed encoding in a query string is refused."""
    with pytest.raises(UrlError):
        Query.parse("a=%")


def test_text():
    """A query is written with plus signs for spaces and everything special encoded."""
    assert str(Query([("a b", "c+d"), ("e", "&=/")])) == "a+b=c%2Bd&e=%26%3D%2F"


def test_repr():
    """The repr of a query shows how to read it."""
    assert repr(Query([("a", "1")])) == "Query.parse('a=1')"


def test_get_first():
    """Get gives the first value of a name."""
    assert Query.parse("a=1&a=2").get("a") == "1"


def test_get_default():
    """Get gives the default for a name that does not occur."""
    assert (Query.parse("a=1").get("b"), Query.parse("a=1").get("b", "x")) == (None, "x")


def test_get_all():
    """get_all gives all values of a name in order."""
    assert Query.parse("a=1&b=2&a=3").get_all("a") == ["1", "3"]


def test_contains():
    """The in operator looks for names."""
    query = Query.parse("a=1")
    assert ("a" in query, "1" in query) == (True, False)


def test_names():
    """Names are listed once each, in the order of their first occurrence."""
    assert Query.parse("b=1&a=2&b=3").names() == ["b", "a"]


def test_add():
    """Add puts a value at the end and leaves the query itself alone."""
    query = Query.parse("a=1")
    assert (str(query.add("a", 2)), str(query)) == ("a=1&a=2", "a=1")


def test_set():
    """Set replaces all values of a name by one at the place of the first."""
    assert str(Query.parse("a=1&b=2&c=3&b=4").set("b", 5)) == "a=1&b=5&c=3"


def test_update():
    """Update sets several names at once, each at the place of its first value."""
    query = Query.parse("a=1&b=2&a=3").update([("b", 5), ("a", 6), ("c", 7)])
    assert str(query) == "a=6&b=5&c=7"


def test_names_after_a_change():
    """A query that was changed knows its names."""
    query = Query.parse("a=1&b=2&a=3").remove("a").add("c", 4)
    assert (query.names(), query.get("a"), query.get_all("c")) == (["b", "c"], None, ["4"])


def test_set_new_name():
    """Set of a new name puts it at the end."""
    assert str(Query.parse("a=1").set("b", 2)) == "a=1&b=2"


def test_remove():
    """Remove takes away all values of the names."""
    assert str(Query.parse("a=1&b=2&a=3&c=4").remove("a", "c")) == "b=2"


def test_sorted():
    """Sorted orders by name and keeps the order of the values of a name."""
    assert str(Query.parse("b=2&a=9&b=1").sorted()) == "a=9&b=2&b=1"


def test_equality():
    """Queries are equal if their values have the same order; equal ones share a hash."""
    assert Query.parse("a=1&b=2") != Query.parse("b=2&a=1")
    assert hash(Query.parse("a=1")) == hash(Query.parse("?a=1"))


def test_not_equal_to_text():
    """A query is not equal to its text."""
    assert Query.parse("a=1") != "a=1"
