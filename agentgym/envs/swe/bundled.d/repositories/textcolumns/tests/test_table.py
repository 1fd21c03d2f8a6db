"""Tables and lists."""

import pytest
from textcolumns import Column, bullet_list, columns, format_table, numbered_list

ITEM, PRICE = Column("item"), Column("price", align="right", decimals=2)
ROWS = [["tea", 3.5], ["salt", 12.25]]


def test_plain():
    """A plain table has a line below the titles."""
    assert format_table(ROWS, [ITEM, PRICE]).split("\n") == [
        "item  price",
        "----  -----",
        "tea    3.50",
        "salt  12.25",
    ]


def test_pipes():
    """A table of pipes shows the alignment by colons."""
    middle = Column("n", align="center")
    assert format_table([["tea", 3.5, 1]], [ITEM, PRICE, middle], "pipes").split("\n") == [
        "| item | price | n |",
        "|------|------:|:-:|",
        "| tea  |  3.50 | 1 |",
    ]


def test_grid():
    """A grid has lines around every row and double ones below the titles."""
    assert format_table([["x"], ["y"]], [Column("ab")], "grid").split("\n") == [
        "+----+",
        "| ab |",
        "+====+",
        "| x  |",
        "+----+",
        "| y  |",
        "+----+",
    ]


def test_no_rows():
    """A table may have no rows."""
    assert format_table([], [ITEM]) == "item\n----"


def test_wide_cell():
    """A column is as wide as its widest cell."""
    assert format_table([["abc", 1]], [Column("a"), Column("b")]).split("\n")[0] == "a    b"


def test_cell_with_lines():
    """A cell may have several lines, beside which the others are empty."""
    assert format_table([["a\nb", "c"]], [Column("x"), Column("y")]).split("\n")[2:] == [
        "a  c",
        "b",
    ]


def test_wrapped_cell():
    """The text of a column can be wrapped."""
    assert format_table([["aa bb"]], [Column("x", most=3)]).split("\n")[2:] == ["aa", "bb"]


def test_wrapped_empty_cell():
    """An empty text that is wrapped keeps its row."""
    assert format_table([["", 5]], [Column("x", most=3), Column("y")]).split("\n")[2:] == ["   5"]


def test_none():
    """None is empty, or what the column says."""
    assert (
        format_table([[None, None]], [Column("a"), Column("b", empty="?")]).split("\n")[2] == "   ?"
    )


def test_decimals_of_text():
    """Decimals concern numbers only, also whole ones."""
    assert format_table([["n/a"], [1]], [Column("x", decimals=1)]).split("\n")[2:] == ["n/a", "1.0"]


def test_no_decimals():
    """A number can be written without decimals."""
    assert format_table([[2.6]], [Column("x", decimals=0)]).split("\n")[2] == "3"


def test_wrong_length():
    """A row with a wrong number of values is refused."""
    with pytest.raises(ValueError, match="row 2 has 1 values for 2 columns"):
        format_table([["a", 1], ["b"]], [ITEM, PRICE])


def test_unknown_style():
    """An unknown style is refused."""
    with pytest.raises(ValueError, match="plain, pipes, grid"):
        format_table([], [ITEM], "fancy")


def test_unknown_alignment():
    """A column with an unknown alignment is refused."""
    with pytest.raises(ValueError, match="align must be"):
        Column("a", align="top")


def test_bullets():
    """The further lines of an item stand below its text."""
    assert bullet_list(["aaa bbb", "c"], 6) == ["- aaa", "  bbb", "- c"]


def test_other_bullet():
    """Another sign can stand before the items."""
    assert bullet_list(["a"], bullet="(*) ") == ["(*) a"]


def test_numbers():
    """Items are numbered, and their further lines stand below their text."""
    assert numbered_list(["aaa bbb", "c"], 7) == ["1. aaa", "   bbb", "2. c"]


def test_numbers_are_aligned():
    """Numbers with fewer digits are moved to the right."""
    assert numbered_list(["a", "b"], start=9) == [" 9. a", "10. b"]


def test_short_numbers():
    """Up to nine items have numbers of one digit."""
    assert numbered_list(["a"] * 9)[0] == "1. a"


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (13, ["a  bb  c  dd"]),
        (12, ["a  bb  c  dd"]),
        (11, ["a   c", "bb  dd"]),
        (6, ["a   c", "bb  dd"]),
        (5, ["a", "bb", "c", "dd"]),
        (1, ["a", "bb", "c", "dd"]),
    ],
)
def test_columns(width, lines):
    """Texts are set in as many columns as fit, read from top to bottom."""
    assert columns(["a", "bb", "c", "dd"], width) == lines


def test_short_last_column():
    """The last column may be shorter."""
    assert columns(["a", "b", "c"], 4) == ["a  c", "b"]


def test_gap():
    """The gap between columns can be chosen."""
    assert columns(["a", "b"], 9, gap=4) == ["a    b"]


def test_no_items():
    """Without texts there are no lines."""
    assert columns([], 10) == []
