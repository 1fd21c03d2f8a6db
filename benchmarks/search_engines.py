"""Compare BM25 search with tantivy, bm25s and SQLite's FTS5.

    python benchmarks/search_engines.py [--sizes 10000 100000] [--million] [--queries 1000]
                                        [--engines bm25 tantivy bm25s fts5] [--no-wordnet]

The corpora are generated encyclopaedias of these sizes, and WordNet 3.0, which Debian and Ubuntu
have: ``apt-get install dict-wn``. ``pip install tantivy bm25s`` brings the other engines; engines
that are not installed are listed under ``failed``, missing corpora under ``skipped``.

Every engine is given the terms of our own analysis of the same passages (titles twice), with
``k1 = 1.2`` and ``b = 0.75``, and asked for the best three. Building includes the analysis and
reading the passages, which are stored beforehand. Queries are those by which a plan would look for
the evidence of a question, and on WordNet five words of an entry. ``gold@3`` is the share of them
that find all they look for; none was chosen by what an engine finds. ``long`` are whole questions.

Each step runs in a process of its own. Times of searches are processor time, so that other jobs on
the machine count little; the others are wall time, with processor time beside it. ``met`` compares
our engine with its bars, and the exit code is 1 if one is missed.

Smallest run: ``--sizes 2000 --queries 200 --no-wordnet``
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import os
import re
import resource
import sqlite3
import string
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from provenance import to_json
from stopwatch import memory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agentgym.envs.search.generator.drafts import Drafter
from agentgym.envs.search.generator.universe import Universe
from agentgym.retrieval.bm25 import BM25Index, BM25Retriever
from agentgym.retrieval.bm25.analysis import tokenize
from agentgym.retrieval.passages import PassageStore, PassageWriter, indexed_text
from agentgym.retrieval.retriever import Passage
from agentgym.retrieval.tantivy import TantivyRetriever, write_tantivy
from agentgym.support.random_stream import Stream

DICTIONARY = Path("/usr/share/dictd")
WORDNET = "wordnet"
QUERIES = "queries.json"
K = 3
WORDS_OF_A_QUERY = 5
BARS = {10_000: (0.3, 1.5), 20_000: (0.3, 1.5), 100_000: (0.5, 3.0), 1_000_000: (4.0, 25.0)}
"""Maximum milliseconds of our engine's search, median and 99th percentile, by corpus size."""
DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
"""Digits of the numbers in a dictd index."""

Search = Callable[[str], list[int]]
"""Finds the rows of the best passages."""


# -- corpora ------------------------------------------------------------------------------------


def write_corpus(name: str, folder: Path, count: int) -> None:
    """Store the passages of a corpus, and queries with the ids of their evidence."""
    if name == WORDNET:
        passages: Iterator[Passage] = wordnet()
    else:
        universe = Universe("medium", int(name), seed=0)
        passages = universe.passages()
    with PassageWriter(folder) as writer:
        for passage in passages:
            writer.add(passage)
    queries = (known_items(folder, count) if name == WORDNET
               else planned(universe, count))  # fmt: skip
    (folder / QUERIES).write_text(json.dumps(queries))


