"""Groups, aggregates and joins."""

import pytest
from rowtable import Table, TableError
from rowtable.aggregates import aggregate

SALES = Table(
    ["city", "item", "n"], [("A", "x", 3), ("B", "x", 5), ("A", "y", None), ("A", "x", 4)]
)
CITIES = Table(["city", "country"], [("A", "P"), ("C", "Q"), ("A", "R")])


def test_group_by():
    """Each group becomes a row with its key and the aggregates."""
    table = SALES.group_by("city", total=("sum", "n"))
    assert (table.columns, table.rows) == (("city", "total"), [("A", 7), ("B", 5)])


def test_group_by_two_columns():
    """Rows may be grouped by several columns."""
    assert SALES.group_by("city", "item", rows=("count", "*")).rows == [
        ("A", "x", 2),
        ("B", "x", 1),
        ("A", "y", 1),
    ]


def test_count_of_rows_and_values():
    """Counting rows includes those with a missing value, counting a column does not."""
    table = SALES.group_by(rows=("count", "*"), values=("count", "n"))
    assert table.rows == [(4, 3)]


def test_group_of_no_rows():
    """Without grouping columns a table without rows still gives one row."""
    assert Table(["n"]).group_by(total=("sum", "n"), top=("max", "n")).rows == [(0, None)]


@pytest.mark.parametrize(
    ("name", "values", "result"),
    [
        ("count", [1, None, 1], 2),
        ("distinct", [1, None, 1, 2], 2),
        ("sum", [1, None, 2], 3),
        ("avg", [1, None, 2], 1.5),
        ("min", [3, None, 2], 2),
        ("max", [3, None, 4, 1], 4),
        ("first", [None, 3, 2], 3),
        ("median", [5, 1, 3], 3),
        ("median", [4, 1, 3, 2], 2.5),
    ],
)
def test_aggregates(name, values, result):
    """Aggregates pass over missing values."""
    assert aggregate(name, values) == result


@pytest.mark.parametrize("name", ["avg", "median", "min", "max", "first"])
def test_aggregates_of_nothing(name):
    """Aggregates other than counts and sums are missing where there are no values."""
    assert aggregate(name, [None]) is None


def test_unknown_aggregate():
    """An unknown aggregate is refused."""
    with pytest.raises(TableError, match=r"unknown aggregate 'mode'"):
        SALES.group_by(x=("mode", "n"))


def test_inner_join():
    """A join combines each row with every row of the other table that is equal in the column."""
    assert Table(["id", "city"], [(1, "A"), (2, "B")]).join(CITIES, on="city").rows == [
        (1, "A", "P"),
        (1, "A", "R"),
    ]


def test_left_join():
    """A left join keeps rows that fit none of the other table, with missing values."""
    table = Table(["id", "city"], [(1, "B"), (2, "C")]).join(CITIES, on="city", how="left")
    assert table.rows == [(1, "B", None), (2, "C", "Q")]


def test_join_columns():
    """The column of a join is there once, behind it come the other columns of the right table."""
    assert SALES.join(CITIES, on="city").columns == ("city", "item", "n", "country")


def test_join_on_different_names():
    """The column of a join may have different names on both sides."""
    table = Table(["home"], [("C",)]).join(CITIES, on=("home", "city"))
    assert (table.columns, table.rows) == (("home", "country"), [("C", "Q")])


def test_join_renames_shared_columns():
    """Columns that both tables have get a 2 behind their name on the right."""
    left = Table(["id", "n"], [(1, 5)])
    assert left.join(Table(["n", "id"], [(6, 1)]), on="id").columns == ("id", "n", "n_2")


def test_missing_values_do_not_join():
    """Missing values on both sides are not equal in a join."""
    left, right = Table(["k"], [(None,)]), Table(["k", "v"], [(None, 1)])
    assert left.join(right, on="k").rows == []


def test_unknown_kind_of_join():
    """A join other than inner or left is refused."""
    with pytest.raises(TableError, match=r"how is inner or left, not 'outer'"):
        SALES.join(CITIES, on="city", how="outer")
