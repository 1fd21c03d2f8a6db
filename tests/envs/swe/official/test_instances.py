"""Sets of instances: from files, folders and the hub."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.official.instances import OfficialInstances
from agentgym.errors import ConfigurationError, DataError, DependencyNotInstalled, TaskNotFound
from tests.envs.swe.official.sample_rows import ROWS, swe_bench, swe_gym, swe_smith


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
        write(tmp_path / "rows.jsonl", *rows), data_set="swe-gym", skip_broken_rows=True
    )
    assert (instances.len("train"), len(instances.left_out)) == (1, 2)
    assert re.match("expected text in repo, got None; in .*line 1$", instances.left_out[0])


@pytest.mark.parametrize(("first", "second"), permutations(ROWS, 2))
def test_rows_of_several_sets_in_one_file_are_refused(
    tmp_path: Path, first: str, second: str
) -> None:
    """One repository in the forms of its publishers, of which each has images of its own."""
    rows = [ROWS[first](), ROWS[second](instance_id="quiet__ledger-8")]
    file = write(tmp_path / "mixed.jsonl", *rows)
    alike = {"swe-bench", "swe-bench-verified"}
    if {first, second} == alike:
        assert OfficialInstances(file).len("test") == 2
        return
    with pytest.raises(DataError, match=f"rows of {first}.* got one of {second}; give each"):
        OfficialInstances(file)
    assert OfficialInstances(file, skip_broken_rows=True).left_out[0].startswith("expected rows of")


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="every instance_id once, got 'Quiet__ledger-7' again"):
        OfficialInstances(write(tmp_path / "rows.jsonl", swe_gym(), swe_gym()))


def test_rows_that_stand_twice_can_be_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", swe_gym(), swe_gym(), swe_gym(instance_id="c"))
    instances = OfficialInstances(path, skip_broken_rows=True)
    assert instances.len("train") == 2
    [left_out] = instances.left_out
    assert re.match("expected every instance_id once, .*line 2$", left_out)


def test_nothing_but_broken_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", swe_gym(patch=""), swe_gym(problem_statement=None))
    with pytest.raises(DataError, match=r"none; of 2 broken ones: expected text in patch.*line 1"):
        OfficialInstances(path, skip_broken_rows=True)


def test_an_environment_plays_a_set_without_its_broken_rows(tmp_path: Path) -> None:
    rows = [
        swe_smith(),
        swe_smith(instance_id="a", problem_statement=""),
        swe_smith(instance_id="b"),
    ]
    path = write(tmp_path / "train.jsonl", *rows)
    with pytest.raises(DataError, match=r"problem_statement, got ''; in .*skip_broken_rows=True"):
        SWEEnv(data=path)
    env = SWEEnv(data=path, skip_broken_rows=True)
    assert env.tasks.len("train") == 2
    [left_out] = env.tasks.left_out
    assert re.match("expected text in problem_statement, got ''; in .*line 2$", left_out)
    with pytest.raises(ConfigurationError, match="only with rows of a published set"):
        SWEEnv(skip_broken_rows=True)


def test_a_json_file_as_swe_bench_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "swe-bench.json"
    path.write_text(json.dumps([swe_bench(), swe_bench(instance_id="a__b-1")]))
    assert OfficialInstances(path).len("test") == 2


def test_folders_of_save_to_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_list([swe_bench(), swe_bench(instance_id="a__b-1")])
    rows.save_to_disk(str(tmp_path / "one"))
    datasets.DatasetDict({"dev": rows}).save_to_disk(str(tmp_path / "several"))
    single, several = OfficialInstances(tmp_path / "one"), OfficialInstances(tmp_path / "several")
    assert (single.splits, single.len("test")) == (("test",), 2)
    assert (several.splits, several.len("valid")) == (("valid",), 2)
    assert single.instance("test", 0) == several.instance("valid", 0)


def test_a_folder_of_save_to_disk_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state.json").write_text("{")
    pytest.importorskip("datasets")
    with pytest.raises(DataError, match=r"which cannot be read .*to_parquet or to_json"):
        OfficialInstances(tmp_path)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DependencyNotInstalled, match="'datasets'"):
        OfficialInstances(tmp_path)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"before_repo_set_cmd": "x", "selected_test_files_to_run": "[]"}, "SWE-bench Pro"),
        ({"F2P": "[]", "P2P": "[]"}, "SWE-PolyBench"),
    ],
)
def test_sets_that_cannot_be_played_are_named(
    tmp_path: Path, fields: dict[str, str], name: str
) -> None:
    row = swe_bench(fail_to_pass="['a']", pass_to_pass="[]", **fields)
    del row["FAIL_TO_PASS"], row["PASS_TO_PASS"]
    with pytest.raises(DataError, match=f"got rows of {name}: how its tests are run"):
        OfficialInstances(write(tmp_path / "rows.jsonl", row))


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
        self.requests: list[str] = []

    def load_dataset(self, name: str) -> dict[str, list[dict[str, Any]]]:
        self.requests.append(name)
        return self.splits


def test_a_set_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # nothing is asked
    hub = Hub(dev=[swe_bench(instance_id="a__b-1")], test=[swe_bench()], filtered=[swe_bench()])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    instances = OfficialInstances("swe-bench-lite")
    assert hub.requests == ["SWE-bench/SWE-bench_Lite"]
    assert instances.name == "swe-bench-lite"
    assert instances.splits == ("valid", "test")  # "filtered" is no split of its own
    assert instances.instance("test", 0).details["data_set"] == "swe-bench-lite"
    OfficialInstances("someone/SWE-bench-copy", data_set="swe-bench")
    assert hub.requests[1:] == ["someone/SWE-bench-copy"]


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
    process = subprocess.run(
        [sys.executable, "-c", OFFLINE], env=variables, capture_output=True, text=True
    )
    error, last = process.stdout.strip().splitlines()
    assert "SWE-Gym/SWE-Gym" in error and "name their folder or a file of rows" in error
    assert last == "True False" and "Retrying" not in process.stderr


def test_the_hub_needs_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(DependencyNotInstalled, match=r"'datasets'.*-e \"\.\[swe\]"):
        OfficialInstances("swe-gym")
