"""SQL of a model is hostile: what it may not do, read, take, or change of what is judged."""

from __future__ import annotations

import resource
import sqlite3

import gymnasium
import pytest

from agentgym.envs.database.engine import guard
from agentgym.envs.database.engine.clock import NOW
from agentgym.envs.database.engine.database import LENGTH, STEPS, Database, SqlError
from agentgym.envs.database.engine.guard import Guard
from agentgym.envs.database.engine.tables import Column, Table

BOOKS = Table(
    "book",
    (Column("id", "INTEGER PRIMARY KEY"), Column("name", "TEXT"), Column("price", "INTEGER")),
    tuple((number, f"Ada{number}", number * 3) for number in range(1, 25)),
)
DOUBLED = ", ".join(
    ["c0 AS (SELECT 1 AS x)"]
    + [f"c{n} AS (SELECT 1 AS x FROM c{n - 1}, c{n - 1})" for n in range(1, 30)]
)
FOLDED, FLAT, CHAINED = (
    "SELECT id AS x FROM book",
    "SELECT id AS x FROM book",
    "c0 AS (SELECT 1 AS x)",
)
for _level in range(1, 6):
    FOLDED = f"SELECT coalesce({','.join('x' * 40)}) AS x FROM ({FOLDED})"
    FLAT = f"SELECT {','.join(['x+x+x y'] + ['1'] * 9)} FROM (/**/{FLAT}) ORDER BY y+y+y+y+y+y"
for _level in range(1, 30):
    CHAINED += f", c{_level} AS (SELECT x + x AS x FROM c{_level - 1})"
NAMELESS = "SELECT 1 AS a"
for _level in range(5):  # SQLite takes every letter beyond ASCII for part of a name.
    NAMELESS = f"WITH @ AS ({NAMELESS}) SELECT a0.a FROM {', '.join(f'@ a{n}' for n in range(40))}"
HIDDEN = (
    DOUBLED.replace(" AS (", " AS/**/NOT MATERIALIZED\n(")
    .replace("FROM c", 'FROM "C')
    .replace(", c", ", `c")
)
ESCAPES = (
    "ATTACH 'stolen.db' AS x", "DETACH main", "VACUUM INTO 'stolen.db'",
    "PRAGMA writable_schema = 1",
    "PRAGMA table_info(book)", "SELECT load_extension('x')", "SELECT writefile('a', 'b')",
    "SELECT readfile('/etc/passwd')", "SELECT edit('a')", "SELECT fts3_tokenizer('simple')",
    "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)", "CREATE VIRTUAL TABLE x USING fts5(a)",
    "CREATE VIEW v AS SELECT 1", "DROP TABLE book", "ALTER TABLE book RENAME TO b", "REINDEX",
    "CREATE TRIGGER t AFTER UPDATE ON book BEGIN DELETE FROM book; END", "BEGIN", "COMMIT",
    "SAVEPOINT a", "ROLLBACK", "ANALYZE", "SELECT * FROM pragma_table_info('book')",
    "SELECT count(*) FROM pragma_database_list", "SELECT * FROM dbstat",
    "SELECT * FROM sqlite_dbpage",
    "SELECT count(*) FROM json_each('[1]')", "UPDATE sqlite_master SET sql = 'x'",
    "DELETE FROM sqlite_schema", "EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT * FROM book",
    "/* SELECT */ PRAGMA database_list", "SELECT 1; DELETE FROM book", "", ";",
    "SELECT 1 \0", "\ud800",
)  # fmt: skip
"""They reach for files, other tables, the schema, or the machine."""
CHANCE = (
    "SELECT random()", "SELECT abs(random()) FROM book", "SELECT randomblob(8)", "SELECT changes()",
    "SELECT last_insert_rowid()", "SELECT sqlite_version()", "SELECT sqlite_source_id()",
    "SELECT datetime('now', 'localtime')", "SELECT strftime('%s', 'now', 'utc')",
)  # fmt: skip
"""They have another answer on another day or machine."""
BOMBS = (
    "SELECT zeroblob(1000000000)", "SELECT printf('%.*c', 1000000000, 'x')",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
    "WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c",
    f"WITH {DOUBLED} SELECT count(*) FROM c29", f"WITH {HIDDEN} SELECT count(*) FROM c29",
    f"WITH {DOUBLED.replace(' AS (SELECT 1 AS x', '(x) AS (SELECT 1')} SELECT count(*) FROM c29",
    "WITH 'a\"b' AS (SELECT 1) SELECT * FROM \"a\"\"b\", [a\"b]",
    FOLDED, FLAT, f"WITH {CHAINED} SELECT x FROM c29", NAMELESS.replace("@", "\u00a0"),
    NAMELESS.replace("@", "materialized"), NAMELESS.replace("@", "\u00a0$"),
    "INSERT INTO book VALUES (9223372036854775807, 'x', 1), (NULL, 'y', 2)",
    f"DELETE FROM book WHERE id IN (WITH {DOUBLED} SELECT x FROM c29)",
    "SELECT count(*) FROM book a, book b, book c, book d, book e, book f",
    "SELECT a.name FROM book a, book b, book c, book d ORDER BY a.name || b.name || c.name",
    "SELECT group_concat(a.name || b.name) FROM book a, book b, book c",
    "SELECT " + "||".join(["name"] * 90) + " || (SELECT group_concat(name || name || name || name "
    "|| name || name || name || name || name || name || name || name || name) FROM book) FROM book",
    "INSERT INTO book SELECT NULL, a.name, 1 FROM book a, book b, book c, book d",
    "SELECT " + "(" * 300 + "1" + "+1)" * 300, "SELECT 1" + "+1" * 1500,
    "SELECT sum(9223372036854775807) FROM book",
    f"SELECT * FROM {', '.join(f'book t{n}' for n in range(64))}",
)  # fmt: skip
"""They take time or memory."""
LONG = (
    "SELECT 1" + " UNION SELECT 1" * 200, "SELECT " + ", ".join("*" * 300) + " FROM book",
    f"SELECT name LIKE '{'%a' * 200}' FROM book",
)  # fmt: skip
"""They exceed limits of SQLite."""
HAS_LIMITS = pytest.mark.skipif(
    not guard.LENGTH_IS_BOUNDED, reason="Python 3.10 cannot set the limits of SQLite"
)
STATEMENTS = (*ESCAPES, *CHANCE, *BOMBS, *(pytest.param(sql, marks=HAS_LIMITS) for sql in LONG))


