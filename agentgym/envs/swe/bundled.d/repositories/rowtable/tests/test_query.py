"""Queries."""

import pytest
from rowtable import QueryError, Table, TableError, query

PEOPLE = Table(
    ["name", "team", "age"],
    [("Ann", 1, 31), ("Bob", 2, 25), ("Cid", 1, 40), ("Dee", 3, None), ("O'Ro", 2, 25)],
)
TEAMS = Table(["id", "title"], [(1, "core"), (2, "docs")])


def names(condition):
    """Names of the people for whom a condition holds."""
    return query(f"select name from people where {condition}", people=PEOPLE).column("name")


def ask(text):
    """The rows that answer a query."""
    return query(text, people=PEOPLE, teams=TEAMS).rows


def test_select_everything():
    """A star selects all columns and rows."""
    assert query("SELECT * FROM people", people=PEOPLE) == PEOPLE


def test_select_with_label():
    """A selected column can get another name."""
    table = query("select age as years, name from people limit 1", people=PEOPLE)
    assert (table.columns, table.rows) == (("years", "name"), [(31, "Ann")])


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("age = 25", ["Bob", "O'Ro"]),
        ("age != 25", ["Ann", "Cid"]),
        ("age <> 25", ["Ann", "Cid"]),
        ("age < 31", ["Bob", "O'Ro"]),
        ("age <= 31", ["Ann", "Bob", "O'Ro"]),
        ("age > 31", ["Cid"]),
        ("age >= 31", ["Ann", "Cid"]),
        ("30.5 < age", ["Ann", "Cid"]),
        ("age > -1 and team = 2", ["Bob", "O'Ro"]),
    ],
)
def test_comparisons(condition, found):
    """Comparisons keep the rows for which they hold and none with a missing value."""
    assert names(condition) == found


def test_columns_are_compared():
    """Two columns may be compared with each other."""
    table = Table(["a", "b"], [(1, 2), (2, 1), (None, 1)])
    assert query("select a from t where a < b", t=table).rows == [(1,)]


def test_and_binds_more_than_or():
    """In a condition and binds more closely than or."""
    assert names("team = 1 or team = 2 and name = 'Bob'") == ["Ann", "Bob", "Cid"]


def test_parentheses():
    """Parentheses in a condition are evaluated first."""
    assert names("(team = 1 or team = 2) and age > 30") == ["Ann", "Cid"]


def test_not():
    """Not binds more closely than and."""
    assert names("not team = 1 and not not age = 25") == ["Bob", "O'Ro"]


def test_quote_in_a_string():
    """A quote within a string is written twice."""
    assert names("name = 'O''Ro'") == ["O'Ro"]


@pytest.mark.parametrize(
    ("pattern", "found"), [("%d", ["Cid"]), ("_O%", ["Bob"]), ("ann", ["Ann"]), ("a", [])]
)
def test_like(pattern, found):
    """In like a percent sign is any text and an underscore any character, case is ignored."""
    assert names(f"name like '{pattern}'") == found


def test_in():
    """In holds for any of the listed values and not for missing ones."""
    assert names("age in (31, 40)") == ["Ann", "Cid"]


def test_is_null():
    """Missing values are found with is null."""
    assert names("age is null") == ["Dee"]


def test_is_not_null():
    """Values that are there are found with is not null."""
    assert names("age is not null and team = 1") == ["Ann", "Cid"]


def test_order_by():
    """Rows are sorted by the columns of order by, ascending unless desc is said."""
    assert ask("select name from people order by team desc, name asc limit 3") == [
        ("Dee",),
        ("Bob",),
        ("O'Ro",),
    ]


def test_order_by_a_label():
    """Rows can be sorted by the new name of a column."""
    assert ask("select name as who from people order by who desc limit 1") == [("O'Ro",)]


def test_limit_and_offset():
    """Limit and offset choose a part of the rows."""
    assert ask("select name from people limit 2 offset 1") == [("Bob",), ("Cid",)]


def test_offset_alone():
    """An offset without a limit leaves out the first rows."""
    assert ask("select name from people offset 3") == [("Dee",), ("O'Ro",)]


def test_distinct():
    """Distinct keeps one of the rows that are equal."""
    assert ask("select distinct team from people") == [(1,), (2,), (3,)]


def test_group_by():
    """Grouping gives a row for each value with its aggregates."""
    assert ask("select team, count(*), avg(age) as mean from people group by team") == [
        (1, 2, 35.5),
        (2, 2, 25.0),
        (3, 1, None),
    ]


def test_labels_of_aggregates():
    """Aggregates without a label are named after their function and column."""
    assert query("select COUNT(*), max(age) from people", people=PEOPLE).columns == (
        "count",
        "max_age",
    )


def test_order_by_an_aggregate():
    """Groups can be sorted by an aggregate that has a label."""
    text = "select team as t, sum(age) as s from people group by team order by s desc limit 1"
    assert ask(text) == [(1, 71)]


def test_column_outside_of_the_groups():
    """A column that is neither grouped nor aggregated is refused."""
    with pytest.raises(QueryError, match=r"'name' is neither grouped nor aggregated"):
        ask("select name, count(*) from people group by team")


def test_join():
    """Tables are joined on columns with an equals sign between them."""
    assert ask("select name, title from people join teams on team = id where age > 30") == [
        ("Ann", "core"),
        ("Cid", "core"),
    ]


def test_left_join():
    """A left join keeps rows without a partner."""
    assert ask("select title from people left join teams on team = id offset 3") == [
        (None,),
        ("docs",),
    ]


def test_join_on_one_name():
    """A join may name a column that both tables have just once."""
    left, right = Table(["k", "a"], [(1, "x")]), Table(["k", "b"], [(1, "y")])
    assert query("select * from l join r on k", l=left, r=right).rows == [(1, "x", "y")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("update people", "expected 'select', found 'update'"),
        ("select name", "expected 'from', found 'the end'"),
        ("select name from nowhere", "no table 'nowhere'"),
        ("select mode(age) from people", "unknown function 'mode'"),
        ("select name from people where age", "expected a comparison, found 'the end'"),
        ("select name from people where age = ", "expected a value, found 'the end'"),
        ("select name from people where (age = 1", "expected '\\)', found 'the end'"),
        ("select name from people limit x", "expected a whole number, found 'x'"),
        ("select 5 from people", "expected a name, found '5'"),
        ("select name from people; drop", "cannot read '; drop'"),
        ("select name from people where size = 1", "no column 'size'"),
        ("select name from people limit 1 2", "unexpected '2'"),
    ],
)
def test_faults(text, message):
    """A query that cannot be understood says what was expected and what was found."""
    with pytest.raises(QueryError, match=message):
        ask(text)


def test_unknown_column():
    """Selecting a column that is not there is refused."""
    with pytest.raises(TableError, match=r"no column 'size'"):
        ask("select size from people")


def test_column_twice():
    """Selecting a column twice without another name is refused."""
    with pytest.raises(TableError, match=r"selected twice"):
        ask("select name, name from people")
