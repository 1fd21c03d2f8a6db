"""Reading configurations."""

import pytest
from inifold import Config, ParseError


def test_value():
    """A value is stripped of the spaces around it."""
    assert Config.from_text("[a]\n  \nx =  1 2 \n")["a"].get("x") == "1 2"


def test_value_with_equals_sign():
    """Only the first equals sign of a line separates key and value."""
    assert Config.from_text("[a]\nx = y=z")["a"].get("x") == "y=z"


def test_key_without_value():
    """A key alone on its line has an empty value."""
    assert Config.from_text("[a]\nverbose")["a"].get("verbose") == ""


def test_key_without_value_and_comment():
    """A comment may follow a key that stands alone."""
    assert Config.from_text("[a]\nverbose ; more")["a"].keys() == ["verbose"]


@pytest.mark.parametrize("sign", [";", "#"])
def test_comment_lines(sign):
    """Lines that begin with ; or # are skipped."""
    assert Config.from_text(f"{sign} x\n[a]\n  {sign} y = 2\nx = 1")["a"].as_dict() == {"x": "1"}


def test_inline_comment():
    """A semicolon after a space begins a comment."""
    assert Config.from_text("[a]\nx = 1 ; one")["a"].get("x") == "1"


def test_semicolon_in_value():
    """A semicolon that no space precedes belongs to the value."""
    assert Config.from_text("[a]\nx = 1;2")["a"].get("x") == "1;2"


def test_hash_in_value():
    """A hash inside a value is no comment."""
    assert Config.from_text("[a]\ncolour = red #ff0000")["a"].get("colour") == "red #ff0000"


def test_comment_instead_of_value():
    """A value that is only a comment is empty."""
    assert Config.from_text("[a]\nx = ; nothing")["a"].get("x") == ""


def test_comment_after_header():
    """A comment may follow the header of a section."""
    assert list(Config.from_text("[a] ; first")) == ["a"]


def test_continuation():
    """A line that begins with a space continues the value above it."""
    assert Config.from_text("[a]\nx = 1\n  2 ; two\n\t3\ny = 4")["a"].get("x") == "1\n2\n3"


def test_continuation_of_empty_value():
    """A value may begin on the line below its key."""
    assert Config.from_text("[a]\nx =\n  1\n  2")["a"].get("x") == "1\n2"


def test_continuation_after_comment():
    """Comments and empty lines do not end a value."""
    assert Config.from_text("[a]\nx = 1\n; c\n\n  2")["a"].get("x") == "1\n2"


def test_nothing_to_continue():
    """A continuation right after a header is an error."""
    with pytest.raises(ParseError, match="no value to continue"):
        Config.from_text("[a]\nx = 1\n[b]\n  2")


def test_continuation_first():
    """A continuation before any section is an error."""
    with pytest.raises(ParseError, match="no value to continue"):
        Config.from_text("  x = 1")


def test_value_before_section():
    """A value before the first section is an error."""
    with pytest.raises(ParseError, match="before the first section"):
        Config.from_text("x = 1\n[a]")


def test_open_header():
    """A header without its closing bracket is an error."""
    with pytest.raises(ParseError, match="does not end"):
        Config.from_text("[a")


def test_header_without_name():
    """A section needs a name."""
    with pytest.raises(ParseError, match="no name"):
        Config.from_text("[ ]")


def test_section_twice():
    """A section may not occur twice."""
    with pytest.raises(ParseError, match=r"\[a\] occurs twice"):
        Config.from_text("[a]\n[b]\n[a]")


def test_key_twice():
    """A key may not occur twice in a section, whatever its case."""
    with pytest.raises(ParseError, match="'x' occurs twice"):
        Config.from_text("[a]\nx = 1\nX = 2")


def test_key_in_two_sections():
    """A key may occur in two sections."""
    config = Config.from_text("[a]\nx = 1\n[b]\nx = 2")
    assert (config["a"].get("x"), config["b"].get("x")) == ("1", "2")


def test_value_without_key():
    """A line that begins with the equals sign is an error."""
    with pytest.raises(ParseError, match="no key"):
        Config.from_text("[a]\n= 1")


def test_error_names_the_line():
    """The error of a malformed configuration carries the number of the line."""
    with pytest.raises(ParseError, match="line 3") as caught:
        Config.from_text("[a]\n\n= 1\n")
    assert caught.value.line == 3


def test_unknown_parent():
    """A section can only inherit from one above it."""
    with pytest.raises(ParseError, match="not above it"):
        Config.from_text("[a : b]\n[b]")