@pytest.fixture(scope="module")
def peak() -> int:
    """Memory of this process before the first bomb, in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("sql", STATEMENTS, ids=lambda sql: repr(sql[:40]))
def test_a_hostile_statement_is_answered_with_words_and_changes_nothing(sql, peak, tmp_path):
    database = Database((BOOKS,))
    contents_before = database.contents()
    with pytest.raises(SqlError) as caught:
        database.execute(sql)
    assert str(caught.value) and database.contents() == contents_before and not database.changed
    assert database.execute("SELECT count(*) FROM book").rows == ((24,),)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < peak + 64 * 1024
    database.close()


def test_what_is_compiled_is_asked_about_too():
    """The first word of a statement is one wall; SQLite's questions are another behind it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(BOOKS.definition())
    rules = Guard(["book"])
    connection.set_authorizer(rules.authorize)
    for sql in (text for text in ESCAPES[:30] if text != "REINDEX"):  # there is no index
        with pytest.raises(sqlite3.Error):
            connection.execute(sql)
    connection.close()


def test_harmless_statements_are_carried_out():
    database = Database((BOOKS,))
    for sql in (
        "WITH x AS (SELECT * FROM book) SELECT count(*) FROM x",
        "with x as (select price from book), y as (select max(price) as m from x) "
        "select m from y, x",
        "SELECT count(*) FROM (SELECT 1 FROM book)", "VALUES (1), (2)", "SELECT 1;",
        "SELECT name, rank() OVER (ORDER BY price DESC) FROM book LIMIT 3",
        "SELECT * FROM sqlite_master", "-- price\nSELECT price FROM `book` WHERE [id] = 1",
        "SELECT a.name FROM book a JOIN book b ON a.price = 2 * b.price WHERE a.name LIKE 'ada1%'",
    ):  # fmt: skip
        assert database.execute(sql).rows
    assert not database.changed
    assert database.execute("INSERT INTO book (name) VALUES ('x') RETURNING id").rows == ((25,),)
    assert database.execute("UPDATE book SET price = 1 WHERE id < 4").changed == 3
    database.close()


