"""Tables of episodes: the same columns for every family, nothing lost, read by ``datasets``."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gymnasium
import pytest

from agentgym.core.hooks import Verdict
from agentgym.episodes import (
    ChatOptions,
    Episode,
    RecordedState,
    Turn,
    append_episode,
    export,
    from_row,
    read_any,
    read_episodes,
    to_row,
)
from agentgym.episodes.exporter import new_path
from agentgym.episodes.table_rows import EPISODE, STATE, TURN, schema
from agentgym.errors import ConfigurationError, DataError
from agentgym.registration import FAMILIES
from tests.cli.test_commands import run, wide
from tests.episodes.test_rescorer import recorded
from tests.toy import TOY_ID

__all__ = ["wide"]
HOSTILE = "lone \ud800, NUL \x00, \u2028 <script> 😀 \\ud83d"


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    """One of every family, with a slip; an unseeded one of the toy; one with hostile text."""
    slip = ("this is not an action",)
    families = [recorded(gymnasium.make(entry.id), 5, slip, split="train") for entry in FAMILIES]
    toy = recorded(gymnasium.make(TOY_ID), None, split="test")
    odd = replace(toy.turns[0], raw_text=HOSTILE, action=HOSTILE, prompt_tokens=None)
    return [*families, toy, replace(toy, turns=(odd, *toy.turns[1:]), goal=HOSTILE, split="valid")]


@pytest.fixture
def path(tmp_path: Path, episodes: list[Episode]) -> Path:
    for episode in episodes:
        append_episode(tmp_path / "e.jsonl", episode)
    return tmp_path / "e.jsonl"


@pytest.mark.parametrize("line", ["{", "[1]", '{"seed": NaN}', '{"a": ' + "[" * 5000, "\udcff"])
def test_a_damaged_line_of_an_export_is_named(tmp_path: Path, line: str) -> None:
    episode = recorded(gymnasium.make(TOY_ID), 3)
    append_episode(tmp_path / "e.jsonl", episode)
    export(tmp_path / "e.jsonl", tmp_path / "rows.jsonl", "jsonl")
    with (tmp_path / "rows.jsonl").open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(DataError, match=r"rows\.jsonl, line [12]: "):
        list(read_any(tmp_path / "rows.jsonl"))


def load(kind: str, cache: Path, **options: Any) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.load_dataset(kind, cache_dir=str(cache / "cache"), **options)


def test_the_columns_are_the_fields_of_a_record() -> None:
    state, turn = ({entry.name for entry in fields(cls)} for cls in (RecordedState, Turn))
    assert set(STATE) == state and set(TURN) == turn - {"after"} | state
    derived = {"format", "success", "score", "reward", "num_turns"}
    assert set(EPISODE) == {entry.name for entry in fields(Episode)} | derived


def test_a_row_holds_the_whole_episode(episodes: list[Episode]) -> None:
    judged = replace(
        episodes[0].turns[0], verdicts={"judge": Verdict("k", None, "HTTP 500", 1, 7, 2)}
    )
    episodes[0] = replace(episodes[0], turns=(judged, *episodes[0].turns[1:]))
    for episode in episodes[:-1]:
        assert from_row(to_row(episode)) == episode
    row = to_row(episodes[-1])
    assert row["goal"] == row["turns"][0]["raw_text"] == HOSTILE.replace("\ud800", "?")


def test_parquet_is_read_by_datasets(tmp_path: Path, path: Path, episodes: list[Episode]) -> None:
    report = export(path, tmp_path / "e.parquet", "parquet")
    assert (report.episodes, report.exported, report.rows) == (len(episodes),) * 3
    files = str(tmp_path / "e.parquet")
    rows = load("parquet", tmp_path, data_files=files, split="train")
    assert list(rows) == [to_row(episode) for episode in episodes]
    streamed = load("parquet", tmp_path, data_files=files, split="train", streaming=True)
    assert next(iter(streamed)) == to_row(episodes[0])


def test_the_types_are_those_of_every_family(tmp_path: Path, episodes: list[Episode]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for number, episode in enumerate([*episodes, replace(episodes[0], turns=(), details={})]):
        source, out = tmp_path / f"{number}.jsonl", tmp_path / f"{number}.parquet"
        append_episode(source, episode)
        export(source, out, "parquet")
        assert parquet.read_schema(out).equals(schema())


def test_rows_are_written_in_batches(
    tmp_path: Path, path: Path, episodes: list[Episode], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("agentgym.episodes.exporter.ROWS", 2)
    export(path, tmp_path / "rows.parquet", "parquet")
    groups = parquet.ParquetFile(tmp_path / "rows.parquet").metadata.num_row_groups
    assert groups == (len(episodes) + 1) // 2
    monkeypatch.setattr("agentgym.episodes.exporter.CHARACTERS", 1)
    export(path, tmp_path / "characters.parquet", "parquet")
    groups = parquet.ParquetFile(tmp_path / "characters.parquet").metadata.num_row_groups
    assert groups == len(episodes)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "datasets", "atif", "records"])
def test_what_was_exported_is_read_again(form: Any, tmp_path: Path, path: Path) -> None:
    out = tmp_path / f"out.{form}"
    export(path, out, form)
    # Lone surrogates are lost in most forms, as in rows.
    expected = [from_row(to_row(episode)) for episode in read_episodes(path)]
    exported = [from_row(to_row(episode)) for episode in read_any(out)]
    assert sorted(map(repr, exported)) == sorted(map(repr, expected)) and len(exported) > 5
    assert exported == expected or form == "datasets"


def test_a_file_of_something_else_is_named(tmp_path: Path, path: Path) -> None:
    assert list(read_any(path)) == list(read_episodes(path))
    export(path, tmp_path / "chats.jsonl", "sft")
    with pytest.raises(DataError, match=r"got conversations in .*export the records"):
        list(read_any(tmp_path / "chats.jsonl"))
    with pytest.raises(DataError, match="without any of these"):
        list(read_any(tmp_path))
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="cannot be read"):
        list(read_any(tmp_path / "torn.parquet"))
    with pytest.raises(DataError, match="expected a file of episodes"):
        list(read_any(tmp_path / "gone.jsonl"))
    row = to_row(next(iter(read_episodes(path))))
    for broken in ({**row, "turns": 3}, {**row, "options": "{"}, {**row, "format": "other"}):
        (tmp_path / "rows.jsonl").write_text(json.dumps(broken))
        with pytest.raises(DataError, match="expected"):
            list(read_any(tmp_path / "rows.jsonl"))


def test_json_lines_are_the_same_rows(tmp_path: Path, path: Path, episodes: list[Episode]) -> None:
    export(path, tmp_path / "rows.jsonl", "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert rows == [to_row(episode) for episode in episodes]
    data_set = load("json", tmp_path, data_files=str(tmp_path / "rows.jsonl"), split="train")
    assert data_set["task_id"] == [episode.task_id for episode in episodes]


def test_a_spreadsheet_computes_nothing(tmp_path: Path, episodes: list[Episode]) -> None:
    path, texts = tmp_path / "odd.jsonl", ['=HYPERLINK("x")', 'a,"b"\nc', "-1", "buy", "\0=1"]
    for text in texts:
        append_episode(path, replace(episodes[0], goal=text))
    export(path, tmp_path / "e.csv", "csv")
    with (tmp_path / "e.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["goal"] for row in rows] == [f"'{texts[0]}", texts[1], "'-1", "buy", "'\ufffd=1"]
    assert [float(row["score"]) for row in rows] == [episodes[0].score] * 5


def test_a_data_set_has_the_splits_of_the_records(tmp_path: Path, path: Path) -> None:
    odd = replace(next(read_episodes(path)), split="my-split")
    append_episode(path, odd)
    export(path, tmp_path / "set", "datasets")
    data_set = load(str(tmp_path / "set"), tmp_path)
    episodes = list(read_episodes(path))
    assert {name: len(rows) for name, rows in data_set.items()} == {
        "train": len(FAMILIES), "test": 1, "valid": 1, "my_split": 1
    }  # fmt: skip
    assert data_set["my_split"][0] == to_row(odd)
    assert list(data_set["train"]) == [to_row(episode) for episode in episodes[: len(FAMILIES)]]


def test_filters_and_reasons(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    good = recorded(gymnasium.make(TOY_ID), 3)
    half = replace(good, turns=good.turns[:1], stop_reason="token_limit")
    unbegun = replace(half, turns=(), stop_reason="error", start=replace(good.start, state_key=""))
    for episode in (good, half, good, unbegun):
        append_episode(path, episode)
    with path.open("a") as file:
        file.write(good.to_line()[:50])
    flags = ["export", str(path), "--to", "jsonl"]
    code, out, _ = run(capsys, *flags, "--only-successes", str(tmp_path / "a"))
    assert code == 0
    assert "2 episodes written to " in out and "in 2 rows, 2 left out (not solved: 1; " in out
    assert "the environment never began: 1). Skipped: line 5 is cut off" in out
    code, out, _ = run(capsys, *flags, "--min-score", "0.99", "--json", str(tmp_path / "b"))
    assert code == 0 and json.loads(out) == {
        "episodes": 4,
        "exported": 2,
        "rows": 2,
        "left_out": {"score below 0.99": 1, "the environment never began": 1},
        "torn": [5],
    }
    code, out, _ = run(capsys, *flags, "--min-score", "0.01", str(tmp_path / "c"))
    assert "3 episodes written" in out
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b", "c", "e.jsonl"]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--to", "jsonl", "--min-score", "2"], "expected --min-score to be a score from 0 to 1"),
        (["--to", "parquet", "--text", "action"], "with --to sft only, got --to parquet"),
        (["--to", "jsonl", "--only-successes"], "but all 1 are left out (1: not solved)"),
        (["--to", "xlsx"], "xlsx"),
    ],
)
def test_bad_input(capsys: Any, tmp_path: Path, flags: list[str], words: str) -> None:
    failing = recorded(gymnasium.make(TOY_ID), 3, ("press pink",) * 8)
    append_episode(tmp_path / "e.jsonl", failing)
    code, out, err = run(capsys, "export", str(tmp_path / "e.jsonl"), *flags, str(tmp_path / "o"))
    assert code == 2 and words in err and out == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["e.jsonl"]


def test_nothing_is_replaced_and_nothing_appears_in_part(tmp_path: Path, path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected an unused name"):
        export(path, path, "jsonl")
    with path.open("a") as file:
        file.write('{"format": "other"}\n')
    for form in ("jsonl", "csv", "parquet", "datasets"):
        with pytest.raises(DataError, match="line"):
            export(path, tmp_path / "out", form)
    with pytest.raises(ConfigurationError, match="expected a form among parquet"):
        export(path, tmp_path / "out", "xlsx")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="with the form sft only"):
        export(path, tmp_path / "out", "jsonl", chats=ChatOptions())
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="expected a writable path"):
        export(path, tmp_path / "file" / "out", "jsonl")
    with pytest.raises(RuntimeError), new_path(tmp_path / "out") as scratch:
        scratch.write_text("half")
        raise RuntimeError
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["e.jsonl", "file"]


def test_numbers_of_more_than_64_bits_are_refused(tmp_path: Path) -> None:
    episode = replace(recorded(gymnasium.make(TOY_ID), 3), seed=2**63)
    append_episode(tmp_path / "e.jsonl", episode)
    with pytest.raises(DataError, match="numbers of at most 64 bits"):
        export(tmp_path / "e.jsonl", tmp_path / "out", "parquet")
