"""The index: equal to a brute-force scorer, and stable on disk."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError, DataError
from agentgym.retrieval import BM25Index
from agentgym.retrieval.bm25 import inversion, ranking
from agentgym.retrieval.bm25.index import ARRAYS

WORDS = [f"word{i}" for i in range(12)]
DOCUMENTS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), min_size=1, max_size=12
)


def stored_length(length: int) -> int:
    """Lucene's one-byte length: exact below 24, then four significant bits."""
    if length < 24:
        return length
    above = length - 24
    shift = max(above.bit_length() - 4, 0)
    return 24 + (above >> shift << shift)


def brute_force(
    documents: list[str], ids: list[str], query: str, k: int, k1: float, b: float
) -> list[str]:
    """Score every document with float32 arithmetic, one number at a time."""
    f = np.float32
    bags = [Counter(text.split()) for text in documents]
    lengths = [sum(bag.values()) for bag in bags]
    filled = sum(length > 0 for length in lengths)
    average = f(sum(lengths) / max(filled, 1))
    ranked = []
    for name, bag, length in zip(ids, bags, lengths, strict=True):
        total = 0.0
        for word, n in Counter(query.split()).items():
            if not bag[word]:
                continue
            df = sum(word in other_bag for other_bag in bags)
            weight = f(n) * f(math.log(1 + (filled - df + 0.5) / (df + 0.5)))
            norm = f(k1) * ((f(1) - f(b)) + f(b) * f(stored_length(length)) / average)
            total += float(weight - weight / (f(1) + f(bag[word]) * (f(1) / norm)))
        if total:
            ranked.append((-f(total), name))
    return [name for _, name in sorted(ranked)[:k]]


@settings(max_examples=60, deadline=None)
@given(
    documents=DOCUMENTS,
    query=st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
    k=st.integers(1, 8),
    parameters=st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0.5, 0.0), (2.0, 1.0)]),
)
def test_equals_brute_force(
    documents: list[str], query: str, k: int, parameters: tuple[float, float]
) -> None:
    k1, b = parameters
    ids = [f"id{(7 * i) % len(documents):02d}" for i in range(len(documents))]
    ids = [f"{name}-{i}" for i, name in enumerate(ids)]
    index = BM25Index.build(documents, ids, k1=k1, b=b)
    assert index.search(query, k)[0] == brute_force(documents, ids, query, k, k1, b)


def test_ties_go_to_the_smaller_id() -> None:
    index = BM25Index.build(["same text"] * 4, ["c", "a", "d", "b"])
    assert index.search("text", 3)[0] == ["a", "b", "c"]


def test_repeated_words_add_up() -> None:
    index = BM25Index.build(["red shoe", "blue hat"])
    once, thrice = (index.search(query)[1][0] for query in ("red", "red red red"))
    assert thrice == pytest.approx(3 * once, rel=1e-6)


@pytest.mark.parametrize("query", ["", "the", "unknown", "\u7425"])
def test_a_query_without_known_words_finds_nothing(query: str) -> None:
    ids, scores = BM25Index.build(["red shoe"]).search(query)
    assert ids == [] and len(scores) == 0


@pytest.mark.parametrize("documents", [[], [""], ["", "red shoe", "the"]])
def test_empty_documents(documents: list[str], tmp_path: Path) -> None:
    BM25Index.build(documents).save(tmp_path)
    index = BM25Index.open(tmp_path)
    assert len(index) == len(documents)
    assert index.search("red")[0] == (["1"] if len(documents) == 3 else [])


@pytest.mark.parametrize("mmap", [True, False])
def test_saved_opened_and_pickled_indexes_agree(tmp_path: Path, mmap: bool) -> None:
    documents = ["red shoe \u00e9", "red red hat", "blue hat " * 40]
    built = BM25Index.build(documents, ["x", "y", "z"])
    built.save(tmp_path / "index")
    opened = BM25Index.open(tmp_path / "index", mmap=mmap)
    copies = [opened, pickle.loads(pickle.dumps(opened)), pickle.loads(pickle.dumps(built))]
    for query in ("red hat", "blue blue blue", "\u00e9"):
        expected = built.search(query)
        for copy in copies:
            ids, scores = copy.search(query)
            assert ids == expected[0] and scores.tolist() == expected[1].tolist()
    assert len(pickle.dumps(opened)) < 400
    assert built.nbytes > 0