def test_it_is_always_the_same_moment():
    database = Database((BOOKS,))
    clocks = ("datetime('now')", "CURRENT_TIMESTAMP", "date()", "strftime('%Y')")
    sql = f"SELECT {', '.join(clocks)}, date('2020-02-28', '+2 day')"
    assert database.execute(sql).rows == ((NOW, NOW, NOW[:10], NOW[:4], "2020-03-01"),)
    database.close()


def test_values_stay_short():
    database = Database((BOOKS,))
    for _ in range(20):
        try:
            database.execute("UPDATE book SET name = name || name")
        except SqlError as error:
            assert ("too big" if guard.LENGTH_IS_BOUNDED else "|| is not") in str(error)
    ((longest,),) = database.execute("SELECT max(length(name)) FROM book").rows
    assert int(str(longest)) <= LENGTH and STEPS < 10**6
    database.close()


@HAS_LIMITS
def test_a_result_and_a_second_try_are_bounded_alike():
    database = Database((BOOKS,))
    database.execute(
        "UPDATE book SET name = replace('1234567890', '1', replace('1234567890', '1', "
        "replace('1234567890', '1', replace('12345678', '1', name)))) || '\U0001f600'"
    )
    wide = database.execute(f"SELECT {', '.join(['a.name'] * 250)} FROM book a, book b")
    assert wide.more and sum(len(cell) for row in wide.rows for cell in row) < 1_100_000
    # A statement near the end of its steps is not refused for having been carried out before.
    crossed, outcomes = "SELECT count(*) FROM book a, book b, book c WHERE a.id < 13", set()
    for extra in range(0, 1200, 40):
        sql = f"{crossed} AND {' + '.join(['a.id'] * (extra // 40 + 1))} > 0"
        tries = []
        for _ in range(3):
            try:
                tries.append(database.execute(sql).rows)
            except SqlError:
                tries.append("too long")
        outcomes.add(str(tries[0]))
        assert tries == tries[:1] * 3, sql
    database.close()


def test_a_python_that_cannot_bound_values_refuses_what_makes_them_long(monkeypatch):
    monkeypatch.setattr(guard, "LENGTH_IS_BOUNDED", False)
    database = Database((BOOKS,))
    for sql in ("name || name", "replace(name, 'A', 'AAAA')", "group_concat(name)"):
        with pytest.raises(SqlError, match="not available"):
            database.execute(f"SELECT {sql} FROM book")
    assert database.execute("SELECT '|' FROM book").rows
    database.close()


def _environment(kind: str):
    """Open a task of a kind."""
    env = gymnasium.make("agentgym/Database-v0").unwrapped
    for index in range(env.tasks.len("test")):
        if env.tasks.task("test", index).content["kind"] == kind:
            env.reset(options={"split": "test", "index": index})
            return env
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["update", "delete", "insert", "total"])
def test_only_what_was_asked_counts(kind):
    env = _environment(kind)
    query, answer = env.session.problem.query, ", ".join(env.session.problem.answer) or "done"
    table = env.session.problem.tables[0].name
    start = env.snapshot()
    # Nothing done; done twice or too much; and done behind a wrong answer.
    spoilt = [f"sql[DELETE FROM {table} WHERE id = (SELECT min(id) FROM {table})]"]
    for actions in ([], [f"sql[{query}]", *spoilt], spoilt):
        env.restore(start)
        for action in (*actions, f"answer[{answer}]"):
            info = env.step(action)[4]
        assert info["success"] == (kind == "total" and not actions), actions
    env.restore(start)
    env.step(f"sql[{query}]")
    assert env.step(f"answer[{answer}]")[4]["success"]
    env.restore(start)
    env.step(f"sql[{query}]")
    assert env.step("answer[nothing]")[4]["success"] == (kind != "total")
    env.close()


def test_nothing_hidden_is_told():
    env = _environment("total")
    (answer,) = env.session.problem.answer
    _, info = env.reset(options={"task_id": env.task.id})
    for action in ("schema", "sql[SELECT * FROM sqlite_master]", "sql[SELECT nothing]"):
        observation, *_, info = env.step(action)
        assert answer not in observation.split()
        assert answer not in str({**info, "task_id": "", "state_key": ""}).split()
    env.close()
