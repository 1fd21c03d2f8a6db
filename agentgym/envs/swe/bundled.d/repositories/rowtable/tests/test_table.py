"""Tables."""

import pytest
from rowtable import Table, TableError

PEOPLE = Table(
    ["name", "team", "age"],
    [("Ann", 1, 31), ("Bob", 2, 25), ("Cid", 1, None), ("Dee", None, 25)],
)


def test_columns_are_different():
    """A table with two columns of the same name is refused."""
    with pytest.raises(TableError, match=r"the column 'a' is there twice"):
        Table(["a", "b", "a"])


def test_rows_have_all_values():
    """A row with too few or too many values is refused with its number."""
    with pytest.raises(TableError, match=r"row 2 has 1 values, not 2"):
        Table(["a", "b"], [(1, 2), (3,)])


def test_from_records():
    """Dictionaries become rows, with missing values where a key is lacking."""
    table = Table.from_records([{"a": 1}, {"b": 2, "a": 3}])
    assert (table.columns, table.rows) == (("a", "b"), [(1, None), (3, 2)])


def test_length():
    """The length of a table is its number of rows."""
    assert (len(PEOPLE), len(Table(["a"]))) == (4, 0)


def test_iteration():
    """Going through a table gives dictionaries."""
    assert list(Table(["a", "b"], [(1, 2)])) == [{"a": 1, "b": 2}]


def test_equality():
    """Tables are equal if columns and rows are equal."""
    table = Table(["a"], [(1,)])
    assert table == Table(["a"], [[1]])
    assert table != Table(["b"], [(1,)])
    assert table != Table(["a"], [(2,)])


def test_column():
    """The values of a column come in the order of the rows."""
    assert PEOPLE.column("age") == [31, 25, None, 25]


def test_unknown_column():
    """Asking for a column that is not there lists those that are."""
    with pytest.raises(TableError, match=r"no column 'size', there are name, team, age"):
        PEOPLE.column("size")


def test_where():
    """Only rows for which the condition holds are kept."""
    assert PEOPLE.where(lambda row: row["team"] == 1).column("name") == ["Ann", "Cid"]


def test_select():
    """Selected columns come in the order in which they are named."""
    assert PEOPLE.select("age", "name").rows[0] == (31, "Ann")


def test_rename():
    """Renaming a column leaves its values and the other columns as they are."""
    table = PEOPLE.rename(team="group")
    assert (table.columns, table.rows) == (("name", "group", "age"), PEOPLE.rows)


def test_rename_unknown_column():
    """Renaming a column that is not there is refused."""
    with pytest.raises(TableError, match=r"no column 'size'"):
        PEOPLE.rename(size="x")


def test_extend():
    """A computed column is put behind the others."""
    table = Table(["a"], [(1,), (2,)]).extend("b", lambda row: row["a"] * 10)
    assert (table.columns, table.rows) == (("a", "b"), [(1, 10), (2, 20)])


def test_extend_replaces():
    """A computed column replaces one of the same name in its place."""
    table = Table(["a", "b", "c"], [(1, 2, 3)]).extend("b", lambda row: row["a"] + row["c"])
    assert table.rows == [(1, 4, 3)]


def test_sort():
    """Sorting puts rows in ascending order with missing values last."""
    assert PEOPLE.sort("age").column("age") == [25, 25, 31, None]


def test_sort_descending():
    """A dash before the name sorts in descending order, missing values still last."""
    assert PEOPLE.sort("-age").column("age") == [31, 25, 25, None]


def test_sort_keeps_the_order_of_equals():
    """Rows that are equal keep their order, also in descending order."""
    assert PEOPLE.sort("-age").column("name") == ["Ann", "Bob", "Dee", "Cid"]


def test_sort_by_two_columns():
    """The first column to sort by comes before the second one."""
    assert PEOPLE.sort("age", "-name").column("name") == ["Dee", "Bob", "Ann", "Cid"]


def test_limit():
    """A limit keeps the first rows."""
    assert PEOPLE.limit(2).column("name") == ["Ann", "Bob"]


def test_limit_with_offset():
    """An offset leaves out rows before the limit counts."""
    assert PEOPLE.limit(2, offset=1).column("name") == ["Bob", "Cid"]


@pytest.mark.parametrize(("count", "offset"), [(-1, 0), (1, -1)])
def test_negative_limit(count, offset):
    """A negative limit or offset is refused."""
    with pytest.raises(TableError, match=r"cannot be negative"):
        PEOPLE.limit(count, offset)


def test_limit_of_zero():
    """A limit of zero leaves a table without rows."""
    assert PEOPLE.limit(0, 0).rows == []


def test_unique():
    """Of rows that are equal in all columns the first is kept."""
    assert Table(["a", "b"], [(1, 2), (1, 3), (1, 2)]).unique().rows == [(1, 2), (1, 3)]


def test_unique_in_a_column():
    """Of rows that are equal in the named column the first is kept."""
    assert PEOPLE.unique("age").column("name") == ["Ann", "Bob", "Cid"]


def test_append():
    """Rows of another table are put behind, with their columns in the right order."""
    table = Table(["a", "b"], [(1, 2)]).append(Table(["b", "a"], [(4, 3)]))
    assert table.rows == [(1, 2), (3, 4)]


def test_append_other_columns():
    """Tables with different columns cannot be appended."""
    with pytest.raises(TableError, match=r"different columns"):
        Table(["a"]).append(Table(["a", "b"]))


def test_groups():
    """Groups come in the order in which their values appear first."""
    groups = PEOPLE.groups("age")
    assert {key: table.column("name") for key, table in groups.items()} == {
        (31,): ["Ann"],
        (25,): ["Bob", "Dee"],
        (None,): ["Cid"],
    }
