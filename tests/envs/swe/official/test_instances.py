"""Sets of instances: from files, folders and the hub."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from agentgym.envs.swe.official.instances import OfficialInstances
from agentgym.errors import ConfigurationError, DataError, DependencyNotInstalled, TaskNotFound
from tests.envs.swe.official.sample_rows import ROWS, swe_bench, swe_gym


def write(path: Path, *rows: Any) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ROWS)
def test_a_file_of_each_set(tmp_path: Path, name: str) -> None:
    instances = OfficialInstances(write(tmp_path / "rows.jsonl", ROWS[name]()))
    assert instances.data_set is not None
    assert (instances.data_set.name, instances.recognised) == (name, True)
    assert instances.splits == (instances.data_set.split,)
    [split] = instances.splits
    assert instances.len(split) == 1
    instance = instances.instance(split, 0)
    assert instances.find(instance.id) == (split, 0)


@pytest.mark.parametrize("name", ["swe-gym", "swe-bench-verified", "swe-rebench", "r2e-gym"])
def test_parquet_gives_what_json_lines_give(tmp_path: Path, name: str) -> None:
    rows = [ROWS[name]()]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "rows.parquet")
    table = OfficialInstances(tmp_path / "rows.parquet", data_set=name)
    lines = OfficialInstances(write(tmp_path / "rows.jsonl.gz", *rows), data_set=name)
    [split] = table.splits
    assert table.instance(split, 0) == lines.instance(split, 0)
    assert not table.recognised
    assert lines.name == "rows"


def test_a_folder_as_copied_from_the_hub(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / ".cache").mkdir()
    write(tmp_path / ".cache" / "train.jsonl", swe_gym())
    write(tmp_path / "data" / "train-00000-of-00002.jsonl", swe_gym(instance_id="a__b-1"))
    write(tmp_path / "data" / "train-00001-of-00002.jsonl", swe_gym(instance_id="a__b-2"))
    write(tmp_path / "data" / "dev-00000-of-00001.jsonl.gz", swe_gym(instance_id="a__b-3"))
    instances = OfficialInstances(tmp_path)
    assert instances.splits == ("train", "valid")
    ids = [instances.instance("train", index).id for index in range(instances.len("train"))]
    assert ids == ["a__b-1", "a__b-2"]
    assert instances.find("a__b-3") == ("valid", 0)


def test_what_is_not_there(tmp_path: Path) -> None:
    instances = OfficialInstances(write(tmp_path / "rows.jsonl", swe_gym()))
    with pytest.raises(TaskNotFound, match=r"one of train; got 'test'"):
        instances.instance("test", 0)
    with pytest.raises(TaskNotFound, match=r"index from 0 to 0 in split 'train'.*got 1"):
        instances.instance("train", 1)
    assert instances.find("x") is None


def test_the_namespace_of_images(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", swe_gym())
    source = OfficialInstances(path, image_mirror="mirror.example/mine").instance("train", 0).source
    assert getattr(source, "image", "").startswith("mirror.example/mine/sweb.eval.")


def test_a_broken_row_is_named_by_file_line_and_field(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", swe_gym(), swe_gym(instance_id="b", FAIL_TO_PASS="x"))
    with pytest.raises(DataError, match=r"JSON in FAIL_TO_PASS, got 'x'; in .*rows\.jsonl, line 2"):
        OfficialInstances(path)


def test_broken_rows_are_left_out_and_counted_only_when_asked(tmp_path: Path) -> None:
    rows = [swe_gym(repo=None), swe_gym(), swe_gym(instance_id="c", patch="")]
    instances = OfficialInstances(
        write(tmp_path / "rows.jsonl", *rows), data_set="swe-gym", skip_broken=True
    )
    assert (instances.len("train"), instances.broken) == (1, 2)
    assert "text in repo, got None; in " in instances.first_problem


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="every instance_id once, got 'Quiet__ledger-7' again"):
        OfficialInstances(write(tmp_path / "rows.jsonl", swe_gym(), swe_gym()))


def test_no_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(swe_gym()) + "\n{broken\n")
    with pytest.raises(DataError, match=r"JSON object in .*rows\.jsonl, line 2, got '{broken"):
        OfficialInstances(path)


def test_sources_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is none"):
        OfficialInstances(write(tmp_path / "empty.jsonl"))
    with pytest.raises(DataError, match=r"ends with \.jsonl.*notes\.txt"):
        OfficialInstances(write(tmp_path / "notes.txt", swe_gym()))
    with pytest.raises(DataError, match=r"files that end with .* got none"):
        (tmp_path / "folder").mkdir()
        OfficialInstances(tmp_path / "folder")
    with pytest.raises(DataError, match="which does not exist"):
        OfficialInstances(tmp_path / "gone.jsonl")
    with pytest.raises(ConfigurationError, match="expected the path of a file"):
        OfficialInstances(7)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="expected a data set among"):
        OfficialInstances(tmp_path, data_set="mine")


class Hub:
    """Stands for the package ``datasets``."""

    def __init__(self, **splits: list[dict[str, Any]]) -> None:
        self.splits = splits
        self.asked: list[str] = []

    def load_dataset(self, name: str) -> dict[str, list[dict[str, Any]]]:
        self.asked.append(name)
        return self.splits


def test_a_set_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # nothing is asked
    hub = Hub(dev=[swe_bench(instance_id="a__b-1")], test=[swe_bench()], filtered=[swe_bench()])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    instances = OfficialInstances("swe-bench-lite")
    assert hub.asked == ["SWE-bench/SWE-bench_Lite"]
    assert instances.name == "swe-bench-lite"
    assert instances.splits == ("valid", "test")  # "filtered" is no split of its own
    assert instances.instance("test", 0).details["data_set"] == "swe-bench-lite"
    OfficialInstances("someone/SWE-bench-copy", data_set="swe-bench")
    assert hub.asked[1:] == ["someone/SWE-bench-copy"]


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load_dataset(name: str) -> None:
        raise ConnectionError("offline")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    with pytest.raises(DataError, match=r"load the data set SWE-Gym/SWE-Gym .*offline.*folder"):
        OfficialInstances("swe-gym")


OFFLINE = """
import datasets, sys, time
from agentgym.envs.swe.official import OfficialInstances
from agentgym.errors import DataError
began = time.monotonic()
try:
    OfficialInstances("swe-gym")
except DataError as error:
    print(error)
print(time.monotonic() - began < 15, datasets.config.HF_HUB_OFFLINE)
"""


@pytest.mark.slow
def test_a_hub_that_takes_no_connection_is_not_asked_again_and_again() -> None:
    pytest.importorskip("datasets")
    with socket.create_server(("127.0.0.1", 0)) as server:
        nobody = f"http://127.0.0.1:{server.getsockname()[1]}"
    variables = {**os.environ, "HF_ENDPOINT": nobody, "HF_HUB_OFFLINE": "0", "HF_HOME": "/missing"}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE], env=variables, capture_output=True, text=True
    )
    error, last = done.stdout.strip().splitlines()
    assert "SWE-Gym/SWE-Gym" in error and "name their folder or a file of rows" in error
    assert last == "True False" and "Retrying" not in done.stderr


def test_the_hub_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DependencyNotInstalled, match=r"'datasets'.*-e \"\.\[swe\]"):
        OfficialInstances("swe-gym")