def planned(universe: Universe, count: int) -> dict[str, Any]:
    """Draw queries from plans, and whole questions, without using an engine."""
    drafter, stream = Drafter(universe.config, universe.facts), Stream("search engines")
    steps: list[tuple[str, list[str]]] = []
    texts: list[str] = []
    while len(texts) < count:
        hops = stream.between(1, 4)
        targets = [target for group in drafter.targets("chain", hops) for target in group]
        for target in stream.sample(targets, min(count // 4, len(targets))):
            draft = drafter.draft("chain", hops, target, 1, stream)
            if draft is not None:
                texts.append(draft.text)
                steps += [(step.query, [str(i) for i in step.gold]) for step in draft.steps]
    return {"queries": stream.sample(steps, min(count, len(steps))), "long": texts[:count]}


def wordnet() -> Iterator[Passage]:
    """Read the entries of Debian's dict-wn."""
    with gzip.open(DICTIONARY / "wn.dict.dz") as file:
        text = file.read()
    lines = (DICTIONARY / "wn.index").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        head, *span = line.split("\t")
        start, size = (
            sum(DIGITS.index(digit) * 64**place for place, digit in enumerate(reversed(value)))
            for value in span
        )
        entry = text[start : start + size].decode()
        if not head.startswith("00-database"):
            yield Passage(str(number), head, " ".join(entry.partition("\n")[2].split()))


def known_items(folder: Path, count: int) -> dict[str, Any]:
    """Draw words of entries that have enough words besides their title."""
    store, stream = PassageStore(folder), Stream("search engines")
    queries: list[tuple[str, list[str]]] = []
    while len(queries) < count:
        passage = store[stream.below(len(store))]
        title_words = set(tokenize(passage.title))
        words = sorted({w for w in re.findall("[a-z]{4,}", passage.text) if w not in title_words})
        if len(words) > WORDS_OF_A_QUERY:
            queries.append((" ".join(stream.sample(words, WORDS_OF_A_QUERY)), [passage.id]))
    return {"queries": queries, "long": []}


# -- engines ------------------------------------------------------------------------------------


def build_bm25(store: PassageStore, folder: Path) -> None:
    """Build our index."""
    texts, ids = map(indexed_text, store), map(store.id, range(len(store)))
    BM25Index.build(texts, ids, k1=BM25Retriever.K1, b=BM25Retriever.B).save(folder)


def open_bm25(folder: Path) -> Search:
    """Open our index."""
    index = BM25Index.open(folder)
    return lambda query: index.search_rows(query, K)[0].tolist()


def open_tantivy(folder: Path) -> Search:
    """Open an index of tantivy's."""
    retriever = TantivyRetriever(folder)

    def search(query: str) -> list[int]:
        # Returns row numbers only, because the other engines do not read passages either.
        terms = Counter(tokenize(query))
        make, should = retriever._tantivy.Query, retriever._tantivy.Occur.Should
        boolean_query = make.boolean_query(
            [(should, retriever._term(t, n)) for t, n in terms.items()]
        )
        return [row for _, row in retriever._best(boolean_query, K)] if terms else []

    return search


def build_bm25s(store: PassageStore, folder: Path) -> None:
    """Build an index of bm25s's."""
    index = importlib.import_module("bm25s").BM25(
        method="lucene", k1=BM25Retriever.K1, b=BM25Retriever.B
    )
    index.index([tokenize(indexed_text(passage)) for passage in store], show_progress=False)
    index.save(str(folder))


def open_bm25s(folder: Path) -> Search:
    """Open an index of bm25s's."""
    index = importlib.import_module("bm25s").BM25.load(str(folder), mmap=True)

    def search(query: str) -> list[int]:
        terms = [term for term in tokenize(query) if term in index.vocab_dict]
        if not terms:
            return []
        rows = index.retrieve([terms], k=K, show_progress=False).documents
        return [int(row) for row in rows[0]]

    return search


def build_fts5(store: PassageStore, folder: Path) -> None:
    """Build a table of SQLite's full-text engine, without the texts."""
    link = sqlite3.connect(folder / "fts5.db")
    link.execute("CREATE VIRTUAL TABLE passages USING fts5(terms, content='')")
    rows = ((row, " ".join(tokenize(indexed_text(passage)))) for row, passage in enumerate(store))
    link.executemany("INSERT INTO passages(rowid, terms) VALUES (?, ?)", rows)
    link.commit()
    link.close()


def open_fts5(folder: Path) -> Search:
    """Open a table of SQLite's full-text engine."""
    link = sqlite3.connect(f"file:{folder / 'fts5.db'}?mode=ro", uri=True)
    select = f"SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT {K}"

    def search(query: str) -> list[int]:
        words = re.findall(r"\w+", " ".join(tokenize(query)))
        expression = " OR ".join(f'"{word}"' for word in words)
        return [row for (row,) in link.execute(select, (expression,))] if words else []

    return search


ENGINES: dict[str, tuple[Callable[[PassageStore, Path], None], Callable[[Path], Search]]] = {
    "bm25": (build_bm25, open_bm25),
    "tantivy": (write_tantivy, open_tantivy),
    "bm25s": (build_bm25s, open_bm25s),
    "fts5": (build_fts5, open_fts5),
}
PACKAGES = ("tantivy", "bm25s")
"""Engines that are separate packages."""


# -- measuring ----------------------------------------------------------------------------------


def measure_build(engine: str, corpus: Path, folder: Path) -> dict[str, float]:
    """Time building and measure the index's size; the peak is that of the whole process."""
    store = PassageStore(corpus)
    for passage in store:  # warms the disk cache for the first engine
        tokenize(passage.id)
    old_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, worked = time.perf_counter(), time.process_time()
    ENGINES[engine][0](store, folder)
    return {
        "build_seconds": time.perf_counter() - started,
        "build_processor_seconds": time.process_time() - worked,
        "build_peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "before_build_megabytes": old_peak / 1024,
        "disk_megabytes": sum(path.stat().st_size for path in folder.iterdir()
                              if not path.name.startswith("passages.")) / 2**20,
    }  # fmt: skip


def measure_search(engine: str, corpus: Path, folder: Path) -> dict[str, float]:
    """Time opening and searching, and compare results with the evidence."""
    query_sets = json.loads((corpus / QUERIES).read_text())
    if engine in PACKAGES:
        importlib.import_module(engine)  # which is not part of opening
    started = time.perf_counter()
    search = ENGINES[engine][1](folder)
    figures = {"open_milliseconds": 1000 * (time.perf_counter() - started)}
    store = PassageStore(corpus)
    times, hits = [], 0
    for query, gold in query_sets["queries"]:
        seconds, rows = timed(search, query)
        times.append(seconds)
        hits += set(gold) <= {store.id(row) for row in rows}
    figures |= percentiles("search", times)
    if query_sets["long"]:
        figures |= percentiles("long", [timed(search, query)[0] for query in query_sets["long"]])
    figures["gold@3"] = hits / len(query_sets["queries"])
    figures["resident_megabytes"] = memory()
    figures["private_megabytes"] = memory("Anonymous")  # file pages are cached for all engines
    return figures


def timed(search: Search, query: str) -> tuple[float, list[int]]:
    """Return the processor milliseconds of a search, over all threads, and its results."""
    started = time.process_time()
    rows = search(query)
    return 1000 * (time.process_time() - started), rows


def percentiles(name: str, times: list[float]) -> dict[str, float]:
    """Return median and 99th percentile."""
    ordered = sorted(times)
    return {
        f"{name}_p50_milliseconds": ordered[len(ordered) // 2],
        f"{name}_p99_milliseconds": ordered[int(len(ordered) * 0.99)],
    }


def child(*arguments: str) -> dict[str, float] | str:
    """Run one step in a separate process; return its figures, or why there are none."""
    command = [sys.executable, __file__, "--child", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        return (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[-1]
    figures: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return figures


def step(stage: str, name: str, corpus: str, folder: str, queries: str) -> dict[str, float]:
    """Run one step in this process."""
    if stage == "corpus":
        write_corpus(name, Path(corpus), int(queries))
        return {"passages": len(PassageStore(corpus))}
    measure = measure_build if stage == "build" else measure_search
    figures = measure(name, Path(corpus), Path(folder))
    return {key: round(value, 4) for key, value in figures.items()}


def compare(name: str, engines: list[str], queries: int) -> dict[str, Any]:
    """Build and search one corpus with every engine."""
    by_engine: dict[str, Any] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as corpus:
        corpus_figures = child("corpus", name, corpus, corpus, str(queries))
        if isinstance(corpus_figures, str):
            return {"failed": {"corpus": corpus_figures}}
        for engine in engines:
            with tempfile.TemporaryDirectory() as folder:
                if engine == "tantivy":  # whose retriever reads passages from its own folder
                    for path in Path(corpus).glob("passages.*"):
                        os.link(path, Path(folder) / path.name)
                figures: dict[str, float] = {}
                for stage in ("build", "search"):
                    result = child(stage, engine, corpus, folder, str(queries))
                    if isinstance(result, str):
                        failed[engine] = f"{stage}: {result}"
                        break
                    figures |= result
                else:
                    by_engine[engine] = figures
    return {**corpus_figures, "engines": by_engine, **({"failed": failed} if failed else {})}


def judge(results: dict[str, Any]) -> dict[str, bool]:
    """Compare our engine with its bars."""
    within_bars = {}
    for size, bars in BARS.items():
        figures = results.get(str(size), {}).get("engines", {}).get("bm25")
        for name, bar in zip(("p50", "p99"), bars, strict=True) if figures else ():
            for kind in ("search", "long"):
                key = f"{kind}_{name}_milliseconds"
                within_bars[f"{size} {key} <= {bar}"] = figures[key] <= bar
    return within_bars


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(step(*sys.argv[2:])))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--million", action="store_true", help="a million passages, too")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--no-wordnet", action="store_true")
    arguments = parser.parse_args()
    names = [str(size) for size in arguments.sizes + [1_000_000] * arguments.million]
    skipped = {}
    if (DICTIONARY / "wn.index").exists() and not arguments.no_wordnet:
        names.append(WORDNET)
    elif not arguments.no_wordnet:
        skipped[WORDNET] = f"no {DICTIONARY / 'wn.index'}; run: apt-get install dict-wn"
    results = {name: compare(name, arguments.engines, arguments.queries) for name in names}
    within_bars = judge(results)
    print(to_json({"corpora": results, "skipped": skipped, "met": within_bars,
                   "sqlite": sqlite3.sqlite_version}))  # fmt: skip
    sys.exit(not all(within_bars.values()))


if __name__ == "__main__":
    main()
