"""Rows of AgentBench's dbbench, by `data=`."""

from __future__ import annotations

import hashlib
import json

import gymnasium
import pytest

from agentgym.envs.database.engine.table_hash import table_hash
from agentgym.errors import ConfigurationError, DataError, TaskNotFound

TABLE = {
    "table_name": "Chart history",
    "table_info": {
        "columns": [{"name": "#", "type": "INT"}, {"name": "Song", "type": "TEXT"}],
        "rows": [["1.", 'Blue "Sky"'], ["2.", "Red, Moon"]],
    },
}
QUESTION = {
    "description": "Which song is second?", "label": ["Red, Moon"], "table": TABLE,
    "add_description": "The table is Chart history.", "type": ["other"],
    "sql": {"query": "SELECT Song FROM `Chart history` WHERE `#` = '2.'"},
}  # fmt: skip
CHANGE = {
    "description": "Drop the first.", "table": [TABLE], "type": ["DELETE"], "answer_md5": "",
    "sql": {"query": "DELETE FROM `Chart history` WHERE `#` = '1.'"},
}  # fmt: skip


def write_rows(folder, *rows):
    path = folder / "standard.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_rows_are_played(tmp_path):
    replies = [("2.", "Red, Moon")]
    hashed = {**CHANGE, "answer_md5": f"[('{table_hash([replies])}',)]"}
    path = write_rows(tmp_path, QUESTION, CHANGE, hashed)
    env = gymnasium.make("agentgym/Database-v0", data=path, expert="oracle").unwrapped
    assert env.tasks.splits == ("test",) and env.tasks.len("test") == 3
    with pytest.raises(TaskNotFound, match="train"):  # nobody trains on what is tested
        env.tasks.len("train")
    for index in range(3):
        observation, info = env.reset(options={"index": index, "split": "test"})
        assert info["task_id"] == f"database/standard/test/{index}"
        assert observation.endswith(("second?", "first."))
        env.step("schema")
        while not info["stop_reason"]:
            info = env.step(env.demonstrator_action())[4]
        assert info["success"], index
        env.reset(options={"index": index, "split": "test"})
        if index:
            env.step('sql[UPDATE "Chart history" SET Song = 7 WHERE "#" = \'1.\']')
        assert not env.step("answer[Red]")[4]["success"]
    env.reset(options={"index": 0, "split": "test"})
    assert '"Chart history" ("#" TEXT, Song TEXT)' in env.step("schema")[0]


def test_the_hash_is_that_of_agentbench():
    def md5(text):
        return hashlib.md5(text.encode()).hexdigest()

    rows = [("a", None, 1), ("b", "c", 2)]
    hashes = sorted([md5("a,1")[:5], md5("b,c,2")[:5]])
    assert table_hash([rows]) == md5(",".join(hashes))
    assert table_hash([rows, []]) == "_".join(sorted([md5(",".join(hashes)), md5("")]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": []}, {"type": []}, {"table": {}}, {"description": None, "table": 3},
        {"table": {**TABLE, "table_name": "sqlite_x"}},
        {"table": {**TABLE, "table_info": {"columns": [{"name": "a"}], "rows": [["1", "2"]]}}},
        {"table": {**TABLE, "table_info": {"columns": [{"name": "a"}, {"name": "A"}], "rows": []}}},
        {**CHANGE, "sql": {"query": "DROP TABLE x"}},
    ],
)  # fmt: skip
def test_a_wrong_row_is_named(tmp_path, wrong):
    path = write_rows(tmp_path, QUESTION, {**QUESTION, **wrong})
    with pytest.raises(DataError, match="line 2"):
        gymnasium.make("agentgym/Database-v0", data=path, expert="oracle")


def test_files_need_the_expert_that_knows(tmp_path):
    path = write_rows(tmp_path, QUESTION)
    with pytest.raises(ConfigurationError, match="expert='oracle'"):
        gymnasium.make("agentgym/Database-v0", data=path, expert="reader")
    for missing in (tmp_path / "none.jsonl", write_rows(tmp_path)):
        with pytest.raises(DataError):
            gymnasium.make("agentgym/Database-v0", data=missing, expert="oracle")
