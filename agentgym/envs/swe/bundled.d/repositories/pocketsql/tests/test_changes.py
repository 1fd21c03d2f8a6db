"""Tables, changes, constraints and transactions."""

import pytest

from pocketsql import ConstraintError, Database, DataError, ParseError, SchemaError, SqlError


def shop():
    """Return a database with kinds and items that refer to them."""
    db = Database()
    db.script("""
        CREATE TABLE kind (code TEXT PRIMARY KEY, label TEXT NOT NULL DEFAULT 'none');
        CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, price REAL CHECK (price > 0),
                           kind TEXT REFERENCES kind (code));
        INSERT INTO kind VALUES ('d', 'drink'), ('s', 'spice');
        INSERT INTO item VALUES (1, 'tea', 3, 'd'), (2, 'salt', 1, 's');
    """)
    return db


def test_tables_and_columns():
    """Tables and their columns can be listed."""
    db = shop()
    assert (db.tables(), db.columns("KIND")) == (
        ["kind", "item"],
        [("code", "TEXT"), ("label", "TEXT")],
    )


def test_insert_counts():
    """A change tells how many rows it concerned."""
    assert shop().execute("INSERT INTO kind VALUES ('x', 'a'), ('y', 'b')").count == 2


def test_insert_some_columns():
    """Columns that are not given get their default, or NULL."""
    db = shop()
    db.execute("INSERT INTO kind (code) VALUES ('x')")
    db.execute("INSERT INTO item (name, id) VALUES ('milk', 3)")
    assert db.execute("SELECT * FROM kind WHERE code = 'x'").rows == [("x", "none")]
    assert db.execute("SELECT * FROM item WHERE id = 3").rows == [(3, "milk", None, None)]


def test_insert_default_word():
    """DEFAULT stands for the default of its column."""
    db = shop()
    db.execute("INSERT INTO kind VALUES ('x', DEFAULT)")
    assert db.execute("SELECT label FROM kind WHERE code = 'x'").value == "none"


def test_insert_from_query():
    """What a query gives can be inserted, even from the same table."""
    db = shop()
    count = db.execute("INSERT INTO item (id, price) SELECT id + 10, price FROM item").count
    assert (count, db.execute("SELECT GROUP_CONCAT(id) FROM item").value) == (2, "1,2,11,12")


def test_insert_python_rows():
    """Rows can be inserted without SQL."""
    db = shop()
    assert (db.insert("kind", [("x", "it's"), ("y", "b")]), db.insert("kind", [])) == (2, 0)
    assert db.execute("SELECT label FROM kind WHERE code = 'x'").value == "it's"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("INSERT INTO nope VALUES (1)", "no table nope"),
        ("INSERT INTO kind VALUES ('x')", "expected 2 values for kind, got 1"),
        ("INSERT INTO kind (code) VALUES ('x', 'y')", "expected 1 values for kind, got 2"),
        ("INSERT INTO kind (nope) VALUES ('x')", "table kind has no column nope"),
        ("INSERT INTO kind (code, code) VALUES ('x', 'y')", "given twice"),
        ("INSERT INTO kind SELECT 'x'", "expected 2 values"),
        ("UPDATE kind SET nope = 1", "no column nope"),
        ("UPDATE kind SET code = 'x', code = 'y'", "set twice"),
        ("UPDATE kind SET code = nope", "no column nope"),
        ("DELETE FROM nope", "no table nope"),
    ],
)
def test_wrong_change(sql, message):
    """A change that names what is not there is refused."""
    with pytest.raises(SchemaError, match=message):
        shop().execute(sql)


