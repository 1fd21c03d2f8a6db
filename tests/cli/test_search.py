"""``agentgym index`` and ``agentgym serve search``, as a person calls them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentgym.retrieval.index_builder import open_index
from agentgym.retrieval.remote.client import DIALECTS, HttpRetriever
from tests.cli.test_commands import run, wide
from tests.warm_python import run_warm

__all__ = ["wide"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "animals.md").write_text("# Cats\nCats purr.\n\n# Dogs\nDogs bark.\n")
    record = {"id": 7, "contents": '"Trees"\nTrees grow slowly.'}
    (folder / "more.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.mark.parametrize("index", ["bm25", "tantivy"])
def test_index_says_what_to_do_next(capsys, corpus, tmp_path, index):
    output = tmp_path / "index"
    code, out, err = run(capsys, "index", str(corpus), "--out", str(output), "--index", index)
    assert (code, err) == (0, "")
    assert f"3 passages of 2 file(s) indexed in {output} (index {index}, " in out
    assert f"agentgym play search --env-kwargs corpus={output} --env-kwargs questions=" in out
    assert out.rstrip().endswith(f"agentgym serve search --corpus {output}")
    [[hit]] = open_index(output).search(["slow growing trees"], 1)
    assert hit.passage.id == "7"


def test_index_cuts_texts_where_it_is_told(capsys, corpus, tmp_path):
    (corpus / "long.txt").write_text("Sentence. " * 100)
    argv = ("index", str(corpus), "--out", str(tmp_path / "i"), "--passage-chars", "100")
    assert "13 passages of 3 file(s)" in run(capsys, *argv)[1]


def test_index_counts_what_it_leaves_out(capsys, corpus, tmp_path):
    (corpus / "more.jsonl").write_text(
        '{"id": 1}\n{"id": 2, "text": "sun"}\n{"id": 2, "text": "x"}'
    )
    argv = ("index", str(corpus), "--out", str(tmp_path / "i"))
    code, out, err = run(capsys, *argv)
    assert (
        code == 2
        and "more.jsonl, line 1, got the fields ['id']" in err
        and "--skip-broken-rows" in err
    )
    assert not (tmp_path / "i").exists()
    code, out, err = run(capsys, *argv, "--skip-broken-rows")
    assert code == 0 and "3 passages of 2 file(s)" in out
    assert "2 left out; the first: expected the text of a passage" in out
    code, out, err = run(capsys, *argv)
    assert code == 2 and "--overwrite" in err
    assert run(capsys, *argv, "--skip-broken-rows", "--overwrite")[0] == 0


def test_index_after_a_kill_starts_over_and_says_so(capsys, corpus, tmp_path, caplog):
    (tmp_path / ".i.building").mkdir()
    (tmp_path / ".i.building" / "passages.bin").write_bytes(b"half")
    argv = ("index", str(corpus), "--out", str(tmp_path / "i"))
    assert run(capsys, *argv)[0] == 0
    assert "was stopped before its end; it starts over" in caplog.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "i"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["index", "/nonexistent", "--out", "x"], "does not exist"),
        (["index", "/nonexistent"], "--out"),
        (["index", ".", "--out", "x", "--index", "faiss"], "faiss"),
        (["index", ".", "--out", "x", "--passage-chars", "1"], "expected passage_chars"),
        (["serve", "search", "--corpus", "/nonexistent"], "got no such folder; make one with"),
        (["serve", "search"], "--corpus"),
        (["serve", "games", "--corpus", "x"], "games"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, argv, words):
    code, out, err = run(capsys, *argv)
    assert code == 2 and words in out + err and "Traceback" not in err + out


@contextmanager
def serving(index: Path, *argv: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; yields it and the line that it prints."""
    command = [sys.executable, "-m", "agentgym", "serve", "search", "--corpus", str(index)]
    with subprocess.Popen(
        [*command, "--port", "0", *argv], text=True, env={**os.environ, "COLUMNS": "80"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def test_serve_answers_every_dialect_and_stops_cleanly(capsys, corpus, tmp_path):
    index = tmp_path / "index"
    run(capsys, "index", str(corpus), "--out", str(index))
    local = open_index(index)
    with serving(index, "--topk", "2") as (process, line):
        url = line.split(" is searched at ")[1].split("/retrieve")[0]
        assert "press Ctrl-C to stop" in line
        queries = ["cats and dogs", "trees", "", "nothing known", "x" * 1_000_000]
        for dialect in DIALECTS:
            retriever = HttpRetriever(url, dialect=dialect)
            assert retriever.search(queries, 3) == local.search(queries, 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (130, "", "stopped\n")


def test_serve_refuses_a_taken_port_and_warns_of_others(capsys, corpus, tmp_path):
    index = tmp_path / "index"
    run(capsys, "index", str(corpus), "--out", str(index))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = str(listener.getsockname()[1])
        code, _, err = run(capsys, "serve", "search", "--corpus", str(index), "--port", port)
        assert code == 2 and "choose another port with --port" in err
        argv = ("--host", "0.0.0.0", "--port", port)
        code, out, _ = run(capsys, "serve", "search", "--corpus", str(index), *argv)
        assert code == 2 and "warning: host 0.0.0.0 lets every machine" in out


def test_the_commands_need_no_engine_that_is_not_asked_for(corpus, tmp_path):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['tantivy', 'usearch', 'starlette', "
        "'uvicorn'])); from agentgym.cli import main; "
        f"sys.exit(main(['index', {str(corpus)!r}, '--out', {str(tmp_path / 'i')!r}]))"
    )
    process = run_warm([], code)
    assert process.returncode == 0, process.stderr
    code = code.replace("'index'", "'serve', 'search', '--corpus', 'x'").replace(
        f"'x', {str(corpus)!r}, '--out', ", "")  # fmt: skip
    process = run_warm([], code)
    assert process.returncode == 2 and "[search]" in process.stderr
