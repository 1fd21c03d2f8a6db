"""Guessing the delimiter."""

import pytest
from rowdialect import Dialect, DialectError, sniff


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":"])
def test_common_delimiters(delimiter):
    """Each of the common delimiters is recognised."""
    text = f"x{delimiter}y\n1{delimiter}2\n"
    assert sniff(text).delimiter == delimiter


def test_agreement_wins():
    """A delimiter on which all rows agree beats one that splits some rows further."""
    assert sniff("a;b\n1,2,3;4\n5;6\n").delimiter == ";"


def test_more_fields_win():
    """Of two delimiters that fit equally well, the one that gives more fields wins."""
    assert sniff("a,b;c;d\ne,f;g;h\n").delimiter == ";"


def test_first_candidate_wins():
    """Of two delimiters that fit alike, the one named first among the candidates wins."""
    assert sniff("a,b;c,d;e\n", candidates=";,").delimiter == ";"


def test_empty_lines_do_not_count():
    """Empty lines are ignored when the delimiter is guessed."""
    assert sniff("\n\n\na;b,c,d\n1;2\n").delimiter == ";"


def test_rows_beyond_the_limit():
    """Only the first max_rows rows are looked at."""
    assert sniff("a;b\nc,d\ne,f\n", max_rows=1).delimiter == ";"


def test_malformed_candidate():
    """A delimiter under which the text is malformed is not chosen."""
    assert sniff('a,"b";c\nd,"e";f\n').delimiter == ";"


def test_default_dialect_is_kept():
    """The guessed dialect differs from the default one in its delimiter only."""
    assert sniff("a;b\n") == Dialect(delimiter=";")


def test_no_delimiter():
    """A text without any of the candidates is refused."""
    with pytest.raises(DialectError, match="none of"):
        sniff("abc\ndef\n")
