"""BM25 over stored passages: the protocol of a retriever."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval import (
    BM25Index,
    BM25Retriever,
    Passage,
    PassageStore,
    PassageWriter,
    Retriever,
    indexed_text,
)
from agentgym.retrieval.retriever import LONGEST_QUERY

PASSAGES = [
    Passage("p3", "Red Hat", "A hat of wool."),
    Passage("p1", "Blue Shoe", "It is worn with a red hat."),
    Passage("p2", "Blue Shoe", "It is worn with a red hat."),
    Passage("p0", "", ""),
]


def build(folder: Path, passages: list[Passage]) -> BM25Retriever:
    with PassageWriter(folder) as writer:
        for passage in passages:
            writer.add(passage)
    texts, ids = map(indexed_text, passages), (passage.id for passage in passages)
    BM25Index.build(texts, ids, k1=BM25Retriever.K1, b=BM25Retriever.B).save(folder)
    return BM25Retriever.open(folder)


def test_each_query_has_its_hits(tmp_path: Path) -> None:
    retriever = build(tmp_path, PASSAGES)
    assert isinstance(retriever, Retriever)
    hits = retriever.search(["red hat", "shoe!", "nothing", "", "AND (wool) title:\x00"], 2)
    assert [[hit.passage.id for hit in query_hits] for query_hits in hits] == [
        ["p3", "p1"], ["p1", "p2"], [], [], ["p3"],
    ]  # fmt: skip
    assert hits[0][0].passage == PASSAGES[0]
    scores = [hit.score for hit in hits[0]]
    assert all(type(score) is float for score in scores) and scores[0] > scores[1] > 0
    assert retriever.search([], 3) == []


def test_long_queries_are_cut(tmp_path: Path) -> None:
    retriever = build(tmp_path, PASSAGES)
    filling = "x " * (LONGEST_QUERY // 2)
    full, cut = retriever.search([filling[:-5] + " wool", filling + "wool"], 1)
    assert [hit.passage.id for hit in full] == ["p3"] and cut == []


def test_a_pickle_holds_the_path_and_another_process_finds_the_same(tmp_path: Path) -> None:
    retriever = build(tmp_path, PASSAGES)
    data = pickle.dumps(retriever)
    assert len(data) < 500
    code = (
        f"import pickle; r = pickle.loads({data!r}); "
        "print([[(h.passage.id, h.score) for h in f] for f in r.search(['red hat'], 9)])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    own_hits = [[(hit.passage.id, hit.score) for hit in retriever.search(["red hat"], 9)[0]]]
    assert process.stdout.strip() == str(own_hits)


def test_index_and_passages_must_belong_together(tmp_path: Path) -> None:
    build(tmp_path, PASSAGES)
    with pytest.raises(DataError, match=r"index of the 4 passages.*got one of 1.*build the index"):
        BM25Retriever(BM25Index.build(["a"]), PassageStore(tmp_path))


def test_a_bad_k_is_refused(tmp_path: Path) -> None:
    retriever = build(tmp_path, PASSAGES)
    for queries, k in [(["red"], 0), ([], 0), (["red"], 2.5), (["red"], True), (["red"], "3")]:
        with pytest.raises(ConfigurationError, match="expected k to be an integer from 1"):
            retriever.search(queries, k)  # type: ignore[arg-type]


def test_a_closed_retriever_fails_as_an_engine_does(tmp_path: Path) -> None:
    retriever = build(tmp_path, PASSAGES)
    retriever.close()
    retriever.close()
    with pytest.raises(EnvFailure, match="closed"):
        retriever.search(["red hat"], 1)


def test_a_disk_that_fails_is_a_failure_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> bytes:
        raise OSError(errno.EIO, "input/output error")

    retriever = build(tmp_path, PASSAGES)
    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(EnvFailure, match=r"passages\.bin.*input/output error"):
        retriever.search(["red hat"], 1)


def test_readers_keep_an_index_that_is_replaced(tmp_path: Path) -> None:
    # In a process of its own: reading what has become shorter under a mapping would end it.
    code = (
        "import sys; from agentgym.retrieval import *\n"
        "def write(count):\n"
        "    with PassageWriter(sys.argv[1]) as writer:\n"
        "        for i in range(count): writer.add(Passage(f'{i:05}', '', f'word{i} shoe'))\n"
        "    texts = (f'word{i} shoe' for i in range(count))\n"
        "    BM25Index.build(texts, map('{:05}'.format, range(count))).save(sys.argv[1])\n"
        "write(9000)\n"
        "old = BM25Retriever.open(sys.argv[1])\n"
        "write(2)\n"
        "old.index.save(sys.argv[1] + '/copy'); BM25Index.open(sys.argv[1] + '/copy').save("
        "sys.argv[1] + '/copy')\n"
        "copy = BM25Index.open(sys.argv[1] + '/copy').search('word8999', 1)[0]\n"
        "print(old.search(['word8999'], 1)[0][0].passage.id, copy[0])\n"
    )
    process = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True,
                          text=True)  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "08999 08999\n"), process.stderr
    assert len(BM25Retriever.open(tmp_path).store) == 2


def test_damage_is_a_failure_of_the_engine(tmp_path: Path) -> None:
    build(tmp_path, PASSAGES).close()
    path = tmp_path / "passages.bin"
    path.write_bytes(b"\xff" * path.stat().st_size)
    with pytest.raises(EnvFailure, match=r"passages\.bin.*build the index again"):
        BM25Retriever.open(tmp_path).search(["red hat"], 1)
    path.unlink()
    with pytest.raises(DataError, match=r"passages\.bin"):
        BM25Retriever.open(tmp_path)
