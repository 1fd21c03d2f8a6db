"""Questions of the user's own about CSV files and SQLite databases."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.core.env import TextEnv
from agentgym.envs.database.own.tables import MOST_ROWS, read_tables
from agentgym.errors import ConfigurationError, DataError

CSV = "id,product,price,note\n1,tea,3.50,\n2,milk,1.25,cold\n3,bread,2.00,007\n"
ASKED = {"question": "How many cost over 2?", "sql": "SELECT count(*) FROM sales WHERE price > 2"}
KNOWN = {"question": "Which has id 3?", "answer": "bread"}
CHANGE = {"question": "Delete the milk.", "sql": "DELETE FROM sales WHERE product = 'milk'"}


def make(folder: Path, *rows: Any, data: Any = None, name: str = "asked.jsonl") -> TextEnv:
    (folder / "sales.csv").write_text(CSV, encoding="utf-8")
    questions = folder / name
    questions.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    env = gymnasium.make(
        "agentgym/Database-v0", data=data or folder / "sales.csv", questions=questions
    ).unwrapped
    assert isinstance(env, TextEnv)
    return env


def shop(folder: Path) -> Path:
    path = folder / "shop"  # the ending says nothing
    with sqlite3.connect(path) as base:
        base.executescript(
            """
            CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(20) DEFAULT (random()));
            CREATE TABLE sale (item_id BIGINT REFERENCES item(id), sold DECIMAL(5, 2), raw BLOB);
            INSERT INTO item VALUES (1, 'tea'), (7, 'milk');
            INSERT INTO sale VALUES (7, 2.5, x'00ff'), (7, 1, NULL);
            CREATE VIEW secret AS SELECT 1;
            CREATE TRIGGER t AFTER INSERT ON item BEGIN DELETE FROM sale; END;
            CREATE VIRTUAL TABLE words USING fts5(a);
            """
        )
    base.close()
    return path


def test_columns_of_a_csv_are_numbers_where_all_values_are(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("\ufeff" + CSV + "\n", encoding="utf-8")
    (table,) = read_tables(tmp_path / "sales.csv")
    assert [tuple(column) for column in table.columns] == [
        ("id", "INTEGER"), ("product", "TEXT"), ("price", "REAL"), ("note", "TEXT"),
    ]  # fmt: skip
    # An empty value is none, and what is written as a number with zeros before it is a text.
    assert table.rows[0] == (1, "tea", 3.5, None) and table.rows[2][3] == "007"
    (tmp_path / "b.tsv").write_text("a b\tc\n1,5\t-2\n", encoding="utf-8")
    names = [table.name for table in read_tables(tmp_path)]
    assert names == ["b", "sales"]
    (spaced,) = read_tables([str(tmp_path / "b.tsv")])
    assert spaced.rows == (("1,5", -2),)
    assert read_tables([tmp_path / "sales.csv"])[0] == table


def test_tables_of_an_sqlite_file_are_copied_without_what_runs(tmp_path: Path) -> None:
    path = shop(tmp_path)
    old_text = path.read_bytes(), sorted(tmp_path.iterdir())
    item, sale, *more = read_tables(path)
    assert item.definition() == "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)"
    assert sale.definition() == (
        "CREATE TABLE sale (item_id INTEGER REFERENCES item, sold NUMERIC, raw BLOB)"
    )
    assert item.rows == ((1, "tea"), (7, "milk")) and sale.rows[0] == (7, 2.5, b"\x00\xff")
    # What a virtual table keeps its content in are plain tables.
    assert all(table.name.startswith("words_") for table in more)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == old_text
    env = make(
        tmp_path,
        {"question": "How much milk?", "sql": "SELECT sum(sold) FROM sale WHERE item_id = 7"},
        data=path,
    )
    env.reset(options={"split": "test", "index": 0})
    assert "item_id INTEGER REFERENCES item" in env.step("schema")[0]
    assert env.step("answer[3.5]")[4]["success"]


def test_each_kind_of_row_is_played(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{**row, "split": "test"} for row in (ASKED, KNOWN, CHANGE)]
    env = make(tmp_path, *rows, {"question": "Names?", "sql": "SELECT product FROM sales"})
    assert env.tasks.splits == ("train", "test") and env.tasks.len("test") == 3
    for index, (turns, kind) in enumerate([(2, "question"), (1, "question"), (2, "change")]):
        _, info = env.reset(options={"split": "test", "index": index})
        assert env.tasks.task("test", index).content["kind"] == kind
        assert env.tasks.oracle_turns(env.tasks.task("test", index)) == turns
        count = 0
        while not info["stop_reason"]:
            action = env.demonstrator_action()
            assert action is not None
            info, count = env.step(action)[4], count + 1
        assert info["success"] and count == turns
    env.reset(options={"split": "test", "index": 2})
    env.step("sql[DELETE FROM sales]")
    assert not env.step("answer[done]")[4]["success"]
    env.reset(options={"split": "test", "index": 2})
    assert not env.step("answer[done]")[4]["success"]
    for answer, is_right in (('["milk", "bread", "tea"]', True), ("bread, tea", False)):
        env.reset(options={"split": "train", "index": 0})
        assert env.step(f"answer[{answer}]")[4]["success"] is is_right
    assert caplog.text.count("no expert can parse your own data") <= 1


def test_files_name_splits_and_questions_are_dealt(tmp_path: Path) -> None:
    rows = [{**KNOWN, "question": f"Which has id {n}?"} for n in range(16)]
    sizes = {split: 2 for split in ("valid", "test")}
    env = make(tmp_path, *rows)
    assert {split: env.tasks.len(split) for split in env.tasks.splits} == {"train": 12, **sizes}
    assert make(tmp_path, *rows, name="train.jsonl").tasks.splits == ("train",)
    texts = [{task.goal for task in env.tasks.iterate(split)} for split in env.tasks.splits]
    assert len(set.union(*texts)) == sum(map(len, texts)) == 16


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([1], "expected an object with question"),
        ({"answer": "x"}, "expected a text as question, got None"),
        ({"question": " ", "answer": "x"}, "expected a text as question"),
        ({"question": "Q"}, "expected an answer or sql .*neither"),
        ({"question": "Q", "answer": [], "sql": ""}, "neither"),
        ({"question": "Q", "answer": {"a": 1}}, "expected an answer as a text"),
        ({"question": "Q", "answer": True}, "expected an answer as a text"),
        ({"question": "Q", "answer": ["x"] * 101}, "at most 100"),
        ({"question": "Q", "sql": 3}, "expected a statement as sql"),
        ({"question": "Q", "sql": "SELECT x FROM sales"}, "sql that runs, .*no such column"),
        ({"question": "Q", "sql": "ATTACH 'x' AS y"}, "sql that runs"),
        ({"question": "Q", "sql": "SELECT 1; DELETE FROM sales"}, "sql that runs"),
        ({"question": "Q", "sql": "SELECT id FROM sales WHERE id > 9"}, "return 1 to 100 values"),
        ({"question": "Q", "sql": "DELETE FROM sales WHERE id > 9"}, "changes none"),
        ({**KNOWN, "split": "dawn"}, "expected a split among"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: Any, reason: str) -> None:
    with pytest.raises(DataError, match=rf"{reason}.*, in line 2 of .*asked\.jsonl"):
        make(tmp_path, KNOWN, row)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv", b"", "names of columns in line 1"),
        ("a.csv", b"x,X\n1,2\n", "different names of columns in line 1"),
        ("a.csv", b"x,\n1,2\n", "names of columns in line 1"),
        ("a.csv", b'x,y\n"1\n2",3\n4\n', "expected 2 values, .* in line 4 of .*got 1"),
        ("a.csv", b'x,y\n"1"2,3\n', "cannot be read"),
        ("a.csv", b"x,y\n\xff,3\n", "cannot be read"),
        ("sqlite_x.csv", b"x\n1\n", "name of a table"),
        ("a.db", b"SQLite format 3\x00 and no more", "expected an SQLite database"),
        ("a.db", b"no database", "ends with .csv or .tsv, or an SQLite"),
        ("a.csv", b"x\n" + b"1\n" * (MOST_ROWS + 1), "at most 20,000 rows"),
        ("a.csv", ",".join(map(str, range(300))).encode(), "at most 200 columns"),
    ],
)
def test_tables_that_cannot_be_used_are_named(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{reason}") as raised:
        make(tmp_path, KNOWN, data=tmp_path / name)
    assert name in str(raised.value)


def test_arguments_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "SALES.tsv").write_text("a\n1\n", encoding="utf-8")
    wrong_answers = [
        (tmp_path / "none.csv", DataError, "does not exist"),
        (tmp_path / "empty", DataError, r"end with \.csv or \.tsv"),
        ([tmp_path / "sales.csv", tmp_path / "SALES.tsv"], DataError, "'sales' twice"),
        ([3], ConfigurationError, "CSV or SQLite file"),
    ]
    for data, kind, reason in wrong_answers:
        with pytest.raises(kind, match=reason):
            make(tmp_path, KNOWN, data=data)
    for arguments, reason in (
        ({"data": tmp_path / "sales.csv"}, "expected questions=FILE.jsonl beside tables"),
        ({"questions": tmp_path / "asked.jsonl"}, "expected questions together with data="),
        ({"data": tmp_path / "sales.csv", "questions": 3}, "questions to be the path"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            gymnasium.make("agentgym/Database-v0", **arguments)
    with pytest.raises(DataError, match="expected questions in"):
        make(tmp_path)
    with pytest.raises(DataError, match=r"ends with \.jsonl"):
        make(tmp_path, KNOWN, name="asked.txt")


def test_a_question_is_shown_with_what_it_takes_for_granted(tmp_path: Path) -> None:
    env = make(tmp_path, {**KNOWN, "evidence": "An id is a number.", "table": "sales"})
    assert env.reset(seed=0)[0] == f"An id is a number.\n{KNOWN['question']}"
    for row, reason in (
        ({**KNOWN, "options": ["tea", "bread"]}, "a question without options"),
        ({**KNOWN, "image": "1.png"}, "in words alone"),
        ({**KNOWN, "answer": True}, "expected an answer as a text"),
        ({**KNOWN, "answer": float("nan")}, "expected an answer as a text"),
    ):
        with pytest.raises(DataError, match=reason):
            make(tmp_path, row)


def test_no_rows_are_no_free_answer_to_how_many(tmp_path: Path) -> None:
    env = make(
        tmp_path, {"question": "How many?", "sql": "SELECT count(*) FROM sales WHERE id > 9"}
    )
    for answer, success in (("0", True), ("nan", False), ("null", False), ("%", False)):
        env.reset(seed=0)
        assert env.step(f"answer[{answer}]")[4]["success"] is success


def test_large_tables_can_be_searched(tmp_path: Path) -> None:
    lines = "\n".join(f"{n},{'long text ' * 20}{n}" for n in range(MOST_ROWS))
    (tmp_path / "big.csv").write_text(f"id,text\n{lines}\n", encoding="utf-8")
    row = {"question": "How many end so?", "sql": "SELECT count(*) FROM big WHERE text LIKE '%77'"}
    env = make(tmp_path, row, data=tmp_path / "big.csv")
    env.reset(options={"split": "test", "index": 0})
    assert env.step(f"sql[{row['sql']}]")[0].splitlines()[1] == "200"
    assert "1 rows changed" in env.step("sql[INSERT INTO big VALUES (-1, 'x')]")[0]