@pytest.mark.parametrize(
    ("value", "held"),
    [("1", 1), ("1.0", 1), ("NULL", None), ("-9223372036854775807 - 1", -(2**63))],
)
def test_integer_column(value, held):
    """A column of whole numbers holds numbers that are whole."""
    db = Database()
    db.script(f"CREATE TABLE t (a INTEGER); INSERT INTO t VALUES ({value})")
    found = db.execute("SELECT a FROM t").value
    assert (found, type(found)) == (held, type(held))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INTEGER", "1.5"),
        ("INTEGER", "'1'"),
        ("INTEGER", "TRUE"),
        ("INTEGER", "1e300"),
        ("REAL", "'1'"),
        ("REAL", "TRUE"),
        ("TEXT", "1"),
        ("BOOLEAN", "1"),
        ("BOOLEAN", "'true'"),
    ],
)
def test_wrong_type(kind, value):
    """A value of another type is refused and not converted."""
    db = Database()
    db.execute(f"CREATE TABLE t (a {kind})")
    with pytest.raises(DataError):
        db.execute(f"INSERT INTO t VALUES ({value})")


def test_real_column():
    """Whole numbers become reals in a column of reals."""
    assert repr(shop().execute("SELECT price FROM item WHERE id = 1").value) == "3.0"


def test_update():
    """An update changes the rows for which its condition is true."""
    db = shop()
    count = db.execute("UPDATE item SET price = price + 1, name = name || '!' WHERE id = 1").count
    assert (count, db.execute("SELECT name, price FROM item").rows) == (
        1,
        [("tea!", 4.0), ("salt", 1.0)],
    )


def test_update_sees_the_old_row():
    """All new values are computed from the old ones."""
    db = Database()
    db.script("CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 2)")
    db.execute("UPDATE t SET a = b, b = a")
    assert db.execute("SELECT a, b FROM t").rows == [(2, 1)]


def test_update_of_unique_values():
    """Unique values may be shifted, as long as they differ in the end."""
    db = shop()
    db.execute("UPDATE item SET id = id + 1")
    assert db.execute("SELECT id FROM item").rows == [(2,), (3,)]


def test_update_with_subquery():
    """A new value may come from a query that sees the row."""
    db = shop()
    db.execute("UPDATE item SET name = (SELECT label FROM kind WHERE code = item.kind)")
    assert db.execute("SELECT name FROM item").rows == [("drink",), ("spice",)]


def test_delete():
    """A deletion takes rows out; unknown conditions do not count."""
    db = shop()
    db.execute("INSERT INTO item (id) VALUES (3)")
    count = db.execute("DELETE FROM item WHERE price < 2").count
    assert (count, db.execute("SELECT id FROM item").rows) == (1, [(1,), (3,)])


def test_delete_all():
    """Without a condition all rows are deleted."""
    assert shop().execute("DELETE FROM item").count == 2


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("INSERT INTO kind VALUES ('d', 'x')", "kind.code must be unique, 'd' is repeated"),
        ("INSERT INTO kind VALUES (NULL, 'x')", "kind.code must not be NULL"),
        ("INSERT INTO kind VALUES ('x', NULL)", "kind.label must not be NULL"),
        ("UPDATE item SET name = 'tea'", "item.name must be unique, 'tea' is repeated"),
        ("UPDATE item SET price = -1", r"item.price breaks CHECK \(price > 0\)"),
        ("INSERT INTO item VALUES (3, 'x', 0, 'd')", "breaks CHECK"),
        ("INSERT INTO item VALUES (3, 'x', 1, 'z')", "item.kind is 'z', which is not in kind.code"),
        ("UPDATE item SET kind = 'z'", "not in kind.code"),
        ("DELETE FROM kind", "item.kind is 'd', which is not in kind.code"),
        ("UPDATE kind SET code = 'q' WHERE code = 'd'", "not in kind.code"),
        ("DROP TABLE kind", "table kind is needed by item"),
    ],
)
def test_constraints(sql, message):
    """A change that breaks what a table promises is refused."""
    with pytest.raises(ConstraintError, match=message):
        shop().execute(sql)


def test_null_is_let_through():
    """NULL passes UNIQUE, CHECK and REFERENCES."""
    db = shop()
    assert db.execute("INSERT INTO item (id) VALUES (3), (4)").count == 2