@pytest.mark.parametrize("arguments", [{"k1": 0}, {"k1": math.nan}, {"b": -0.1}, {"b": 1.5}])
def test_bad_parameters_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="expected k1 > 0"):
        BM25Index.build(["a"], **arguments)


@pytest.mark.parametrize("ids", [["a"], ["a", "a"], ["a", 2]])
def test_bad_ids_are_refused(ids: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        BM25Index.build(["one", "two"], ids)


def test_an_id_that_two_documents_have_is_named() -> None:
    with pytest.raises(ConfigurationError, match="expected distinct ids, got 'b' more than once"):
        BM25Index.build(["one", "two", "three"], iter(["b", "a", "b"]))


def test_a_bad_k_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        BM25Index.build(["a"]).search("a", 0)


def test_a_folder_without_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a BM25 index"):
        BM25Index.open(tmp_path)
    BM25Index.build(["a"]).save(tmp_path)
    (tmp_path / "bm25.json").write_text('{"format": "agentgym.bm25/1"}')
    with pytest.raises(DataError, match="format"):
        BM25Index.open(tmp_path)


PARTS = (
    *(f"bm25.{name}.npy" for name in (*ARRAYS, "ids", "ids_offsets", "terms", "terms_offsets")),
    "bm25.json",
)
HEADER = b"\x93NUMPY\x01\x00\x46\x00"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("data", [None, b"", b"\xff\xfe", HEADER, HEADER + b"{][" + b" " * 70,
                                  b"[]", b"{}", b"x\0y\0z\0q\0r", b"[" * 99_999])  # fmt: skip
def test_an_index_with_a_damaged_part_is_refused(
    part: str, data: bytes | None, tmp_path: Path
) -> None:
    index = BM25Index.build(["red shoe", "red red hat", "blue hat " * 40], ["x", "y", "z"])
    index.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(PARTS)
    (tmp_path / part).unlink() if data is None else (tmp_path / part).write_bytes(data)
    with pytest.raises(DataError, match="expected a BM25 index"):
        BM25Index.open(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), [("documents", 4), ("documents", "3"), ("documents", 1e999), ("k1", "x"),
                       ("k1", 10**400), ("b", None), ("format", None)],
)  # fmt: skip
def test_wrong_facts_about_an_index_are_refused(key: str, value: object, tmp_path: Path) -> None:
    BM25Index.build(["red shoe", "red red hat", "blue hat"]).save(tmp_path)
    facts = json.loads((tmp_path / "bm25.json").read_text())
    (tmp_path / "bm25.json").write_text(json.dumps({**facts, key: value}))
    with pytest.raises(DataError, match="expected a BM25 index"):
        BM25Index.open(tmp_path)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("documents", [0, 1]), ("pointers", [0, 9, 1, 4, 6]), ("pointers", [1, 2, 3, 4, 6]),
        ("ranks", [0]), ("highest", [1, 2, 3]), ("highest", [1, 2, 3, 99]),
        ("terms_offsets", [0, 4, 7, 10, 15]), ("terms_offsets", [1, 4, 7, 10, 14]),
        ("ids_offsets", []),
        ("saturations", [[0.1, 0.2, 0.3]]), ("weights", ["a"] * 4), ("codes", [1]),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_together_are_refused(
    part: str, values: list[object], tmp_path: Path
) -> None:
    index = BM25Index.build(["red shoe", "red red hat", "blue hat " * 40], ["x", "y", "z"])
    index.save(tmp_path)
    path = tmp_path / f"bm25.{part}.npy"
    kind = None if values and isinstance(values[0], str) else np.load(path).dtype
    np.save(path, np.array(values, kind))
    with pytest.raises(DataError, match=f"bm25.{part}.npy"):
        BM25Index.open(tmp_path)


