"""Anchors and the table of contents."""

import pytest
from plainmark import Entry, render, slug, table_of_contents


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("Hello World", "hello-world"),
        ("What's new?", "whats-new"),
        ("a - b__c", "a-b-c"),
        ("[Site](http://x)", "site"),
        ("-1-", "1"),
        ("???", "section"),
    ],
)
def test_slug(text, anchor):
    """An anchor has small letters, digits and single dashes between words."""
    assert slug(text) == anchor


def test_anchors_of_headings():
    """Headings have an anchor made of their text."""
    assert render("# Big *News*") == '<h1 id="big-news">Big <em>News</em></h1>\n'


def test_anchors_are_unique():
    """Headings of the same text get numbers from the second one on."""
    assert [entry.anchor for entry in table_of_contents("# A\n# A\n# A")] == ["a", "a-2", "a-3"]


def test_number_that_is_taken():
    """A number that is already part of another anchor is not given out again."""
    assert [entry.anchor for entry in table_of_contents("# A 2\n# A\n# A")] == ["a-2", "a", "a-3"]


def test_anchors_begin_anew():
    """Each text has anchors of its own."""
    assert render("# A") == render("# A") == '<h1 id="a">A</h1>\n'


def test_table_of_contents():
    """The table of contents lists level, text and anchor of every heading."""
    assert table_of_contents("# One\ntext\n\nTwo\n---") == [
        Entry(1, "One", "one"),
        Entry(2, "Two", "two"),
    ]


def test_deepest_level():
    """The table of contents can be limited to a level, which is itself included."""
    entries = table_of_contents("# A\n## B\n### C", deepest=2)
    assert [entry.text for entry in entries] == ["A", "B"]


def test_headings_in_quotes_are_not_listed():
    """Headings within quotes and code are not in the table of contents."""
    assert table_of_contents("> # A\n\n```\n# B\n```") == []
