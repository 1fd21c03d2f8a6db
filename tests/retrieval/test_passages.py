"""Passages on disk: what is read is what was written, and damage is named."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import DataError
from agentgym.retrieval import Passage, passages
from agentgym.retrieval.passages import (
    OFFSETS,
    RECORDS,
    STORE_FACTS,
    PassageStore,
    PassageWriter,
    indexed_text,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=30)
EXAMPLES = [
    Passage("a", "Title", "Text\nof two lines"),
    Passage("", "", ""),
    Passage("c\n\0", "T\n", "\ud800 \u00e9 \U0001f469"),
]


def write(folder: Path, passages: list[Passage]) -> PassageStore:
    with PassageWriter(folder) as writer:
        assert [writer.add(passage) for passage in passages] == list(range(len(passages)))
        assert len(writer) == len(passages)
    return PassageStore(folder)


@settings(max_examples=60, deadline=None)
@given(passages=st.lists(st.builds(Passage, ANY_TEXT, ANY_TEXT, ANY_TEXT), max_size=8))
def test_written_data_is_read_back(
    passages: list[Passage], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = write(tmp_path_factory.mktemp("store"), passages)
    assert len(store) == len(passages)
    assert list(store) == passages == [store[row] for row in range(len(store))]


def test_the_parts_of_a_row(tmp_path: Path) -> None:
    store = write(tmp_path / "new" / "folder", EXAMPLES)
    for row, passage in enumerate(EXAMPLES):
        assert Passage(store.id(row), store.title(row), store.text(row)) == passage
    assert store.nbytes == sum((tmp_path / "new" / "folder" / n).stat().st_size
                               for n in (RECORDS, OFFSETS))  # fmt: skip


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_an_index_error(row: int, tmp_path: Path) -> None:
    with pytest.raises(IndexError, match="from 0 to 2"):
        write(tmp_path, EXAMPLES)[row]


def test_a_pickle_holds_the_path_and_another_process_reads_the_same(tmp_path: Path) -> None:
    store = write(tmp_path, EXAMPLES * 100)
    data = pickle.dumps(store)
    assert len(data) < 300
    code = f"import pickle; s = pickle.loads({data!r}); print(len(s), ascii(s[299].text))"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == f"300 {EXAMPLES[2].text!a}\n"


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = write(tmp_path, EXAMPLES)
    store.close()
    store.close()
    with pytest.raises(DataError, match="closed"):
        store[0]


def test_a_store_that_was_not_completed_is_refused(tmp_path: Path) -> None:
    write(tmp_path, EXAMPLES)
    with pytest.raises(RuntimeError), PassageWriter(tmp_path) as writer:  # over a complete one
        writer.add(EXAMPLES[0])
        raise RuntimeError
    with pytest.raises(DataError, match=f"{STORE_FACTS}.*build the index again"):
        PassageStore(tmp_path)


def test_systems_that_cannot_read_at_a_position_map_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passages, "HAS_PREAD", False)
    store = write(tmp_path, EXAMPLES)
    assert list(store) == EXAMPLES
    store.close()
    with pytest.raises(DataError, match="closed"):
        store[0]
    assert list(write(tmp_path, [])) == []


def test_a_file_that_becomes_shorter_is_found(tmp_path: Path) -> None:
    store = write(tmp_path, EXAMPLES)
    path = tmp_path / RECORDS
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="become shorter"):
        store[2]


def test_a_store_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, EXAMPLES).close()
    assert list(write(tmp_path, EXAMPLES[:1])) == EXAMPLES[:1]


@pytest.mark.parametrize("part", [RECORDS, OFFSETS, STORE_FACTS])
@pytest.mark.parametrize("data", [None, b"", b"[" * 99_999, b"[]", b'{"format": "other"}'])
def test_a_damaged_file_is_named(part: str, data: bytes | None, tmp_path: Path) -> None:
    write(tmp_path, EXAMPLES).close()
    (tmp_path / part).unlink() if data is None else (tmp_path / part).write_bytes(data)
    with pytest.raises(DataError, match=f"{part}.*build the index again"):
        PassageStore(tmp_path)


@pytest.mark.parametrize("key", ["passages", "bytes"])
@pytest.mark.parametrize("value", [-1, "3", None, 1.5, 10**30, 2])
def test_wrong_facts_are_refused(key: str, value: object, tmp_path: Path) -> None:
    write(tmp_path, EXAMPLES).close()
    facts = json.loads((tmp_path / STORE_FACTS).read_text())
    (tmp_path / STORE_FACTS).write_text(json.dumps({**facts, key: value}))
    with pytest.raises(DataError, match="build the index again"):
        PassageStore(tmp_path)


@pytest.mark.parametrize("part", [RECORDS, OFFSETS])
def test_damage_that_keeps_the_size_is_found_when_it_is_read(part: str, tmp_path: Path) -> None:
    write(tmp_path, EXAMPLES).close()
    path = tmp_path / part
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(DataError, match=f"passage 1 in .*{RECORDS}.*build the index again"):
        PassageStore(tmp_path)[1]


@pytest.mark.parametrize(("part", "place"), [("id", 8), ("title", 9), ("text", 10)])
def test_damaged_text_is_found_when_it_is_read(part: str, place: int, tmp_path: Path) -> None:
    write(tmp_path, [Passage("a", "b", "c")]).close()
    path = tmp_path / RECORDS
    data = bytearray(path.read_bytes())
    data[place] = 0xFF
    path.write_bytes(data)
    store = PassageStore(tmp_path)
    with pytest.raises(DataError, match=f"passage 0 in .*{RECORDS}.*build the index again"):
        getattr(store, part)(0)
    with pytest.raises(DataError, match=f"passage 0 in .*{RECORDS}"):
        list(store)


def test_a_pass_lets_go_of_what_it_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = [Passage(str(i), "title", "text " * 2000) for i in range(40)]
    store = write(tmp_path, sample)
    freed = []
    monkeypatch.setattr(passages, "_STRETCH", 10)
    monkeypatch.setattr(store, "_let_go", lambda: (freed.append(1), PassageStore._let_go(store)))
    assert list(store) == sample and len(freed) == 4
    assert store[3] == sample[3] and list(write(tmp_path / "none", [])) == []


def test_titles_count_twice() -> None:
    assert indexed_text(Passage("1", "Red Hat", "A hat.")) == "Red Hat\nRed Hat\nA hat."
