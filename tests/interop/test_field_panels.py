"""Panels as the files of other projects, played again from those files."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import agentgym
from agentgym.cli import main
from agentgym.errors import ConfigurationError
from agentgym.interop.field_panels import export_panel
from agentgym.interop.verl_agent import VerlAgentManager
from tests.envs.alfworld.data import shared_pack
from tests.envs.webshop.conftest import shared_data

parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    return rows


def _manifest(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / "panel.json").read_text())
    return data


def _assert_hash_is_of_the_tasks(folder: Path) -> None:
    """Recompute the hash as a program without this package would."""
    panel = _manifest(folder)
    digests = "".join(task["sha256"] for task in panel["tasks"])
    assert hashlib.sha256(digests.encode()).hexdigest() == panel["panel_sha256"]


@pytest.fixture(scope="module")
def webshop_data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The official small catalogue, unpacked."""
    folder = tmp_path_factory.mktemp("webshop")
    for packed in shared_data("webshop/catalogue").glob("*.json.gz"):
        (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return {
        "data": str(folder), "num_products": 1000, "goal_mode": "official",
        "split_mode": "official-index",
    }  # fmt: skip


@pytest.mark.slow
def test_webshop(webshop_data: dict[str, Any], tmp_path: Path) -> None:
    exported = export_panel("webshop", tmp_path / "p", num_tasks=3, seed=5, **webshop_data)
    assert exported.files == ("panel.json", "verl-agent.parquet", "agentgym-rl.json")
    assert "no questions" in exported.left_out["search-r1.parquet"]
    _assert_hash_is_of_the_tasks(tmp_path / "p")
    panel = _manifest(tmp_path / "p")
    assert panel["panel_sha256"] == exported.panel.sha256
    assert "data" not in panel["env_kwargs"] and str(tmp_path.parent) not in json.dumps(panel)
    rows = _rows(tmp_path / "p" / "verl-agent.parquet")
    assert [row["env_kwargs"]["goal_idx"] for row in rows] == [
        r["goal_idx"] for r in panel["tasks"]
    ]
    report = agentgym.evaluate(
        "random", "webshop", protocol="agentgym", env_kwargs=webshop_data,
        tasks=[str(tmp_path / "p" / "agentgym-rl.json")],
    )  # fmt: skip
    assert tuple(row.task_id for row in report.rows) == exported.panel.ids
    train = export_panel("webshop", tmp_path / "t", split="train", num_tasks=4, **webshop_data)
    assert all(task["goal_idx"] >= 1500 for task in _manifest(tmp_path / "t")["tasks"])
    assert train.panel.sha256 != exported.panel.sha256


@pytest.mark.slow
def test_alfworld(tmp_path: Path) -> None:
    data = str(shared_pack("valid_train.json.gz"))
    exported = export_panel("alfworld", tmp_path / "p", split="valid_train", num_tasks=2, data=data)
    _assert_hash_is_of_the_tasks(tmp_path / "p")
    rows = _rows(tmp_path / "p" / "verl-agent.parquet")
    for row in rows:
        assert row["env_kwargs"]["gamefile"].startswith("json_2.1.1/valid_train/")
        assert row["env_kwargs"]["gamefile"].endswith("/game.tw-pddl")
        assert row["ability"] == "agent" and row["prompt"][0]["role"] == "user"
    manager = VerlAgentManager("alfworld", tasks=2, split="valid_train", data=data)
    _, infos = manager.reset([row["env_kwargs"] for row in rows])
    assert tuple(info["task_id"] for info in infos) == exported.panel.ids
    manager.close()
    if "agentgym-rl.json" in exported.files:
        report = agentgym.evaluate(
            "random", "alfworld", protocol="agentgym", env_kwargs={"data": data}, horizon=2,
            tasks=[str(tmp_path / "p" / "agentgym-rl.json")],
        )  # fmt: skip
        assert tuple(row.task_id for row in report.rows) == exported.panel.ids
    else:
        assert "AgentGym has no item" in exported.left_out["agentgym-rl.json"]


@pytest.fixture
def questions(tmp_path: Path) -> dict[str, str]:
    passages = [("France", "Paris"), ("Italy", "Rome")]
    corpus, file = tmp_path / "corpus.jsonl", tmp_path / "test.jsonl"
    corpus.write_text(
        "".join(
            json.dumps({"id": city, "contents": f"{city}\n{city} is the capital of {country}."})
            + "\n"
            for country, city in passages
        )
    )
    file.write_text(
        "".join(
            json.dumps({"question": f"what is the capital of {country}", "golden_answers": [city]})
            + "\n"
            for country, city in passages
        )
    )
    return {"corpus": str(corpus), "questions": str(file)}


def test_search(questions: dict[str, str], tmp_path: Path) -> None:
    exported = export_panel("search", tmp_path / "p", **questions)
    assert exported.files == ("panel.json", "verl-agent.parquet", "search-r1.parquet")
    assert "numbers no tasks of search" in exported.left_out["agentgym-rl.json"]
    rows = _rows(tmp_path / "p" / "search-r1.parquet")
    assert [row["id"] for row in rows] == [*exported.panel.ids]
    for row in rows:
        assert row["reward_model"]["style"] == "rule" and row["ability"] == "fact-reasoning"
        assert row["reward_model"]["ground_truth"]["target"] == row["golden_answers"]
        assert row["question"].endswith("?") and row["question"] in row["prompt"][0]["content"]
    for row in _rows(tmp_path / "p" / "verl-agent.parquet"):
        assert row["env_kwargs"].keys() >= {"ground_truth", "question", "data_source"}
    assert str(tmp_path) not in (tmp_path / "p" / "panel.json").read_text()


def test_games_of_files_are_named(tmp_path: Path) -> None:
    tasks: Any = agentgym.make("textworld").get_wrapper_attr("tasks")
    story = tasks.story(tasks.task("test", 0))
    for path in (story, story.with_suffix(".json")):
        (tmp_path / f"the_game{path.suffix}").write_bytes(path.read_bytes())
    data = str(tmp_path / f"the_game{story.suffix}")
    export_panel("textworld", tmp_path / "p", data=data)
    (row,) = _rows(tmp_path / "p" / "verl-agent.parquet")
    assert row["env_kwargs"]["gamefile"] == "the_game"


def test_textworld_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["panels", "export", "textworld", str(tmp_path / "p"), "--num-tasks", "2"]
    assert main([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["files"] == ["panel.json", "verl-agent.parquet"]
    assert facts["panel_sha256"] == _manifest(tmp_path / "p")["panel_sha256"]
    ids = [row["env_kwargs"]["task_id"] for row in _rows(tmp_path / "p" / "verl-agent.parquet")]
    assert ids == [task["task_id"] for task in _manifest(tmp_path / "p")["tasks"]]
    assert main(command) == 2 and "exists" in capsys.readouterr().err
    with pytest.raises(ConfigurationError, match="panel of 1 to"):
        export_panel("textworld", tmp_path / "q", num_tasks=10**9)
    assert not (tmp_path / "q").exists()
