"""tantivy: near to our own BM25, in a fixed order, and deaf to query languages."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval import Passage, Retriever, tantivy
from agentgym.retrieval.index_builder import build_index, open_index
from agentgym.retrieval.tantivy import TantivyRetriever
from agentgym.support.random_stream import Stream

pytest.importorskip("tantivy")

WORDS = [f"word{i}" for i in range(40)]


def passages(count: int, words: int = 30) -> list[Passage]:
    draws = Stream(7)
    return [
        Passage(f"p{i}", f"Title {WORDS[i % 40]}", " ".join(
            WORDS[min(draws.below(40), draws.below(40))] for _ in range(draws.below(words) + 1)))
        for i in range(count)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tantivy") / "index"
    build_index(passages(400), folder, index="tantivy")
    return folder


@pytest.fixture(scope="module")
def retriever(folder: Path) -> Retriever:
    return open_index(folder)


def test_equal_scores_are_in_the_order_of_the_passages(tmp_path: Path) -> None:
    equal_passages = [Passage(f"{i:03}", "", "red shoe") for i in range(300)]
    build_index(equal_passages, tmp_path / "a", index="tantivy")
    for k in (1, 3, 70, 299, 300, 500):
        [hits] = open_index(tmp_path / "a").search(["shoe"], k)
        assert [hit.passage for hit in hits] == equal_passages[:k]


def test_no_number_of_hits_is_too_large(retriever: Retriever) -> None:
    # tantivy reserves memory for as many as it is asked for, and ends the process if it cannot
    [all_of_them] = retriever.search(["word1 word2"], 400)
    assert all_of_them and retriever.search(["word1 word2"], 2**31 - 1) == [all_of_them]


def test_segments_and_rebuilding_change_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tantivy, "CHUNK", 37)
    for name in ("a", "b"):
        build_index(passages(400), tmp_path / name, index="tantivy")
    queries = [f"{a} {b}" for a in WORDS for b in ("word1", "word7 word7", "title")]
    expected = open_index(folder).search(queries, 10)
    for name in ("a", "b"):
        assert open_index(tmp_path / name).search(queries, 10) == expected


def test_ranks_nearly_as_our_own_index(folder: Path, tmp_path: Path, retriever: Retriever) -> None:
    build_index(passages(400), tmp_path / "own", index="bm25")
    bm25 = open_index(tmp_path / "own")
    queries = [f"{a} {b}" for a in WORDS for b in WORDS]
    shared = total = 0
    for bm25_hits, tantivy_hits in zip(
        bm25.search(queries, 5), retriever.search(queries, 5), strict=True
    ):
        names = {hit.passage.id for hit in bm25_hits}
        shared += len(names & {hit.passage.id for hit in tantivy_hits})
        total += len(names)
    assert shared / total > 0.9


def test_words_are_reduced_as_in_our_own_index(tmp_path: Path) -> None:
    texts = ["The running dogs' shoes", "caf\u00e9 \u7425\u7403", "a\u202fb under_score O'Neil's",
             "x" * 600]  # fmt: skip
    build_index([Passage(str(i), "", text) for i, text in enumerate(texts)], tmp_path / "i",
                index="tantivy")  # fmt: skip
    retriever = open_index(tmp_path / "i")
    for query, row in [("dog", 0), ("RUN", 0), ("\u7425", 1), ("caf\u00e9", 1), ("a\u202fb", 2),
                       ("o'neil", 2), ("under_score", 2), ("x" * 255, 3)]:  # fmt: skip
        assert [hit.passage.id for hit in retriever.search([query], 3)[0]] == [str(row)], query


def test_repeated_words_add_up(retriever: Retriever) -> None:
    [[once], [thrice]] = retriever.search(["word3", "word3 word3 word3"], 1)
    assert thrice.passage == once.passage and thrice.score == pytest.approx(
        3 * once.score, rel=1e-5
    )


HOSTILE = [
    "", " ", "the", "AND", "AND OR NOT", 'word1 "', '"word1 word2"~3', "text:word1", "row:[0 TO 9]",
    "row:3", "*", "wor*", "word1^1e99", "(((", "a:b:c", "+word1 -word2", "\\", "\0", "\ud800",
    "\u202e", "/.*/", "IN [a b]", "{!", "word1\nword2", "\U0001f469\u200d\U0001f4bb",
    "[word1 TO word9]",
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_read_as_a_language(query: str, retriever: Retriever) -> None:
    from agentgym.retrieval import tokenize

    indexed = {"word1", "word2", "word9", "titl"}
    hits = retriever.search([query], 3)[0]
    assert bool(hits) == bool(indexed & set(tokenize(query)))


@settings(max_examples=300, deadline=None)
@given(
    query=st.text(st.characters(codec=None), max_size=40)
    | st.lists(st.sampled_from([*HOSTILE, *WORDS]), max_size=12).map("".join),
    k=st.integers(1, 50),
)
def test_no_query_fails(query: str, k: int, retriever: Retriever) -> None:
    [hits] = retriever.search([query], k)
    assert len(hits) <= k and [hit.score for hit in hits] == sorted(
        (hit.score for hit in hits), reverse=True
    )


@pytest.mark.parametrize(
    "unit", ["x", "word1 ", '"', "\u7425", "\ud800", "(", "a:b ", "\U0001f469"]
)
def test_queries_of_a_megabyte(unit: str, retriever: Retriever) -> None:
    retriever.search([unit * (1_000_000 // len(unit))], 3)
    retriever.search([" ".join(f"word{i}" for i in range(150_000))], 3)


def test_copies_and_threads(retriever: Retriever) -> None:
    copy = pickle.loads(pickle.dumps(retriever))
    expected = retriever.search(WORDS, 5)
    assert copy.search(WORDS, 5) == expected and retriever.search([], 5) == []
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda word: retriever.search([word], 5)[0], WORDS * 5))
    assert results == expected * 5
    copy.close()
    copy.close()


class PanicException(BaseException):
    """As that of Rust extensions, which is no ``Exception``."""


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(PanicException("index out of bounds"), EnvFailure), (OSError("gone"), EnvFailure),
     (KeyboardInterrupt(), KeyboardInterrupt)],
)  # fmt: skip
def test_an_engine_that_fails(
    folder: Path, raised: BaseException, expected: type[BaseException]
) -> None:
    class Broken:
        def search(self, *arguments: object, **more: object) -> None:
            raise raised

    retriever = TantivyRetriever(folder)
    retriever._searcher = Broken()
    with pytest.raises(expected):
        retriever.search(["word1"], 3)


def test_bad_input(retriever: Retriever, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="expected k"):
        retriever.search(["a"], 0)
    build_index(passages(3), tmp_path / "a", index="tantivy")
    build_index(passages(4), tmp_path / "b", index="tantivy")
    (tmp_path / "a" / "meta.json").write_bytes((tmp_path / "b" / "meta.json").read_bytes())
    with pytest.raises(DataError, match="expected an index of tantivy's"):
        TantivyRetriever(tmp_path / "a")
    for file in (tmp_path / "b").glob("passages.*"):
        file.write_bytes((tmp_path / "a" / file.name).read_bytes())
    with pytest.raises(DataError, match=r"an index of 3 passages .* got one of 4"):
        TantivyRetriever(tmp_path / "b")
