"""Queries over one table, and over several."""

import pytest

from pocketsql import Database, DataError, SchemaError

SHOP = """
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, kind TEXT);
    INSERT INTO item VALUES (1, 'tea', 3.5, 'drink'), (2, 'salt', 1, 'spice'),
        (3, 'milk', 2, 'drink'), (4, 'mint', NULL, 'spice'), (5, 'bowl', 9, NULL);
    CREATE TABLE sale (item INTEGER, amount INTEGER, day INTEGER);
    INSERT INTO sale VALUES (1, 2, 1), (3, 1, 1), (1, 5, 2), (9, 1, 2), (NULL, 4, 3);
"""


def rows(sql, *parameters):
    """Return the rows of a query on a small shop."""
    db = Database()
    db.script(SHOP)
    return db.execute(sql, parameters).rows


def names(rest):
    """Return the names of items that a query finds, as one text."""
    return " ".join(row[0] for row in rows(f"SELECT name FROM item {rest}"))


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("", "tea salt milk mint bowl"),
        ("WHERE price > 1", "tea milk bowl"),
        ("WHERE NOT price > 1", "salt"),
        ("WHERE price IS NULL", "mint"),
        ("WHERE kind = 'drink' AND price < 3", "milk"),
        ("WHERE kind <> 'drink'", "salt mint"),
        ("WHERE id IN (1, 5)", "tea bowl"),
        ("WHERE name LIKE 'm%'", "milk mint"),
        ("WHERE NULL", ""),
    ],
)
def test_where(rest, found):
    """Only rows for which the condition is true are found; unknown is not true."""
    assert names(rest) == found


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("ORDER BY price", "salt milk tea bowl mint"),
        ("ORDER BY price DESC", "mint bowl tea milk salt"),
        ("ORDER BY price NULLS FIRST", "mint salt milk tea bowl"),
        ("ORDER BY price DESC NULLS LAST", "bowl tea milk salt mint"),
        ("ORDER BY kind, name DESC", "tea milk salt mint bowl"),
        ("ORDER BY 1", "bowl milk mint salt tea"),
        ("ORDER BY LENGTH(name), id DESC", "tea bowl mint milk salt"),
        ("ORDER BY kind", "tea milk salt mint bowl"),
        ("ORDER BY id LIMIT 2", "tea salt"),
        ("ORDER BY id LIMIT 2 OFFSET 3", "mint bowl"),
        ("ORDER BY id LIMIT 0", ""),
        ("ORDER BY id LIMIT NULL OFFSET 4", "bowl"),
        ("ORDER BY id LIMIT 9 OFFSET 9", ""),
    ],
)
def test_order_and_limit(rest, found):
    """Rows are sorted by columns, numbers of columns or values; equal rows keep their order."""
    assert names(rest) == found


def test_order_by_label():
    """Rows can be sorted by a label of the result."""
    found = rows("SELECT name, -price AS minus FROM item WHERE price > 1 ORDER BY minus")
    assert found == [("bowl", -9.0), ("tea", -3.5), ("milk", -2.0)]


@pytest.mark.parametrize("limit", ["-1", "1.5", "'a'", "TRUE"])
def test_bad_limit(limit):
    """A limit has to be a whole number that is not negative."""
    with pytest.raises(DataError, match="LIMIT needs a whole number"):
        rows(f"SELECT 1 LIMIT {limit}")


@pytest.mark.parametrize("place", [0, 3])
def test_order_by_missing_column(place):
    """A number in ORDER BY has to be that of a column."""
    with pytest.raises(SchemaError, match="there are 2 columns"):
        rows(f"SELECT id, name FROM item ORDER BY {place}")


def labels(sql):
    """Return the labels of a query on a small shop."""
    db = Database()
    db.script(SHOP)
    return list(db.execute(sql).columns)


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("*", ["id", "name", "price", "kind"]),
        ("i.*, 1 AS one", ["id", "name", "price", "kind", "one"]),
        ("name, price p", ["name", "p"]),
        ("price * (1 + 2)", ["price * (1 + 2)"]),
        ("count(*), sum(DISTINCT price)", ["COUNT(*)", "SUM(DISTINCT price)"]),
        ("NOT (price > 1 OR i.id IN (1, 2))", ["NOT (price > 1 OR i.id IN (1, 2))"]),
        ("CASE WHEN id = 1 THEN 'it''s' END", ["CASE WHEN id = 1 THEN 'it''s' END"]),
        ("1 - (2 - 3), (1 - 2) - 3", ["1 - (2 - 3)", "1 - 2 - 3"]),
        ("- -price", ["- -price"]),
        ('name AS "Full Name"', ["Full Name"]),
    ],
)
def test_labels(items, found):
    """A column without a label is labelled by how it is written."""
    assert labels(f"SELECT {items} FROM item i") == found


