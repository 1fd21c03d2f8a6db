"""Blocks."""

import pytest
from plainmark import render
from plainmark.blocks import split_row


def html(text):
    """The HTML without anchors."""
    return render(text, anchors=False)


def test_paragraphs():
    """An empty line separates paragraphs."""
    assert html("one\ntwo\n\nthree") == "<p>one\ntwo</p>\n<p>three</p>\n"


def test_empty_text():
    """An empty text gives empty HTML."""
    assert html("\n\n") == ""


@pytest.mark.parametrize("level", [1, 2, 6])
def test_headings(level):
    """One to six number signs make a heading of that level."""
    assert html("#" * level + " Title") == f"<h{level}>Title</h{level}>\n"


def test_seven_number_signs():
    """Seven number signs make no heading."""
    assert html("####### Title") == "<p>####### Title</p>\n"


def test_number_sign_needs_a_blank():
    """A number sign without a blank behind it makes no heading."""
    assert html("#1 is best") == "<p>#1 is best</p>\n"


def test_closed_heading():
    """Number signs at the end of a heading are not part of it."""
    assert html("## Title ##") == "<h2>Title</h2>\n"


def test_empty_heading():
    """A number sign alone is an empty heading."""
    assert html("#") == "<h1></h1>\n"


@pytest.mark.parametrize(("line", "level"), [("=====", 1), ("--", 2), ("=", 1)])
def test_underlined_headings(line, level):
    """A paragraph underlined with equals signs or dashes is a heading of level 1 or 2."""
    assert html(f"Title\n{line}\ntext") == f"<h{level}>Title</h{level}>\n<p>text</p>\n"


def test_heading_of_two_lines():
    """A heading that is underlined may have several lines."""
    assert html("One\ntwo\n===") == "<h1>One two</h1>\n"


def test_heading_ends_a_paragraph():
    """A heading needs no empty line before it."""
    assert html("text\n# Title") == "<p>text</p>\n<h1>Title</h1>\n"


def test_first_level():
    """Headings can be moved to deeper levels, down to level 6."""
    assert render("# A\n##### B", anchors=False, first_level=3) == "<h3>A</h3>\n<h6>B</h6>\n"


@pytest.mark.parametrize("line", ["---", "***", "_ _ _", "-----"])
def test_rules(line):
    """Three or more dashes, stars or underscores make a rule."""
    assert html(line) == "<hr>\n"


def test_two_stars_are_no_rule():
    """Two stars make no rule."""
    assert html("**") == "<p>**</p>\n"


def test_code():
    """Fenced code is shown as it is, with HTML escaped."""
    assert html("```\na < b\n\n# no\n```\nx") == (
        "<pre><code>a &lt; b\n\n# no\n</code></pre>\n<p>x</p>\n"
    )


def test_code_with_language():
    """A word behind the opening fence becomes the class of the code."""
    assert html("~~~ c++\nx\n~~~") == '<pre><code class="language-c++">x\n</code></pre>\n'


def test_code_within_longer_fence():
    """A fence is closed only by one that is at least as long."""
    assert html("````\n```\n`````\nx") == "<pre><code>```\n</code></pre>\n<p>x</p>\n"


def test_code_without_end():
    """Code whose fence is not closed reaches to the end of the text."""
    assert html("```\na\n\nb") == "<pre><code>a\n\nb\n</code></pre>\n"


def test_quote():
    """Lines that begin with a bracket are quoted, blocks within them are rendered."""
    assert html("> # A\n>b\ntext") == (
        "<blockquote>\n<h1>A</h1>\n<p>b</p>\n</blockquote>\n<p>text</p>\n"
    )


def test_nested_quote():
    """A quote may contain a quote."""
    assert html("> > a") == "<blockquote>\n<blockquote>\n<p>a</p>\n</blockquote>\n</blockquote>\n"


@pytest.mark.parametrize("mark", ["-", "*", "+"])
def test_bulleted_list(mark):
    """Dashes, stars and plus signs make a bulleted list."""
    assert html(f"{mark} a\n{mark} b") == "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"


def test_numbered_list():
    """Numbers with a point or a bracket make a numbered list."""
    assert html("1. a\n2) b") == "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"


def test_numbered_list_with_start():
    """A numbered list begins with its first number."""
    assert html("3. a\n4. b") == '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n'


def test_kinds_of_lists_do_not_mix():
    """A numbered item ends a bulleted list."""
    assert html("- a\n1. b") == "<ul>\n<li>a</li>\n</ul>\n<ol>\n<li>b</li>\n</ol>\n"


def test_nested_list():
    """An indented item is a list within an item."""
    assert html("- a\n  - b\n- c") == (
        "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul></li>\n<li>c</li>\n</ul>\n"
    )


def test_loose_list():
    """Items with an empty line between them are paragraphs."""
    assert html("- a\n\n- b") == "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n"


def test_empty_line_after_a_list():
    """An empty line behind the last item leaves the list tight."""
    assert html("- a\n- b\n\ntext") == "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n<p>text</p>\n"


def test_item_with_two_paragraphs():
    """An indented paragraph after an empty line belongs to the item."""
    assert html("- a\n\n  b") == "<ul>\n<li>\n<p>a</p>\n<p>b</p>\n</li>\n</ul>\n"


def test_item_goes_on_without_indent():
    """A line without indent directly below an item goes on with it."""
    assert html("- a\nb") == "<ul>\n<li>a\nb</li>\n</ul>\n"


def test_rule_ends_a_list():
    """A rule of stars ends a list of stars."""
    assert html("* a\n* * *") == "<ul>\n<li>a</li>\n</ul>\n<hr>\n"


def test_table():
    """A row of dashes under a row with bars makes a table."""
    assert html("a | b\n--|--\n1 | 2") == (
        "<table>\n<thead>\n<tr><th>a</th><th>b</th></tr>\n</thead>\n"
        "<tbody>\n<tr><td>1</td><td>2</td></tr>\n</tbody>\n</table>\n"
    )


def test_table_without_rows():
    """A table of only a head has no body."""
    assert html("| a |\n|---|") == "<table>\n<thead>\n<tr><th>a</th></tr>\n</thead>\n</table>\n"


def test_table_alignment():
    """Colons in the row of dashes align the columns."""
    line = html("|a|b|c|d|\n|:-|-:|:-:|-|").splitlines()[2]
    assert line == (
        '<tr><th style="text-align: left">a</th><th style="text-align: right">b</th>'
        '<th style="text-align: center">c</th><th>d</th></tr>'
    )


def test_line_without_bar_ends_a_table():
    """A line without a bar is not part of the table above it."""
    assert html("a|b\n-|-\ntext").endswith("</thead>\n</table>\n<p>text</p>\n")


def test_short_row():
    """A row with too few cells is filled up with empty ones."""
    assert "<tr><td>1</td><td></td></tr>" in html("a|b\n-|-\n1|")


def test_long_row():
    """The cells of a row that go beyond the head are cut off."""
    assert "<tr><td>1</td><td>2</td></tr>" in html("a|b\n-|-\n1|2|3")


def test_table_needs_as_many_dashes_as_cells():
    """A row of dashes with another number of cells makes no table."""
    assert html("a | b\n|---|").startswith("<p>a | b")


def test_split_row():
    """A bar with a backslash before it does not end a cell."""
    assert split_row(r"| a \| b | c |") == ["a | b", "c"]
