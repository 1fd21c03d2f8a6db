"""Data sets as tasks: dealt alike everywhere, disjoint, and refused with the row's place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentgym.authoring import tool_tasks
from agentgym.errors import ConfigurationError, DataError

ROWS: list[dict[str, Any]] = [{"question": f"q{n % 40}", "n": n} for n in range(50)]


def test_one_data_set_is_dealt(tmp_path: Path) -> None:
    tasks = tool_tasks([*ROWS, ROWS[0]], name="own")
    assert [tasks.len(split) for split in tasks.splits] == [30, 11, 9]
    dealt = {split: {task.goal for task in tasks.iterate(split)} for split in tasks.splits}
    assert sum(map(len, dealt.values())) == 40  # equal questions are in the same split
    assert tasks.panel("test", 5).sha256 == tool_tasks(ROWS, name="own").panel("test", 5).sha256
    # The same on every machine: the panel's hash stands here.
    assert tasks.panel("test", 5).sha256[:8] == "57ae654d"
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, ROWS)))
    assert tool_tasks(file, name="own").panel("test", 5) == tasks.panel("test", 5)
    assert tool_tasks(tasks) is tasks


def test_splits_and_ids_can_be_named() -> None:
    rows = [{"id": f"r{n}", "text": str(n)} for n in range(3)]
    tasks = tool_tasks({"train": rows[:2], "test": rows[2:]}, name="own", goal="text")
    assert tasks.splits == ("train", "test") and tasks.find("own/r2").goal == "2"
    tasks = tool_tasks(rows, goal=lambda row: f"Say {row['text']}.")
    assert {tasks.task(split, 0).goal for split in tasks.splits} == {
        "Say 0.", "Say 1.", "Say 2."
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ([{"question": "a"}, {"question": "b"}], "at least 3 different"),
        ([*ROWS, {"text": "a"}], "row 50 to hold an instruction as goal or question"),
        ([*ROWS, "text"], "row 50 to be a mapping"),
        ([*ROWS, {"question": "a", "n": {1}}], "row 50 to be JSON"),
        ([{"question": str(n), "id": 1} for n in range(3)], "once"),
        ({"train": ROWS, "test": ROWS[:1]}, "disjoint"),
        ({"train": ROWS, "test": []}, "'test'"),
    ],
)
def test_bad_rows_are_refused(source: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        tool_tasks(source)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.jsonl"):
        tool_tasks(tmp_path / "nothing.jsonl")