@pytest.mark.parametrize("rows", [[9, 1], [0, 9], [-1, 1], [0, -1]])
def test_documents_that_are_not_there_are_found_when_they_are_searched(
    rows: list[int], tmp_path: Path
) -> None:
    BM25Index.build(["red shoe", "red hat"]).save(tmp_path)
    path = tmp_path / "bm25.documents.npy"
    np.save(path, np.array([1, *rows, 0], np.int32))  # hat, red, shoe
    index = BM25Index.open(tmp_path)
    assert index.search("hat")[0] == ["1"]
    with pytest.raises(DataError, match=r"damaged.*build it again"):
        index.search("red")


def test_more_documents_than_can_be_built_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "MOST_DOCUMENTS", 3)
    assert len(BM25Index.build(["a"] * 3)) == 3
    with pytest.raises(ConfigurationError, match=r"at most 3 .*--index tantivy"):
        BM25Index.build(["a"] * 4)


@settings(max_examples=40, deadline=None)
@given(documents=DOCUMENTS, bits=st.integers(0, 2), tokens=st.integers(1, 80))
def test_chunks_leave_no_trace(documents: list[str], bits: int, tokens: int) -> None:
    unchunked = BM25Index.build(documents)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "CHUNK_BITS", bits)
        patch.setattr(inversion, "CHUNK_TOKENS", tokens)
        chunked = BM25Index.build(documents)
    assert pickle.dumps(chunked) == pickle.dumps(unchunked)


def test_an_index_is_the_same_on_every_machine() -> None:
    draw = random.Random(0)
    texts = [zipf_text(draw, int(90 * draw.random())) for _ in range(400)]
    index = BM25Index.build(texts, k1=1.2, b=0.75)
    _, (ids, terms, arrays) = index.__reduce__()
    assert ids == [str(row) for row in range(400)]
    digest = hashlib.sha256(terms.blob.tobytes() + terms.offsets.tobytes())
    for name in ARRAYS:
        digest.update(arrays[name].tobytes())
    assert digest.hexdigest()[:16] == "88a928805ce9aa88"


# -- the same hits as from all postings -----------------------------------------------------------


def plain(index: BM25Index, query: str, k: int) -> tuple[list[int], list[float]]:
    """Add up the postings one by one, in the order of the query."""
    totals: dict[int, float] = {}
    for term in index.postings(query):
        for row, value in zip(term.documents.tolist(), term.scores().tolist(), strict=True):
            totals[row] = totals.get(row, 0.0) + value
    scores = {row: np.float32(total) for row, total in totals.items() if total}
    order = sorted(scores, key=lambda row: (-scores[row], index.ids[row]))[:k]
    return order, [float(scores[row]) for row in order]


def listed(rows_and_scores: tuple[Any, Any]) -> tuple[list[int], list[float]]:
    return rows_and_scores[0].tolist(), rows_and_scores[1].tolist()


def zipf_text(draw: random.Random, size: int, words: int = 40) -> str:
    return " ".join(f"w{int(words ** draw.random()) - 1}" for _ in range(size))


def every_way(index: BM25Index, query: str, k: int) -> None:
    """Compare pruning, and all ways to add up, with the plain sum; bit for bit."""
    expected = plain(index, query, k)
    terms = index.postings(query)
    ranks = np.argsort(np.argsort(index.ids)).astype(np.int32)
    if terms:
        for joined, spread in itertools.product((0, 1 << 60), (0, 1 << 60)):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ranking, "JOINED", joined)
                patch.setattr(ranking, "LOOKUP_COST", spread)
                rows = ranking.pruned(terms, len(index), k)
            assert rows is not None
            assert listed(ranking.top(*ranking.rescored(terms, rows), ranks, k)) == expected
        for threshold, sparse in itertools.product((0, 1 << 60), repeat=2):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ranking, "FEW_POSTINGS", threshold)
                patch.setattr(ranking, "SPARSE", sparse)
                assert listed(ranking.exhaustive(terms, ranks, k)) == expected
    assert listed(index.search_rows(query, k)) == expected