def test_refused_change_changes_nothing():
    """If one row is refused, none of the statement is stored."""
    db = shop()
    with pytest.raises(ConstraintError):
        db.execute("INSERT INTO kind VALUES ('x', 'fine'), ('d', 'twice')")
    assert db.execute("SELECT COUNT(*) FROM kind").value == 2


@pytest.mark.parametrize(
    ("action", "items"),
    [("CASCADE", [(2, "s")]), ("SET NULL", [(1, None), (2, "s")])],
)
def test_on_delete(action, items):
    """Rows that refer to a deleted one are deleted too, or refer to nothing."""
    db = Database()
    db.script(f"""
        CREATE TABLE kind (code TEXT PRIMARY KEY);
        CREATE TABLE item (id INTEGER, kind TEXT REFERENCES kind (code) ON DELETE {action});
        INSERT INTO kind VALUES ('d'), ('s');
        INSERT INTO item VALUES (1, 'd'), (2, 's');
    """)
    count = db.execute("DELETE FROM kind WHERE code = 'd'").count
    assert (count, db.execute("SELECT * FROM item").rows) == (1, items)


def test_on_delete_in_a_chain():
    """A deletion is passed on through several tables."""
    db = Database()
    db.script("""
        CREATE TABLE a (id INTEGER PRIMARY KEY);
        CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id) ON DELETE CASCADE);
        CREATE TABLE c (b INTEGER REFERENCES b (id) ON DELETE CASCADE);
        INSERT INTO a VALUES (1), (2);
        INSERT INTO b VALUES (10, 1), (20, 2);
        INSERT INTO c VALUES (10), (20), (10);
        DELETE FROM a WHERE id = 1;
    """)
    assert db.execute("SELECT b FROM c").rows == [(20,)]


def test_on_delete_in_one_table():
    """A table may refer to itself; a deletion takes the whole branch out."""
    db = Database()
    db.script("""
        CREATE TABLE p (id INTEGER PRIMARY KEY, up INTEGER REFERENCES p (id) ON DELETE CASCADE);
        INSERT INTO p VALUES (1, NULL), (2, 1), (3, 2), (4, NULL);
        DELETE FROM p WHERE id = 1;
    """)
    assert db.execute("SELECT id FROM p").rows == [(4,)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("a INTEGER, a TEXT", "two columns a"),
        ("a INTEGER PRIMARY KEY, b TEXT PRIMARY KEY", "two primary keys"),
        ("a TEXT REFERENCES nope (x)", "no table nope"),
        ("a TEXT REFERENCES kind (nope)", "no column nope"),
        ("a TEXT REFERENCES kind (label)", "kind.label is not unique"),
        ("a INTEGER REFERENCES kind (code)", "t.a is INTEGER, but refers to TEXT"),
        ("a TEXT NOT NULL REFERENCES kind (code) ON DELETE SET NULL", "cannot be set to NULL"),
        ("a INTEGER CHECK (b > 1)", "no column b"),
        ("a INTEGER CHECK (COUNT(*) > 1)", "no subqueries and functions of groups"),
        ("a INTEGER CHECK (a IN (SELECT 1))", "no subqueries"),
        ("a INTEGER DEFAULT b", "no column b"),
    ],
)
def test_impossible_table(columns, message):
    """A table that could never work is refused when it is made."""
    with pytest.raises(SchemaError, match=message):
        shop().execute(f"CREATE TABLE t ({columns})")


def test_default_of_wrong_type():
    """A default has to fit its column."""
    with pytest.raises(DataError, match=r"column t\.a holds INTEGER, got TEXT 'x'"):
        Database().execute("CREATE TABLE t (a INTEGER DEFAULT 'x')")


def test_table_is_there_already():
    """A table is not made twice, unless that was said to be all right."""
    db = shop()
    with pytest.raises(SchemaError, match="table kind already"):
        db.execute("CREATE TABLE kind (x TEXT)")
    db.execute("CREATE TABLE IF NOT EXISTS kind (x TEXT)")
    assert db.columns("kind") == [("code", "TEXT"), ("label", "TEXT")]


