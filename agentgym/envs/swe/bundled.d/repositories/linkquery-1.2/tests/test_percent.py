"""Percent-encoding."""

import pytest
from linkquery import UrlError, quote, unquote


def test_unreserved_characters():
    """Letters, digits and -._~ are never encoded."""
    assert quote("aZ09-._~") == "aZ09-._~"


def test_reserved_characters():
    """Other characters are encoded with upper-case digits."""
    assert quote("a/b c?+") == "a%2Fb%20c%3F%2B"


def test_safe_characters():
    """Characters that are named as safe are left alone."""
    assert quote("a/b?", safe="/") == "a/b%3F"


def test_quote_utf8():
    """Characters beyond ASCII are encoded byte by byte as UTF-8."""
    assert quote("é€") == "%C3%A9%E2%82%AC"


def test_unquote():
    """Encoded characters are decoded, in upper and lower case."""
    assert unquote("a%2Fb%c3%a9%41") == "a/béA"


def test_unquote_leaves_plus():
    """A plus sign outside a query string is a plus sign."""
    assert unquote("a+b") == "a+b"


@pytest.mark.parametrize("text", ["%", "a%4", "%G1", "%1G"])
def test_malformed_encoding(text):
    """A percent sign without two hexadecimal digits is refused."""
    with pytest.raises(UrlError, match="malformed"):
        unquote(text)


def test_error_names_the_position():
    """The error of a malformed encoding says where it stands."""
    with pytest.raises(UrlError, match="position 4"):
        unquote("a%20%zz")


def test_not_utf8():
    """Bytes that are not UTF-8 are refused."""
    with pytest.raises(UrlError, match="not UTF-8"):
        unquote("%ff")
