"""Paths into values."""

import pytest
from laxjson import lookup, replace

VALUE = {"servers": [{"name": "a"}, {"name": "b"}], "x/y": 1, "m~n": 2}


def test_lookup():
    """A path leads through objects by key and through arrays by number."""
    assert lookup(VALUE, "/servers/1/name") == "b"


def test_empty_path():
    """The empty path is the value itself."""
    assert lookup(5, "") == 5


@pytest.mark.parametrize(("path", "value"), [("/x~1y", 1), ("/m~0n", 2)])
def test_slash_and_tilde_in_keys(path, value):
    """In a path ~1 stands for a slash and ~0 for a tilde."""
    assert lookup(VALUE, path) == value


@pytest.mark.parametrize("path", ["/nothing", "/servers/2", "/servers/x", "/servers/00", "/x~1y/z"])
def test_lookup_fails(path):
    """A path that leads nowhere is a KeyError."""
    with pytest.raises(KeyError):
        lookup(VALUE, path)


def test_lookup_default():
    """A path that leads nowhere gives the default if there is one, even None."""
    assert lookup(VALUE, "/nothing", None) is None


def test_path_without_slash():
    """A path that does not begin with a slash is refused."""
    with pytest.raises(ValueError, match=r"a path begins with a slash"):
        lookup(VALUE, "servers")


def test_replace():
    """Replacing makes a copy with the new value at the path."""
    assert replace({"a": [1, {"b": 2}]}, "/a/1/b", 3) == {"a": [1, {"b": 3}]}


def test_replace_keeps_the_original():
    """Replacing leaves the original as it is."""
    value = {"a": [1, 2]}
    replace(value, "/a/0", 9)
    assert value == {"a": [1, 2]}


def test_replace_adds_a_key():
    """Replacing at a new last key adds it to the object."""
    assert replace({"a": {}}, "/a/b~1c", 1) == {"a": {"b/c": 1}}


def test_replace_appends():
    """Replacing at a dash appends to an array."""
    assert replace({"a": [1]}, "/a/-", 2) == {"a": [1, 2]}


def test_replace_everything():
    """Replacing at the empty path gives the new value."""
    assert replace([1], "", 2) == 2


@pytest.mark.parametrize("path", ["/b/c", "/a/1", "/a/0/x"])
def test_replace_fails(path):
    """Replacing where no array or object is, or beyond an array, is a KeyError."""
    with pytest.raises(KeyError):
        replace({"a": [1]}, path, 2)