def test_drop():
    """A table can be dropped once nothing needs it."""
    db = shop()
    db.script("DROP TABLE item; DROP TABLE kind; DROP TABLE IF EXISTS kind")
    assert db.tables() == []


def test_drop_missing_table():
    """A table that is not there cannot be dropped."""
    with pytest.raises(SchemaError, match="no table nope"):
        shop().execute("DROP TABLE nope")


def test_rollback():
    """A rollback takes back all changes since the transaction began."""
    db = shop()
    db.script("BEGIN; DELETE FROM item; DROP TABLE item; CREATE TABLE x (a TEXT)")
    inside = (db.in_transaction, db.tables())
    db.execute("ROLLBACK")
    assert (inside, db.tables()) == ((True, ["kind", "x"]), ["kind", "item"])
    assert (db.in_transaction, db.execute("SELECT COUNT(*) FROM item").value) == (False, 2)


def test_commit():
    """A commit keeps the changes."""
    db = shop()
    db.script("BEGIN; DELETE FROM item; COMMIT")
    assert db.execute("SELECT COUNT(*) FROM item").value == 0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("COMMIT", "no transaction to commit"),
        ("ROLLBACK", "no transaction to rollback"),
        ("BEGIN; BEGIN", "open already"),
    ],
)
def test_wrong_transaction(script, message):
    """Transactions are not nested, and only an open one can end."""
    with pytest.raises(SqlError, match=message):
        shop().script(script)


def test_failure_in_transaction():
    """After a failed statement a transaction goes on with what was done before."""
    db = shop()
    db.script("BEGIN; DELETE FROM item WHERE id = 1")
    with pytest.raises(ConstraintError):
        db.execute("DELETE FROM kind")
    db.execute("COMMIT")
    assert db.execute("SELECT id FROM item").rows == [(2,)]


def test_script_results():
    """A script gives the result of every statement."""
    results = shop().script("SELECT 1;; DELETE FROM item; SELECT COUNT(*) FROM item;")
    assert [(list(result.rows), result.count) for result in results] == [
        ([(1,)], 1),
        ([], 2),
        ([(0,)], 1),
    ]


def test_script_that_cannot_be_read():
    """Nothing of a script is carried out if it cannot be read to its end."""
    db = shop()
    with pytest.raises(ParseError):
        db.script("DELETE FROM item; DELETE item")
    assert db.execute("SELECT COUNT(*) FROM item").value == 2


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE t (a thing)", "unknown type 'thing'"),
        ("CREATE TABLE t (a TEXT PRIMARY)", "expected KEY"),
        ("CREATE TABLE t ()", "expected a column"),
        ("CREATE TABLE t (a TEXT REFERENCES u (b) ON DELETE x)", "expected CASCADE, RESTRICT or"),
        ("INSERT INTO t", "expected VALUES"),
        ("UPDATE t a = 1", "expected SET"),
        ("DELETE t", "expected FROM"),
        ("DROP t", "expected TABLE"),
    ],
)
def test_malformed_change(sql, message):
    """Malformed statements are refused."""
    with pytest.raises(ParseError, match=message):
        Database().execute(sql)


def test_records():
    """Rows can be had as mappings."""
    assert shop().execute("SELECT id, name FROM item LIMIT 1").records() == [
        {"id": 1, "name": "tea"}
    ]


@pytest.mark.parametrize("sql", ["SELECT id FROM item", "SELECT 1, 2", "SELECT 1 LIMIT 0"])
def test_no_single_value(sql):
    """A single value can be asked for only where there is one."""
    with pytest.raises(DataError, match="expected one value"):
        shop().execute(sql).value  # noqa: B018


def test_quoted_names():
    """Names in double quotes may be anything and keep their case."""
    db = Database()
    db.script('CREATE TABLE "My table" ("select" TEXT); INSERT INTO "My table" VALUES (\'x\')')
    assert db.execute('SELECT "select" FROM "My table"').records() == [{"select": "x"}]
