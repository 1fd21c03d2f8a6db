"""Words and styles."""

import pytest
from slugcase import convert, detect, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("snake_case_name", ["snake", "case", "name"]),
        ("camelCaseName", ["camel", "Case", "Name"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("parseHTTP", ["parse", "HTTP"]),
        ("  some, text! ", ["some", "text"]),
        ("ABC", ["ABC"]),
        ("aB", ["a", "B"]),
        ("", []),
        ("--", []),
    ],
)
def test_split(text, words):
    """Words end at signs and where small letters meet capital ones."""
    assert split_words(text) == words


def test_split_digits():
    """Digits are words of their own."""
    assert split_words("utf8Text2") == ["utf", "8", "Text", "2"]


def test_split_without_digits():
    """On request digits belong to the word beside them."""
    assert split_words("utf8 sha256sum", digits=False) == ["utf8", "sha256sum"]


def test_split_apostrophe():
    """An apostrophe between letters does not end a word, others do."""
    assert split_words("don't 'quote' it\u2019s") == ["dont", "quote", "its"]


@pytest.mark.parametrize(
    ("style", "result"),
    [
        ("snake", "parse_http_response"),
        ("kebab", "parse-http-response"),
        ("dot", "parse.http.response"),
        ("constant", "PARSE_HTTP_RESPONSE"),
        ("camel", "parseHttpResponse"),
        ("pascal", "ParseHttpResponse"),
        ("title", "Parse Http Response"),
        ("sentence", "Parse http response"),
        ("train", "Parse-Http-Response"),
    ],
)
def test_convert(style, result):
    """An identifier can be written in each of the styles."""
    assert convert("parseHTTPResponse", style) == result


def test_convert_acronyms():
    """Acronyms keep their spelling where words are capitalised."""
    assert convert("user_id_url", "pascal", acronyms=["ID", "URL"]) == "UserIDURL"


def test_convert_acronym_in_small_letters():
    """Acronyms are written small where the style wants small letters."""
    assert convert("idOfUser", "camel", acronyms=["ID"]) == "idOfUser"


def test_convert_keeps_digits_with_words():
    """Digits stay with the word before them when a style is changed."""
    assert convert("sha256Sum", "snake") == "sha256_sum"


def test_convert_to_unknown_style():
    """An unknown style is refused."""
    with pytest.raises(ValueError, match=r"unknown style 'studly'"):
        convert("a", "studly")


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ("user_name", "snake"),
        ("MAX_SIZE", "constant"),
        ("user-name", "kebab"),
        ("a.b.c", "dot"),
        ("User-Name", "train"),
        ("userName", "camel"),
        ("UserName", "pascal"),
        ("HTTPServer", "pascal"),
        ("user", None),
        ("user name", None),
        ("user_Name", None),
    ],
)
def test_detect(text, style):
    """The style of an identifier is recognised."""
    assert detect(text) == style