def test_names_in_any_case():
    """Names and keywords may be written in any case; results are labelled in small letters."""
    assert labels("select ID, Item.NAME from ITEM") == ["id", "name"]


def test_distinct():
    """DISTINCT leaves one of equal rows; NULL is equal to NULL there."""
    assert rows("SELECT DISTINCT kind FROM item") == [("drink",), ("spice",), (None,)]


def test_distinct_with_order():
    """Distinct rows can be sorted and limited."""
    found = rows("SELECT DISTINCT kind FROM item ORDER BY kind DESC NULLS LAST LIMIT 2")
    assert found == [("spice",), ("drink",)]


def test_inner_join():
    """An inner join gives pairs for which the condition is true."""
    sql = "SELECT name, amount FROM item JOIN sale ON sale.item = item.id"
    assert rows(sql) == [("tea", 2), ("tea", 5), ("milk", 1)]


def test_left_join():
    """A left join keeps rows without a partner, with NULL beside them."""
    sql = "SELECT i.name, s.amount FROM item i LEFT JOIN sale s ON i.id = s.item AND s.day = 1"
    assert rows(sql) == [("tea", 2), ("salt", None), ("milk", 1), ("mint", None), ("bowl", None)]


def test_condition_after_left_join():
    """A condition in WHERE is tested after the join."""
    sql = "SELECT i.name FROM item i LEFT JOIN sale s ON i.id = s.item WHERE s.item IS NULL"
    assert rows(sql) == [("salt",), ("mint",), ("bowl",)]


@pytest.mark.parametrize("join", [",", "CROSS JOIN"])
def test_cross_join(join):
    """A cross join gives all pairs."""
    found = rows(f"SELECT COUNT(*) FROM item {join} sale")
    assert found == [(25,)]


def test_join_row_by_row():
    """A join may have any condition."""
    sql = "SELECT a.name, b.name FROM item a JOIN item b ON a.price < b.price AND a.kind = b.kind"
    assert rows(sql) == [("milk", "tea")]


def test_join_of_three():
    """Several joins are done from left to right."""
    sql = """SELECT a.name, b.amount, c.amount FROM item a JOIN sale b ON b.item = a.id
             JOIN sale c ON c.item = a.id AND c.day > b.day"""
    assert rows(sql) == [("tea", 2, 5)]


def test_null_joins_nothing():
    """NULL is not equal to NULL in a join."""
    assert rows("SELECT a.day FROM sale a JOIN sale b ON a.item = b.item WHERE a.day = 3") == []


def test_join_of_different_types():
    """Texts and numbers cannot be joined."""
    with pytest.raises(DataError, match="cannot compare"):
        rows("SELECT 1 FROM item JOIN sale ON item.name = sale.item")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM nope", "no table nope"),
        ("SELECT nope FROM item", "no column nope"),
        ("SELECT sale.day FROM item", "no column sale.day"),
        ("SELECT day FROM sale a, sale b", "column day is ambiguous"),
        ("SELECT 1 FROM sale, sale", "two sources sale"),
        ("SELECT x.* FROM sale", "no table x in FROM"),
        ("SELECT *", "needs a table in FROM"),
    ],
)
def test_wrong_names(sql, message):
    """Names that are not there, or mean several things, are refused."""
    with pytest.raises(SchemaError, match=message):
        rows(sql)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("COUNT(*)", 5),
        ("COUNT(price)", 4),
        ("COUNT(DISTINCT kind)", 2),
        ("SUM(price)", 15.5),
        ("SUM(id)", 15),
        ("SUM(DISTINCT LENGTH(name))", 7),
        ("AVG(price)", 3.875),
        ("MIN(name)", "bowl"),
        ("MAX(price) - MIN(price)", 8.0),
        ("GROUP_CONCAT(name, '/')", "tea/salt/milk/mint/bowl"),
        ("GROUP_CONCAT(DISTINCT kind)", "drink,spice"),
        ("SUM(CASE WHEN price > 2 THEN 1 ELSE 0 END)", 2),
    ],
)
def test_functions_of_groups(expression, result):
    """Functions of groups look at all rows and pass over NULL."""
    assert rows(f"SELECT {expression} FROM item") == [(result,)]


