"""Dense retrieval: equal to comparing everything, and stable on disk."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval import Passage, dense
from agentgym.retrieval.dense import DenseEncoder, DenseRetriever
from agentgym.retrieval.index_builder import build_index, open_index
from tests.retrieval.encoders import DIMENSIONS, hashed

WORDS = ["red", "blue", "shoe", "hat", "tree", "river", "stone", "song"]


def passages(count: int = 300) -> Iterator[Passage]:
    for i in range(count):
        words = [WORDS[i % 8], WORDS[i * 3 // 2 % 8], WORDS[i // 8 % 8]]
        yield Passage(f"p{i}", f"About {words[0]}", " ".join(words))


@pytest.fixture(params=[True, False], ids=["exact", "usearch"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if not request.param:
        pytest.importorskip("usearch")
    encoder = DenseEncoder(hashed, "query: ", "passage: ", batch=32, exact=request.param)
    assert build_index(passages(), tmp_path / "index", index=encoder) == 300
    return tmp_path / "index"


def compared(query: str, k: int) -> list[tuple[str, float]]:
    """Compare a query with all passages, one number at a time in 64 bits."""
    [vector] = hashed(["query: " + query]).astype(np.float64)
    scores = []
    for row, passage in enumerate(passages()):
        text = f'passage: "{passage.title}"\n{passage.text}'
        scores.append((-round(float(hashed([text])[0] @ vector), 5), row, passage.id))
    return [(name, -score) for score, _, name in sorted(scores)[:k]]


@pytest.mark.parametrize("k", [1, 3, 10])
def test_equals_comparing_everything(folder: Path, k: int) -> None:
    retriever = DenseRetriever(folder, hashed)
    for query in ("red shoe", "a song of the river", "hat hat blue", "unknown"):
        hits = [(hit.passage.id, round(hit.score, 5)) for hit in retriever.search([query], k)[0]]
        # Passages with the same words tie: any of them may be proposed, but not of another score.
        expected = compared(query, k)
        assert [score for _, score in hits] == pytest.approx(
            [score for _, score in expected], abs=2e-3
        )
        if not (folder / dense.GRAPH).exists():
            assert [name for name, _ in hits] == [name for name, _ in expected]


def test_blocks_and_batches_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["red shoe", "song", " ", "stone tree hat", "red shoe"]
    retriever = open_index(folder, hashed)
    expected = [retriever.search([query], 5)[0] for query in queries]
    assert expected[2] == [] and expected[0] == expected[4]
    assert retriever.search(queries, 5) == expected
    monkeypatch.setattr(dense, "BLOCK", 7)
    assert DenseRetriever(folder, hashed, batch=2).search(queries, 5) == expected
    copy = pickle.loads(pickle.dumps(retriever))
    assert copy.search(queries, 5) == expected
    assert retriever.search([], 5) == [] and len(retriever.search(["red"], 1000)[0]) == 300


def test_a_query_of_which_the_encoder_knows_nothing_finds_nothing(folder: Path) -> None:
    retriever = DenseRetriever(folder, lambda texts: np.zeros((len(texts), DIMENSIONS)))
    assert retriever.search(["red"], 3) == [[]]


def test_the_index_remembers_what_it_is(folder: Path) -> None:
    exact = not (folder / dense.GRAPH).exists()
    facts = json.loads((folder / "index.json").read_text())
    assert facts["parameters"] == {
        "dimensions": DIMENSIONS,
        "exact": exact,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
    }
    assert DenseRetriever(folder, hashed).query_prefix == "query: "


def test_many_passages_are_not_all_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usearch")
    monkeypatch.setattr(dense, "EXACT", 299)
    build_index(passages(299), tmp_path / "few", index=DenseEncoder(hashed))
    build_index(passages(300), tmp_path / "many", index=DenseEncoder(hashed))
    assert not (tmp_path / "few" / dense.GRAPH).exists()
    assert (tmp_path / "many" / dense.GRAPH).exists()


def test_two_builds_are_equal(folder: Path, tmp_path: Path) -> None:
    exact = not (folder / dense.GRAPH).exists()
    encoder = DenseEncoder(hashed, "query: ", "passage: ", batch=7, exact=exact)
    build_index(passages(), tmp_path / "again", index=encoder)
    for path in folder.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes(), path.name


def failing(texts: list[str]) -> Any:
    raise ValueError("out of memory")


BAD: list[tuple[Any, str]] = [
    (failing, "failed with ValueError: out of memory"),
    (lambda texts: np.zeros(3), r"\[., dimensions\] .* of shape \(3,\)"),
    (lambda texts: np.zeros((len(texts), 0)), r"of shape \(., 0\)"),
    (lambda texts: np.zeros((9, 3)), r"of shape \(9, 3\)"),
    (lambda texts: np.full((len(texts), 3), np.nan), "finite numbers"),
    (lambda texts: [["a"]], "failed with ValueError"),
]


@pytest.mark.parametrize(("encode", "words"), BAD)
def test_an_encoder_that_fails(folder: Path, tmp_path: Path, encode: Any, words: str) -> None:
    with pytest.raises(EnvFailure, match=words):
        build_index(passages(2), tmp_path / "bad", index=DenseEncoder(encode))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]
    with pytest.raises(EnvFailure, match=words):
        DenseRetriever(folder, encode).search(["a"], 1)


def test_vectors_of_other_sizes(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(EnvFailure, match=f"vectors of {DIMENSIONS} dimensions, .* got 3"):
        DenseRetriever(folder, lambda texts: np.zeros((len(texts), 3))).search(["a"], 1)
    sizes = iter(range(3, 9))
    growing = DenseEncoder(lambda texts: np.zeros((len(texts), next(sizes))), batch=1)
    with pytest.raises(EnvFailure, match="vectors of 3 dimensions, got 4 for passages 1 to 1"):
        build_index(passages(4), tmp_path / "bad", index=growing)


@pytest.mark.parametrize(
    ("part", "data"),
    [("dense.json", "{}"), ("dense.json", "["),
     ("dense.json", '{"format": "agentgym.dense/1", "query_prefix": "", "longest": 1e999}'),
     ("dense.npy", "x"), ("dense.usearch", "x"),
     ("passages.json", "{}"), ("dense.json", None), ("dense.npy", None)],
)  # fmt: skip
def test_a_damaged_index(folder: Path, part: str, data: str | None) -> None:
    if part == dense.GRAPH and not (folder / part).exists():
        return
    (folder / part).unlink() if data is None else (folder / part).write_text(data)
    with pytest.raises(DataError, match="expected"):
        DenseRetriever(folder, hashed)


def test_how_vectors_are_compared_is_what_was_built(folder: Path, tmp_path: Path) -> None:
    if (folder / dense.GRAPH).exists():
        (folder / dense.GRAPH).unlink()
        with pytest.raises(DataError, match=r"dense\.usearch"):
            DenseRetriever(folder, hashed)
    else:
        (folder / dense.GRAPH).write_bytes(b"of an index before")
        assert DenseRetriever(folder, hashed).search(["red shoe"], 1)[0]


def test_parts_of_other_sizes(folder: Path, tmp_path: Path) -> None:
    exact = not (folder / dense.GRAPH).exists()
    build_index(passages(20), tmp_path / "other", index=DenseEncoder(hashed, exact=exact))
    part = dense.VECTORS if exact else dense.GRAPH
    (folder / part).write_bytes((tmp_path / "other" / part).read_bytes())
    with pytest.raises(DataError, match="expected 300 vectors in"):
        DenseRetriever(folder, hashed)


@pytest.mark.parametrize(
    "kwargs", [{"encode": None}, {"query_prefix": 1}, {"batch": 0}, {"exact": "yes"}]
)
def test_bad_arguments(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected"):
        DenseEncoder(**{"encode": hashed, **kwargs})


def test_an_index_of_vectors_needs_its_encoder(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected the encoder of the dense index"):
        open_index(folder)
    with pytest.raises(ConfigurationError, match="expected k"):
        DenseRetriever(folder, hashed).search(["a"], 0)
