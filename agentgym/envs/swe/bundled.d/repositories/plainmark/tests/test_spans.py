"""Spans."""

import pytest
from plainmark.spans import is_safe, render_spans


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("*a b*", "em"),
        ("_a b_", "em"),
        ("**a b**", "strong"),
        ("__a b__", "strong"),
        ("~~a b~~", "del"),
    ],
)
def test_marks(text, tag):
    """Stars, underscores and tildes around text make emphasis, strong and struck text."""
    assert render_spans(text) == f"<{tag}>a b</{tag}>"


def test_nested_marks():
    """Marks of different kinds may be nested."""
    assert render_spans("**a *b* c**") == "<strong>a <em>b</em> c</strong>"


def test_mark_without_partner():
    """A mark that is not closed is shown as it is."""
    assert render_spans("2 *3 = 6") == "2 *3 = 6"


def test_mark_with_a_blank_behind():
    """A star with a blank behind it opens nothing."""
    assert render_spans("2 * 3 * 4") == "2 * 3 * 4"


def test_mark_with_a_blank_before():
    """A star with a blank before it closes nothing."""
    assert render_spans("*a * b*") == "<em>a * b</em>"


def test_underscores_within_words():
    """Underscores within words are part of them."""
    assert render_spans("snake_case_name") == "snake_case_name"


def test_underscore_does_not_close_before_a_letter():
    """An underscore directly before a letter closes nothing."""
    assert render_spans("_a_b_") == "<em>a_b</em>"


def test_underscore_after_a_sign():
    """An underscore directly after a bracket or another sign may open emphasis."""
    assert render_spans("(_a_)") == "(<em>a</em>)"


def test_underscore_at_the_beginning_of_a_text_that_ends_with_a_letter():
    """An underscore at the very beginning opens emphasis whatever the text ends with."""
    assert render_spans("_a_ b") == "<em>a</em> b"


def test_stars_within_words():
    """Stars within words do make emphasis."""
    assert render_spans("un*believ*able") == "un<em>believ</em>able"


def test_empty_emphasis():
    """Two tildes twice with nothing between them are text."""
    assert render_spans("~~~~") == "~~~~"


def test_code():
    """Text between backticks is code, marks within it are shown."""
    assert render_spans("`a *b* <c>`") == "<code>a *b* &lt;c&gt;</code>"


def test_code_with_backticks():
    """Code between double backticks may contain a backtick."""
    assert render_spans("`` a`b ``") == "<code>a`b</code>"


def test_mark_within_code_does_not_close():
    """A star within code does not close emphasis."""
    assert render_spans("*a `*` b*") == "<em>a <code>*</code> b</em>"


def test_escapes():
    """A backslash takes the meaning from a mark."""
    assert render_spans(r"\*a\* \\ \q") == r"*a* \ \q"


def test_html_is_escaped():
    """Ampersands, brackets and quotes are escaped."""
    assert render_spans('<b> & "x"') == "&lt;b&gt; &amp; &quot;x&quot;"


def test_link():
    """A link has its label and its address."""
    assert render_spans("see [the *site*](/a?b&c).") == (
        'see <a href="/a?b&amp;c">the <em>site</em></a>.'
    )


def test_link_with_title():
    """A link may have a title in quotes."""
    assert render_spans('[a](b "c d")') == '<a href="b" title="c d">a</a>'


def test_label_with_brackets():
    """The label of a link may contain a pair of brackets."""
    assert render_spans("[a [1]](b)") == '<a href="b">a [1]</a>'


def test_image():
    """An exclamation mark makes an image of a link."""
    assert render_spans('![a "b"](c.png)') == '<img src="c.png" alt="a &quot;b&quot;">'


def test_automatic_link():
    """A web address in angle brackets is a link."""
    assert render_spans("<https://x.y/?a&b>") == (
        '<a href="https://x.y/?a&amp;b">https://x.y/?a&amp;b</a>'
    )


def test_dangerous_link():
    """A link whose address would run a script is left as text."""
    assert render_spans("[x](javascript:alert)") == "[x](javascript:alert)"


@pytest.mark.parametrize("address", ["a/b", "#top", "https://x", "MAILTO:a@b", "a b:c", ""])
def test_safe_addresses(address):
    """Relative addresses and those with a known scheme are safe."""
    assert is_safe(address) is True


@pytest.mark.parametrize("address", ["javascript:x", "data:text/html", "VBScript:x"])
def test_addresses_that_are_not_safe(address):
    """Addresses with another scheme are not safe."""
    assert is_safe(address) is False


def test_line_break():
    """Two blanks at the end of a line break it, one does not."""
    assert (render_spans("a  \nb"), render_spans("a \nb")) == ("a<br>\nb", "a \nb")