def test_functions_of_no_rows():
    """Without rows the number is 0 and everything else NULL."""
    sql = "SELECT COUNT(*), COUNT(id), SUM(id), AVG(id), MIN(id) FROM item WHERE id > 9"
    assert rows(sql) == [(0, 0, None, None, None)]


def test_groups():
    """Rows are grouped in the order in which the groups begin; NULL is a group of its own."""
    sql = "SELECT kind, COUNT(*), SUM(price) FROM item GROUP BY kind"
    assert rows(sql) == [("drink", 2, 5.5), ("spice", 2, 1.0), (None, 1, 9.0)]


def test_groups_of_no_rows():
    """Without rows there are no groups."""
    assert rows("SELECT kind, COUNT(*) FROM item WHERE id > 9 GROUP BY kind") == []


@pytest.mark.parametrize("key", ["LENGTH(name)", "1", "size"])
def test_group_by_value(key):
    """Rows can be grouped by a value, its number or its label."""
    sql = f"SELECT LENGTH(name) AS size, COUNT(*) FROM item GROUP BY {key}"
    assert rows(sql) == [(3, 1), (4, 4)]


def test_group_by_qualified_column():
    """A column in GROUP BY is the same with and without its table."""
    assert len(rows("SELECT item.kind FROM item GROUP BY kind")) == 3


def test_having():
    """HAVING chooses among groups."""
    sql = "SELECT kind FROM item GROUP BY kind HAVING COUNT(*) > 1 AND SUM(price) > 2"
    assert rows(sql) == [("drink",)]


def test_order_of_groups():
    """Groups can be sorted by a function of groups that is not shown."""
    sql = "SELECT kind FROM item GROUP BY kind ORDER BY SUM(price) DESC"
    assert rows(sql) == [(None,), ("drink",), ("spice",)]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT name FROM item GROUP BY kind", "column name has to be in GROUP BY"),
        ("SELECT name, COUNT(*) FROM item", "column name has to be in GROUP BY"),
        ("SELECT kind FROM item GROUP BY kind HAVING id > 1", "column id has to be"),
        ("SELECT kind FROM item GROUP BY kind ORDER BY price", "column price has to be"),
        ("SELECT id FROM item WHERE COUNT(*) > 1", "cannot stand in WHERE"),
        ("SELECT 1 FROM item GROUP BY SUM(id)", "cannot stand in GROUP BY"),
        ("SELECT SUM(COUNT(*)) FROM item", "cannot hold another"),
        ("SELECT SUM(*) FROM item", "means nothing"),
        ("SELECT SUM(id, id) FROM item", "SUM does not take 2 arguments"),
        ("SELECT 1 FROM item GROUP BY 2", "there are 1 columns"),
        ("SELECT id FROM item ORDER BY COUNT(*)", "cannot stand here"),
    ],
)
def test_wrong_groups(sql, message):
    """What has no single value in a group is refused."""
    with pytest.raises(SchemaError, match=message):
        rows(sql)


def test_sum_of_texts():
    """Texts have no sum."""
    with pytest.raises(DataError, match="SUM needs numbers, got TEXT"):
        rows("SELECT SUM(name) FROM item")


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT day FROM sale UNION SELECT id FROM item", [1, 2, 3, 4, 5]),
        ("SELECT day FROM sale UNION ALL SELECT 7", [1, 1, 2, 2, 3, 7]),
        ("SELECT day FROM sale INTERSECT SELECT item FROM sale", [1, 3]),
        ("SELECT day FROM sale EXCEPT SELECT 2", [1, 3]),
        ("SELECT day FROM sale EXCEPT ALL SELECT 2", [1, 1, 2, 3]),
        ("SELECT day FROM sale INTERSECT ALL SELECT day FROM sale WHERE day < 3", [1, 1, 2, 2]),
        ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", [1]),
        ("(SELECT 1 UNION SELECT 2) INTERSECT SELECT 2", [2]),
        ("SELECT 1 EXCEPT SELECT 1 UNION SELECT 5", [5]),
        ("SELECT 2 AS n UNION SELECT 1 ORDER BY n", [1, 2]),
        ("(SELECT id FROM item ORDER BY id DESC LIMIT 1) UNION SELECT 0", [5, 0]),
        ("SELECT NULL UNION SELECT NULL", [None]),
        ("SELECT 1 UNION SELECT 1.0", [1]),
    ],
)
def test_set_operations(sql, found):
    """Queries are joined to one; INTERSECT binds most strongly, ALL keeps repetitions."""
    assert [row[0] for row in rows(sql)] == found


