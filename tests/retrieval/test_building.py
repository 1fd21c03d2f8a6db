"""Index folders: whole or not there, whatever happens, and opened by what they say."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError, DataError, DependencyNotInstalled, EnvFailure
from agentgym.retrieval import Passage, Retriever
from agentgym.retrieval import index_builder as building
from agentgym.retrieval.corpora.corpus import Corpus
from agentgym.retrieval.index_builder import IndexProgress, build_index, open_index
from agentgym.retrieval.passages import PassageWriter
from tests.retrieval.encoders import hashed
from tests.retrieval.killed_builds import ENGINES, Kill, forking, passages

EVERY = pytest.mark.parametrize("engine", ENGINES)


def opened(folder: Path) -> Retriever:
    return open_index(folder, hashed)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@EVERY
def test_what_is_built_is_opened(engine: str, tmp_path: Path) -> None:
    states: list[IndexProgress] = []
    folder = tmp_path / "deep" / "index"
    count = build_index(iter(passages()), folder, index=ENGINES[engine], progress=states.append)
    assert count == 20 and names(folder.parent) == ["index"]
    facts = json.loads((folder / "index.json").read_text())
    assert (facts["format"], facts["engine"], facts["passages"]) == (building.FORMAT, engine, 20)
    retriever = opened(folder)
    assert isinstance(retriever, Retriever)
    [[hit], none] = retriever.search(["number7", ""], 1)
    assert hit.passage == passages()[7] and none == []
    assert [state.stage for state in states] == sorted(
        (state.stage for state in states), reverse=True
    )
    assert states[-1] == IndexProgress("indexing", 20, 1.0)
    assert IndexProgress("reading", 20, 1.0) in states
    retriever.close()
    retriever.close()
    with pytest.raises(EnvFailure, match="closed"):
        retriever.search(["number7"], 1)


def test_a_path_is_read_as_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "cats.md").write_text("# Cats\nCats purr.\n")
    shares = []
    assert build_index(str(tmp_path / "docs"), tmp_path / "i", progress=shares.append) == 1
    assert shares[-1].share == 1.0
    # an index within the folder of its corpus is no part of the corpus
    assert build_index(tmp_path / "docs", tmp_path / "docs" / "index") == 1
    assert build_index(tmp_path / "docs", tmp_path / "docs" / "index", overwrite=True) == 1
    assert opened(tmp_path / "docs" / "index").search(["purr"], 1)[0][0].passage.title == "Cats"


def test_two_passages_of_one_id(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"an id of its own .* got 'a' twice"):
        build_index([Passage("a", "", "x"), Passage("a", "", "y")], tmp_path / "i")
    record = '{"id": "%s", "text": "%s"}\n'
    path = tmp_path / "c.jsonl"
    path.write_text("".join(record % pair for pair in [("a", "x"), ("b", "y"), ("a", "z")]))
    with pytest.raises(DataError, match=r"c\.jsonl, line 3, got 'a' for the second time"):
        build_index(path, tmp_path / "i")
    corpus = Corpus(path, skip_broken_rows=True)
    assert build_index(corpus, tmp_path / "i") == 2 and corpus.broken == 1
    assert "for the second time" in corpus.first_problem
    assert names(tmp_path) == ["c.jsonl", "i"]


def test_a_corpus_without_passages(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected passages, got none"):
        build_index([], tmp_path / "i")
    (tmp_path / "a.jsonl").write_text("\n\n{\n")
    with pytest.raises(DataError, match=r"expected passages in .*got none; first of 1: .*line 3"):
        build_index(Corpus(tmp_path / "a.jsonl", skip_broken_rows=True), tmp_path / "i")
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(DataError, match="got none"):
        build_index(tmp_path / "a.jsonl", tmp_path / "i")
    assert names(tmp_path) == ["a.jsonl"]


def test_passages_are_not_held(tmp_path: Path) -> None:
    def many_passages() -> Iterator[Passage]:
        for i in range(5000):
            yield Passage(str(i), "T", f"{i} " * 1000)

    tracemalloc.start()
    building._write_passages(many_passages(), tmp_path, None, lambda state: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6_000_000 < (tmp_path / "passages.bin").stat().st_size


def test_too_many_passages_for_bm25(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_DOCUMENTS", 19)
    with pytest.raises(ConfigurationError, match=r"at most 19 passages .*--index tantivy"):
        build_index(passages(), tmp_path / "i")
    assert build_index(passages(count=19), tmp_path / "i") == 19
    assert build_index(passages(), tmp_path / "t", index="tantivy") == 20


def test_a_missing_package_is_found_before_the_corpus_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> Iterator[Passage]:
        raise AssertionError
        yield

    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(DependencyNotInstalled, match=r"\[search\]"):
        build_index(never(), tmp_path / "i", index="tantivy")
    with pytest.raises(ConfigurationError, match="index to be one of bm25, tantivy"):
        build_index(never(), tmp_path / "i", index="faiss")


# -- names that are taken -------------------------------------------------------------------------


def test_an_index_is_replaced_only_when_asked(tmp_path: Path) -> None:
    folder = tmp_path / "i"
    folder.mkdir()
    build_index(passages(), folder)  # an empty folder is free
    with pytest.raises(ConfigurationError, match=r"holds one; use it.*--overwrite"):
        build_index(passages("new"), folder)
    reader = opened(folder)
    build_index(passages("new"), folder, index="tantivy", overwrite=True)
    assert names(tmp_path) == ["i"]
    assert opened(folder).search(["new"], 1)[0] and not opened(folder).search(["old"], 1)[0]
    assert reader.search(["old"], 1)[0]  # who has opened the old one keeps it
    with pytest.raises(DataError):
        build_index([], folder, overwrite=True)
    assert opened(folder).search(["new"], 1)[0]


@pytest.mark.parametrize("overwrite", [True, False])
def test_nothing_but_an_index_is_replaced(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "index.json").write_text("{}")
    (tmp_path / "file").write_text("")
    for name in ("photos", "file"):
        with pytest.raises(ConfigurationError, match="holds other things than an index; name"):
            build_index(passages(), tmp_path / name, overwrite=overwrite)
    with pytest.raises(ConfigurationError, match="expected a folder for the index"):
        build_index(passages(), "/", overwrite=overwrite)
    with pytest.raises(ConfigurationError, match="expected to write an index to"):
        build_index(passages(), tmp_path / "file" / "index", overwrite=overwrite)
    assert names(tmp_path) == ["file", "photos"] and names(tmp_path / "photos") == ["index.json"]


@EVERY
def test_files_that_lie_with_an_index_are_not_lost(engine: str, tmp_path: Path) -> None:
    build_index(passages(), tmp_path / "i", index=ENGINES[engine])
    (tmp_path / "i" / ".DS_Store").write_text("")  # of the system
    build_index(passages(), tmp_path / "i", index=ENGINES[engine], overwrite=True)
    path = tmp_path / "i" / "corpus.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n')
    with pytest.raises(ConfigurationError, match="holds other things than an index"):
        build_index(path, tmp_path / "i", overwrite=True)
    assert path.exists() and opened(tmp_path / "i").search(["number7"], 1)[0]


def test_two_builds_of_one_index(tmp_path: Path) -> None:
    def nested() -> Iterator[Passage]:
        yield from passages()
        with pytest.raises(ConfigurationError, match="another process builds in"):
            build_index(passages("new"), tmp_path / "i")

    assert build_index(nested(), tmp_path / "i") == 20
    assert opened(tmp_path / "i").search(["old"], 1)[0]


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_takes_the_name_while_an_index_is_built_is_not_replaced(
    tmp_path: Path, overwrite: bool
) -> None:
    folder = tmp_path / "i"

    def slow() -> Iterator[Passage]:
        yield from passages()
        folder.mkdir()
        (folder / "photo").write_text("of somebody")

    with pytest.raises(ConfigurationError, match="holds other things"):
        build_index(slow(), folder, overwrite=overwrite)
    assert names(tmp_path) == ["i"] and (folder / "photo").read_text() == "of somebody"


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert build_index(passages(), tmp_path / "i") == 20
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows
    assert build_index(passages(), tmp_path / "i", overwrite=True) == 20
    assert names(tmp_path) == ["i"] and opened(tmp_path / "i").search(["old"], 1)[0]


def test_the_loser_of_a_race_spoils_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        build_index(passages(), tmp_path / "i")  # another process is faster
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", late)
    os.mkdir(tmp_path / ".i.building")
    with pytest.raises(ConfigurationError, match="holds one"):
        build_index(passages("new"), tmp_path / "i")
    assert names(tmp_path) == ["i"] and opened(tmp_path / "i").search(["old"], 1)[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_build_that_fails_leaves_nothing(tmp_path: Path, error: Any) -> None:
    def failing() -> Iterator[Passage]:
        yield from passages()
        raise error

    with pytest.raises(error):
        build_index(failing(), tmp_path / "i")
    assert names(tmp_path) == []


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(writer: PassageWriter, passage: Passage) -> int:
        raise OSError(28, "disk is full")

    monkeypatch.setattr(PassageWriter, "add", full)
    with pytest.raises(ConfigurationError, match=r"to write an index .*disk is full"):
        build_index(passages(), tmp_path / "i")
    assert names(tmp_path) == []


# -- kill -9 ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kill() -> Iterator[Kill]:
    with forking() as kill_build:
        yield kill_build


@pytest.mark.slow
@EVERY
def test_a_build_killed_at_any_moment_leaves_no_half_index(
    engine: str, tmp_path: Path, kill: Kill, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "i"

    def build() -> int:
        return build_index(passages(), folder, index=ENGINES[engine])

    build()
    expected = opened(folder).search(["number7 text"], 5)
    event = complete = 0
    while True:
        for path in (folder, tmp_path / ".i.building"):  # so that events have the same numbers
            shutil.rmtree(path, ignore_errors=True)
        if not kill(event, folder, engine, "old", overwrite=False):
            break
        if folder.exists():  # killed when it was complete
            complete += 1
            assert opened(folder).search(["number7 text"], 5) == expected
        elif event % 3 == 0:
            is_left = any((tmp_path / ".i.building").glob("*"))
            caplog.clear()
            assert build() == 20 and names(tmp_path) == ["i"]
            assert ("stopped before its end; it starts over" in caplog.text) == is_left
            assert opened(folder).search(["number7 text"], 5) == expected
        event += 1
    assert event > 10 and complete >= 1 and names(tmp_path) == ["i"]


@pytest.mark.slow
def test_a_replacement_killed_at_any_moment_loses_no_index(tmp_path: Path, kill: Kill) -> None:
    folder = tmp_path / "i"
    build_index(passages(), folder)
    ids, event = set(), 0
    while kill(event, folder, "bm25", "new", overwrite=True):
        event += 1
        if not folder.exists():  # in the moment between two renames
            with pytest.raises(ConfigurationError, match="holds one"):
                build_index(passages(), folder)  # puts it back
        [[hit]] = opened(folder).search(["text"], 1)
        ids.add(hit.passage.id)
        if hit.passage.id.startswith("new"):
            build_index(passages(), folder, overwrite=True)
    assert ids == {"old0", "new0"} and event > 10
    assert names(tmp_path) == ["i"]


# -- folders that are no index --------------------------------------------------------------------


def test_folders_that_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="got no such folder; make one with: agentgym index"):
        open_index(tmp_path / "none")
    with pytest.raises(DataError, match=r"got a folder without index\.json"):
        open_index(tmp_path)


@pytest.mark.parametrize(
    "change", [{"format": "agentgym.index/0"}, {"engine": "faiss"}, {"passages": "3"},
               {"parameters": None}, {"format": None}],
)  # fmt: skip
def test_an_index_of_another_kind(tmp_path: Path, change: dict[str, Any]) -> None:
    build_index(passages(), tmp_path / "i")
    path = tmp_path / "i" / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match=r"made by another version or program: .*--overwrite"):
        open_index(tmp_path / "i")


def test_passages_that_cannot_be_read_are_no_failure_to_write(tmp_path: Path) -> None:
    def failing() -> Iterator[Passage]:
        yield from passages()
        raise ConnectionResetError("the source is gone")

    with pytest.raises(DataError, match=r"to read passages.*ConnectionResetError: the source is"):
        build_index(failing(), tmp_path / "i")
    assert not list(tmp_path.iterdir())


@EVERY
def test_every_damaged_part_is_an_error(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    build_index(passages(), folder, index=ENGINES[engine])
    for path in sorted(folder.iterdir()):
        if path.name.endswith((".lock", ".store", ".pos")) or path.name == ".managed.json":
            continue  # tantivy's files that hold nothing we ask for
        content = path.read_bytes()
        for data in (b"", b"\xff\xfe\0", content[: len(content) // 2], None):
            path.unlink()  # what an index before has mapped stays as it is
            if data is not None:
                path.write_bytes(data)
            remedy = "agentgym index "
            if engine == "dense" and path.name != "index.json":
                remedy = r"\(make it again in Python: build_index\(corpus, folder, index=Dense"
            with pytest.raises(DataError, match=f"expected .*{remedy}"):
                opened(folder)
            path.unlink(missing_ok=True)
            path.write_bytes(content)
    assert opened(folder).search(["number7"], 1)[0]


def test_parts_of_two_indexes_do_not_fit(tmp_path: Path) -> None:
    build_index(passages(), tmp_path / "a")
    build_index(passages(count=9), tmp_path / "b")
    facts = json.loads((tmp_path / "a" / "index.json").read_text())
    (tmp_path / "a" / "index.json").write_text(json.dumps({**facts, "passages": 9}))
    with pytest.raises(DataError, match=r"expected 9 passages in .*, got 20"):
        open_index(tmp_path / "a")
    (tmp_path / "a" / "index.json").write_bytes((tmp_path / "b" / "index.json").read_bytes())
    with pytest.raises(DataError, match=r"SHA-256 .*agentgym index .*--overwrite"):
        open_index(tmp_path / "a")


@EVERY
def test_a_flipped_bit_is_found_wherever_it_is(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    build_index(passages(), folder, index=ENGINES[engine])
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        if path.name[0] == "." or not content or path.name == "index.json":
            continue
        for data in (bytes(len(content)), content[:-1] + bytes([content[-1] ^ 1])):
            path.unlink()
            path.write_bytes(data)
            with pytest.raises(DataError, match="SHA-256"):
                opened(folder)
        path.write_bytes(content)
    opened(folder).close()


def test_files_of_a_large_index_are_only_asked_for_their_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "i"
    build_index(passages(), folder)
    content = folder / "passages.bin"
    content.write_bytes(bytes(content.stat().st_size))
    monkeypatch.setattr(building, "LARGEST_HASHED", 10)
    open_index(folder).close()
    with pytest.raises(DataError, match="SHA-256"):
        open_index(folder, hashed=True)
    content.write_bytes(b"short")
    with pytest.raises(DataError, match="got 5 bytes"):
        open_index(folder)
