"""Parts of URLs."""

import pytest
from linkquery import Url, UrlError

FULL = "https://me@example.org:8080/a/b?x=1&y=2#top"


def test_all_parts():
    """A full URL is split into scheme, user, host, port, path, query and fragment."""
    assert Url.parse(FULL) == Url("https", "me", "example.org", 8080, "/a/b", "x=1&y=2", "top")


@pytest.mark.parametrize(
    "text", [FULL, "mailto:a@b", "/a?#", "//h/p", "a/b", "", "http://[::1]:80/", "?q", "http://h"]
)
def test_text_is_kept(text):
    """A URL that is split and written again is the same text."""
    assert str(Url.parse(text)) == text


def test_case():
    """Scheme and host are put into lower case, the path is not."""
    assert str(Url.parse("HTTP://Example.ORG/A")) == "http://example.org/A"


def test_host_only():
    """A URL may end with its host."""
    url = Url.parse("http://example.org")
    assert (url.host, url.path, url.port) == ("example.org", "", None)


def test_empty_port():
    """A colon without a port states no port."""
    assert Url.parse("http://h:/").port is None


def test_ipv6():
    """An IPv6 address stands in brackets, which are not part of the host."""
    url = Url.parse("http://[2001:DB8::1]:81/x")
    assert (url.host, url.port, url.path) == ("2001:db8::1", 81, "/x")


def test_ipv6_without_port():
    """An IPv6 address needs no port."""
    assert Url.parse("http://[::1]/").port is None


def test_open_bracket():
    """An address whose bracket is not closed is refused."""
    with pytest.raises(UrlError, match="not closed"):
        Url.parse("http://[::1/")


def test_text_after_bracket():
    """After the bracket of an address only a port may follow."""
    with pytest.raises(UrlError, match="follows the address"):
        Url.parse("http://[::1]80/")


@pytest.mark.parametrize("port", ["x", "-1", "65536", "8 0".replace(" ", "_")])
def test_bad_port(port):
    """A port that is no number up to 65535 is refused."""
    with pytest.raises(UrlError, match="not a port"):
        Url.parse(f"http://h:{port}/")


def test_highest_port():
    """Port 65535 is the highest one."""
    assert Url.parse("http://h:65535/").port == 65535


@pytest.mark.parametrize("char", [" ", "\n", '"', "<", "|", "\x7f"])
def test_forbidden_characters(char):
    """Spaces and other forbidden characters are refused."""
    with pytest.raises(UrlError, match="cannot stand"):
        Url.parse(f"http://h/a{char}b")


def test_at_sign_in_user():
    """The last at sign separates user and host."""
    url = Url.parse("http://a@b@h/")
    assert (url.user, url.host) == ("a@b", "h")


def test_question_mark_in_fragment():
    """A question mark in the fragment begins no query."""
    url = Url.parse("/a#b?c")
    assert (url.query, url.fragment) == (None, "b?c")


def test_origin():
    """The origin has no path, no user and no default port."""
    assert Url.parse("https://me@h:443/a?b").origin == "https://h"


def test_origin_with_port():
    """The origin keeps a port that is not the default one."""
    assert Url.parse("https://h:80/a").origin == "https://h:80"


@pytest.mark.parametrize(
    ("text", "port"), [("http://h", 80), ("wss://h", 443), ("http://h:8", 8), ("x://h", None)]
)
def test_effective_port(text, port):
    """The effective port is the stated one, else the default of the scheme."""
    assert Url.parse(text).effective_port == port


@pytest.mark.parametrize(
    ("path", "segments"),
    [("/a/b", ["a", "b"]), ("/a/", ["a", ""]), ("/", []), ("", []), ("a", ["a"])],
)
def test_segments(path, segments):
    """The segments of a path stand between its slashes."""
    assert Url(path=path).segments == segments


def test_with_query_sets():
    """with_query changes one parameter and keeps the others and the fragment."""
    assert str(Url.parse("/a?x=1&y=2#f").with_query(x=5)) == "/a?x=5&y=2#f"


def test_with_query_adds():
    """with_query adds a parameter to a URL without query."""
    assert str(Url.parse("/a").with_query(q="b c")) == "/a?q=b+c"


def test_with_query_removes():
    """None removes a parameter, and with the last one the question mark."""
    assert str(Url.parse("/a?x=1").with_query(x=None)) == "/a"


@pytest.mark.parametrize(
    ("path", "parent"),
    [("/a/b", "/a/"), ("/a/b/", "/a/"), ("/a", "/"), ("/", "/"), ("", "")],
)
def test_parent(path, parent):
    """The parent of a URL is the folder that holds it, without query and fragment."""
    assert str(Url.parse(f"http://h{path}?x=1#y").parent) == f"http://h{parent}"
