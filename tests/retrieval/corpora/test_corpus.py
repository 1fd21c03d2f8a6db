"""Corpora of one's own: every form that is read, and everything that can be wrong with one."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import AgentGymError, ConfigurationError, DataError
from agentgym.retrieval import Passage
from agentgym.retrieval.corpora import corpus
from agentgym.retrieval.corpora.corpus import Corpus, IdSet

EVAN = {"id": "0", "contents": '"Evan Morris"\nEvan L. Morris was a lobbyist.'}


def lines(path: Path, records: Iterable[Any]) -> Path:
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records)
    data = text.encode("utf-8", "surrogatepass")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["wiki.jsonl", "wiki.jsonl.gz", "WIKI.NDJSON"])
def test_both_forms_of_json_lines(tmp_path: Path, name: str) -> None:
    path = lines(tmp_path / name, [
        EVAN, "", {"id": 1, "title": "A \n title", "text": " text\nof two lines "},
        {"id": "2", "text": "no title"}, {"id": "3", "title": None, "contents": "T\nx", "more": 1},
    ])  # fmt: skip
    assert list(Corpus(path)) == [
        Passage("0", "Evan Morris", "Evan L. Morris was a lobbyist."),
        Passage("1", "A title", "text\nof two lines"),
        Passage("2", "", "no title"),
        Passage("3", "T", "x"),
    ]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(EVAN).encode())
    (tmp_path / "b.md").write_bytes(b"\xef\xbb\xbf# Title\ntext")
    assert [passage.title for passage in Corpus(tmp_path)] == ["Evan Morris", "Title"]


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b/note.txt", "a.md", "b/a/deep.MD", ".git/config.txt", "b/.hidden.txt", "b.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"This is {name}.")
    (tmp_path / "z.txt.gz").write_bytes(gzip.compress(b"one\n\n" + b"word " * 40))
    passages = list(Corpus(tmp_path, passage_chars=100))
    assert [(p.id, p.title, p.text[:12]) for p in passages] == [
        ("a.md#1", "a", "This is a.md"),
        ("b/a/deep.MD#1", "deep", "This is b/a/"),
        ("b/note.txt#1", "note", "This is b/no"),
        ("z.txt.gz#1", "z", "one"),
        ("z.txt.gz#2", "z", "word word wo"),
        ("z.txt.gz#3", "z", "word word wo"),
    ]
    assert list(Corpus(tmp_path / "a.md")) == [Passage("a.md#1", "a", "This is a.md.")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "expected a JSON object"),
        ("[" * 100_000, "expected a JSON object"),
        ("[1]", "expected a JSON object"),
        ("9" * 5000, "expected a JSON object"),
        ({"contents": "x"}, r"expected an id .* got the fields \['contents'\]"),
        ({"id": None, "text": "x"}, "expected an id .* got None"),
        ({"id": True, "text": "x"}, "expected an id .* got True"),
        ({"id": 1.5, "text": "x"}, "expected an id .* got 1.5"),
        ({"id": "", "text": "x"}, "expected an id"),
        ({"id": "a\nb", "text": "x"}, "expected an id"),
        ({"id": "a" * 501, "text": "x"}, "expected an id"),
        ({"id": "a"}, r"the text of a passage .* got the fields \['id'\]"),
        ({"id": "a", "contents": 3}, "the text of a passage"),
        ({"id": "a", "title": ["x"], "text": "x"}, "the text of a passage"),
        ({"id": "a", "text": " \n", "title": ""}, "a passage with a text"),
        ({"id": "a", "contents": '""\n'}, "a passage with a text"),
        ('{"id": "a", "text": "\\ud800"}', "half a surrogate pair"),
        ('{"id": "a", "text": "\udc80"}', "JSON in UTF-8"),
    ],
)
def test_a_broken_line_is_named_or_left_out(tmp_path: Path, line: Any, words: str) -> None:
    path = lines(tmp_path / "c.jsonl", [EVAN, line, {"id": "9", "text": "after"}])
    with pytest.raises(DataError, match=f"{words}.*--skip-broken-rows") as caught:
        list(Corpus(path))
    assert f"{path}, line 2, got" in str(caught.value) and len(str(caught.value)) < 700
    lenient_corpus = Corpus(path, skip_broken_rows=True)
    assert [passage.id for passage in lenient_corpus] == ["0", "9"]
    assert lenient_corpus.broken == 1 and f"{path}, line 2" in lenient_corpus.first_problem
    list(lenient_corpus)
    assert lenient_corpus.broken == 1


def test_a_line_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "LONGEST_LINE", 1000)
    monkeypatch.setattr(corpus, "BLOCK", 64)
    long = {"id": "1", "text": "x" * 5000}
    path = lines(tmp_path / "c.jsonl", [EVAN, long, {"id": "2", "text": "after"}])
    with pytest.raises(DataError, match="line 2, got a longer line"):
        list(Corpus(path))
    assert [passage.id for passage in Corpus(path, skip_broken_rows=True)] == ["0", "2"]
    (tmp_path / "t.txt").write_text("\u00e9" * 500)  # blocks end within characters
    assert "".join(p.text for p in Corpus(tmp_path / "t.txt")) == "\u00e9" * 500


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("caf\u00e9\n".encode("latin-1"), "the byte 0xe9 .*iconv"),
        ("caf\u00e9\n".encode("utf-16"), "UTF-16"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a binary file"),
        (b"text \x00 text\n", "a binary file"),
        ("caf\u00e9".encode()[:-1], "ends within a character"),
    ],
)
@pytest.mark.parametrize("name", ["b.txt", "b.md.gz"])
def test_a_file_that_is_no_text_is_named_or_left_out(
    tmp_path: Path, data: bytes, words: str, name: str
) -> None:
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "c.txt").write_text("last")
    data = b"ab\n" + data
    if data[3:5] == b"\xff\xfe":
        data = data[3:]
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(DataError, match=words) as caught:
        list(Corpus(tmp_path))
    assert f"{tmp_path / name}, line " in str(caught.value)
    lenient_corpus = Corpus(tmp_path, skip_broken_rows=True)
    assert {"a.txt#1", "c.txt#1"} <= {passage.id for passage in lenient_corpus}
    assert lenient_corpus.broken == 1


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-9], lambda data: data[:40] + b"\0\0\0\0" + data[44:], lambda data: b"no"],
)
def test_a_damaged_gzip_file_is_an_error_even_when_skipping(tmp_path: Path, damage: Any) -> None:
    path = lines(tmp_path / "c.jsonl.gz", [{"id": i, "text": random.random()} for i in range(99)])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"a whole gzip file, but reading stopped after line \d+"):
        list(Corpus(path, skip_broken_rows=True))


def test_paths_that_hold_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        Corpus(tmp_path / "none")
    with pytest.raises(DataError, match="got a folder without any"):
        Corpus(tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(DataError, match="expected a corpus in a file that ends in"):
        Corpus(tmp_path / "a.pdf")
    with pytest.raises(ConfigurationError, match="passage_chars"):
        Corpus(tmp_path, passage_chars=10)


def test_the_share_that_has_been_read(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl.gz", "c.txt"):
        records = [{"id": f"{name}{i}", "text": "text " * 50} for i in range(2000)]
        lines(tmp_path / name, records)
    folder_corpus = Corpus(tmp_path)
    shares = [folder_corpus.bytes_read / folder_corpus.size for _ in folder_corpus]
    assert shares == sorted(shares) and shares[0] < 0.4 and shares[-1] <= 1
    assert folder_corpus.bytes_read == folder_corpus.size


def test_the_set_of_ids_is_a_set() -> None:
    names, ids = set(), IdSet()
    numbers = random.Random(0)
    for _ in range(20_000):
        name = str(numbers.randrange(9000))
        assert ids.add(name) == (name not in names)
        names.add(name)


@settings(max_examples=150, deadline=None)
@given(
    data=st.binary(max_size=200) | st.text(max_size=80).map(str.encode),
    name=st.sampled_from(["x.jsonl", "x.md", "x.txt.gz"]),
    skip=st.booleans(),
)
def test_no_content_ends_in_another_error(
    data: bytes, name: str, skip: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(data)
    try:
        list(Corpus(path, skip_broken_rows=skip))
    except AgentGymError:
        assert not skip or name.endswith(".gz")
