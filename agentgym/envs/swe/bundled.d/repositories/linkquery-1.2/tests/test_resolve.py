"""Relative references and normal forms."""

import pytest
from linkquery import UrlError, join, normalize, remove_dots


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/b/..", "/a/"),
        ("/a/.", "/a/"),
        ("/../a", "/a"),
        ("/..", "/"),
        ("/a/b/../../..", "/"),
        ("a/../b", "b"),
        ("/a//b", "/a//b"),
        ("/a.b/..c", "/a.b/..c"),
    ],
)
def test_remove_dots(path, result):
    """Single dots vanish from a path and double dots take the part before them along."""
    assert remove_dots(path) == result


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("c", "http://h/a/c"),
        ("../c", "http://h/c"),
        ("./", "http://h/a/"),
        ("/c", "http://h/c"),
        ("//g/c", "http://g/c"),
        ("x://g/a/../c", "x://g/c"),
        ("", "http://h/a/b?q=1"),
        ("?r", "http://h/a/b?r"),
        ("#f", "http://h/a/b?q=1#f"),
        ("c?r#f", "http://h/a/c?r#f"),
    ],
)
def test_join(reference, result):
    """A reference is resolved against the page that it stands on."""
    assert join("http://h/a/b?q=1#top", reference) == result


def test_join_with_host_only():
    """On a page without path a reference gets a slash before it."""
    assert join("http://h", "c") == "http://h/c"


def test_join_keeps_port():
    """The port of the page is kept."""
    assert join("http://h:81/a", "b") == "http://h:81/b"


def test_base_without_scheme():
    """The URL of the page needs a scheme."""
    with pytest.raises(UrlError, match="no scheme"):
        join("/a/b", "c")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("HTTP://H/A", "http://h/A"),
        ("http://h:80/", "http://h/"),
        ("http://h:443/", "http://h:443/"),
        ("http://h", "http://h/"),
        ("http://h/a/../b/.", "http://h/b/"),
        ("http://h/%7ea%2fb%c3%a9", "http://h/~a%2Fb%C3%A9"),
        ("http://h/é%", "http://h/%C3%A9%25"),
        ("http://h/?#", "http://h/"),
        ("http://h/?a=%41/?&b#%42", "http://h/?a=A/?&b#B"),
        ("mailto:A@b", "mailto:A@b"),
        ("a/../b", "a/../b"),
    ],
)
def test_normalize(text, result):
    """URLs that mean the same have one normal form."""
    assert normalize(text) == result