def test_set_operation_of_different_width():
    """Both sides of a set operation need as many columns."""
    with pytest.raises(SchemaError, match="UNION needs as many columns on both sides, got 1 and 2"):
        rows("SELECT 1 UNION SELECT 1, 2")


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("WHERE id IN (SELECT item FROM sale)", "tea milk"),
        ("WHERE id NOT IN (SELECT item FROM sale WHERE item > 0)", "salt mint bowl"),
        ("WHERE id NOT IN (SELECT item FROM sale)", ""),
        ("WHERE EXISTS (SELECT 1 FROM sale WHERE item = id)", "tea milk"),
        ("WHERE NOT EXISTS (SELECT 1 FROM sale WHERE sale.item = item.id)", "salt mint bowl"),
        ("WHERE price = (SELECT MAX(price) FROM item)", "bowl"),
        ("WHERE (SELECT SUM(amount) FROM sale WHERE item = id) > 1", "tea"),
        ("WHERE price > (SELECT price FROM item WHERE id = 99)", ""),
    ],
)
def test_subqueries(rest, found):
    """A subquery sees the row of the query around it; without rows its value is NULL."""
    assert names(rest) == found


def test_subquery_as_table():
    """A subquery can stand in FROM."""
    sql = """SELECT t.kind, t.n FROM (SELECT kind, COUNT(*) AS n FROM item GROUP BY kind) AS t
             WHERE t.n > 1 ORDER BY t.kind DESC"""
    assert rows(sql) == [("spice", 2), ("drink", 2)]


def test_subquery_in_select():
    """A subquery can stand where a value is shown."""
    sql = "SELECT name, (SELECT COUNT(*) FROM sale s WHERE s.item = i.id) FROM item i LIMIT 2"
    assert rows(sql) == [("tea", 2), ("salt", 0)]


@pytest.mark.parametrize(
    ("sql", "error", "message"),
    [
        ("SELECT (SELECT id FROM item)", DataError, "one row, it has 5"),
        ("SELECT (SELECT 1, 2)", SchemaError, "one column, it has 2"),
        ("SELECT 1 IN (SELECT 1, 2)", SchemaError, "one column, it has 2"),
    ],
)
def test_subquery_of_wrong_size(sql, error, message):
    """A subquery as value has to have one column and at most one row."""
    with pytest.raises(error, match=message):
        rows(sql)


def test_parameters_in_order():
    """Question marks in all parts of a query are counted from left to right."""
    sql = "SELECT name, ? FROM item WHERE price > ? ORDER BY id LIMIT ?"
    assert rows(sql, "x", 2, 1) == [("tea", "x")]


def plan(sql):
    """Return the plan of a query on a small shop."""
    return [row[0] for row in rows(f"EXPLAIN {sql}")]


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        ("SELECT 1", ["one row"]),
        ("SELECT * FROM item", ["read item (5 rows)"]),
        (
            "SELECT name FROM item AS i WHERE price > 1 ORDER BY name DESC LIMIT 3",
            [
                "limit 3",
                "  sort by name desc",
                "    filter price > 1",
                "      read item as i (5 rows)",
            ],
        ),
        (
            "SELECT kind, COUNT(*) FROM item GROUP BY kind HAVING COUNT(*) > 1",
            ["filter groups COUNT(*) > 1", "  group by kind", "    read item (5 rows)"],
        ),
        ("SELECT COUNT(*) FROM sale", ["group all", "  read sale (5 rows)"]),
        (
            "SELECT 1 FROM item JOIN sale ON id = item LEFT JOIN sale s ON s.day < price",
            [
                "left join row by row on s.day < price",
                "  inner join by keys on id = item",
                "    read item (5 rows)",
                "    read sale (5 rows)",
                "  read sale as s (5 rows)",
            ],
        ),
        ("SELECT 1 UNION ALL SELECT 2", ["union all", "  one row", "  one row"]),
        (
            "SELECT DISTINCT n FROM (SELECT 1 AS n) AS q OFFSET 1",
            ["offset 1", "  distinct", "    subquery q", "      one row"],
        ),
    ],
)
def test_explain(sql, lines):
    """EXPLAIN lists the steps of a query; each stands above what it needs."""
    assert plan(sql) == lines