@pytest.fixture
def always_prune(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ADD_COST", "SORT_COST"):
        monkeypatch.setattr(ranking, name, 1 << 90)


@settings(max_examples=150, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(
    seed=st.integers(0, 10**6), documents=st.integers(1, 300), length=st.integers(1, 30),
    size=st.integers(1, 12), k=st.integers(1, 50), block=st.integers(1, 64),
    words=st.sampled_from([4, 40, 400]),
    parameters=st.sampled_from([(0.9, 0.4), (1.2, 0.75), (0.5, 0.0), (2.0, 1.0)]),
)  # fmt: skip
def test_pruning_and_adding_up_give_the_same_bits(
    always_prune: None, seed: int, documents: int, length: int, size: int, k: int, block: int,
    words: int, parameters: tuple[float, float],
) -> None:  # fmt: skip
    draw = random.Random(seed)
    k1, b = parameters
    texts = [zipf_text(draw, draw.randrange(length + 1), words) for _ in range(documents)]
    texts[documents // 2 :] = texts[: documents - documents // 2]  # equal texts: ties
    ids = [f"{draw.random()}-{row}" for row in range(documents)]
    index = BM25Index.build(texts, ids, k1=k1, b=b)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BLOCK", block)
        every_way(index, zipf_text(draw, size, words), k)


def test_pruning_leaves_documents_out(always_prune: None) -> None:
    texts = ["common rare", *["common other"] * 500, "rare common rare"]
    index = BM25Index.build(texts)
    rows = ranking.pruned(index.postings("common rare"), len(index), 2)
    assert rows is not None and rows.tolist() == [0, 501]
    every_way(index, "common rare", 2)


def term_of(scores: dict[int, float]) -> ranking.Postings:
    by_code, codes = np.unique(np.array(list(scores.values()), np.float32), return_inverse=True)
    return ranking.Postings(np.array(list(scores), np.int32), codes, by_code, len(by_code) - 1)


@pytest.mark.parametrize("other", [0.4, 0.499, 0.5, 0.500001, 0.6])
def test_a_document_of_weaker_terms_is_found_if_their_sum_is_enough(
    always_prune: None, other: float
) -> None:
    query = [term_of({1: 0.5}), term_of({0: 1.0}), term_of({1: other})]
    rows = ranking.pruned(query, 9, 1)
    assert rows is not None
    best = ranking.top(*ranking.rescored(query, rows), np.arange(9, dtype=np.int32), 1)
    assert best[0].tolist() == [other > 0.5]


def test_documents_are_looked_up_in_the_terms_behind(always_prune: None) -> None:
    query = [term_of({1: 0.96, 2: 0.8}), term_of({0: 1.0}), term_of({1: 0.1, 3: 0.1})]
    rankings = [ranking.pruned(query, 9, k) for k in (1, 2, 3)]
    assert [rows.tolist() for rows in rankings if rows is not None] == [[1], [0, 1], [0, 1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("query", ["w0 w1 w2", "w0 w39 w39 w39", "w3 w3 w3 w0 w0 w0 w0 w0 w20"])
def test_a_large_index_is_pruned(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(0)
    pool = [zipf_text(draw, 6) for _ in range(1500)]
    index = BM25Index.build(pool * 120)
    expected = plain(index, query, 7)
    monkeypatch.setattr(ranking, "exhaustive", None)
    monkeypatch.setattr(ranking, "LOOKUP_COST", 1)
    assert listed(index.search_rows(query, 7)) == expected


def test_pruning_that_costs_more_than_adding_up_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "WORTH_PRUNING", 0)
    index = BM25Index.build(["red shoe", "red hat"])
    assert ranking.pruned(index.postings("red shoe"), len(index), 1) is None
    assert index.search("red shoe", 1)[0] == ["0"]
