"""Corpora: generated once and kept, one's own, behind servers; and what is wrong with them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from agentgym.envs.search import corpus as corpora
from agentgym.envs.search.corpus import CorpusConfig, open_library
from agentgym.envs.search.env import SearchEnv
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval.index_builder import build_index
from agentgym.retrieval.remote.client import HttpRetriever
from tests.envs.search.library import PASSAGES, QUESTIONS, CountingRetriever, write_questions
from tests.retrieval.servers import answer, hang_up, running, say_nothing, scripted

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"size": 1000, "difficulty": "easy"}
PLAY = """
import hashlib, gymnasium, agentgym
env = gymnasium.make("agentgym/Search-v0", size=1000, difficulty="easy", generator_seed=41)
texts = []
for index in range(5):
    observation, info = env.reset(options={"split": "train", "index": index})
    while not info["stop_reason"]:
        texts.append(observation)
        observation, *_, info = env.step(env.unwrapped.demonstrator_action())
    assert info["success"]
print(hashlib.sha256("".join(texts).encode()).hexdigest())
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of one's own, and a process that remembers nothing."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("AGENTGYM_CACHE", str(folder))
    monkeypatch.setattr(corpora, "_libraries", {})
    return folder


def make(**kwargs: Any) -> SearchEnv:
    env = gymnasium.make("agentgym/Search-v0", **kwargs).unwrapped
    assert isinstance(env, SearchEnv)
    return env


def play(env: SearchEnv, index: int = 1) -> dict[str, Any]:
    """Play the hand-made question about a mayor as its plan says."""
    env.reset(options={"split": "train", "index": index})
    for action in ("search[Belden mayor]", "search[Kit Sorrel born]"):
        info = env.step(action)[4]
        assert info["details"]["new_docs"], action
    return env.step("answer[Harrow]")[4]


def write_corpus(path: Path) -> Path:
    lines = [{"id": p.id, "title": p.title, "text": p.text} for p in PASSAGES]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


# -- the generated encyclopaedia ---------------------------------------------------------------


def test_only_the_universe_that_is_asked_for_is_made(cache: Path) -> None:
    library = open_library(CorpusConfig(**SMALL, seed=5))
    assert not cache.exists()
    library.retriever("valid")
    assert len(list((cache / "search").iterdir())) == 1
    assert library.retriever("valid") is library.retriever("valid")
    assert library.identity("valid") != library.identity("train")
    assert open_library(CorpusConfig(**SMALL, seed=5)) is library


def test_splits_have_universes_of_their_own_or_share_one(cache: Path) -> None:
    def titles(shared: bool) -> list[set[str]]:
        library = open_library(CorpusConfig(**SMALL, shared_corpus=shared))
        results = (library.retriever(split).search(["town"], 50)[0] for split in ("train", "test"))
        return [{hit.passage.text for hit in hits} for hits in results]

    train, test = titles(False)
    assert train and test and not train & test
    train, test = titles(True)
    assert train == test
    env = make(**SMALL, shared_corpus=True)
    assert [env.tasks.len(split) for split in env.tasks.splits] == [400, 50, 50]
    texts = [task.goal for split in env.tasks.splits for task in env.tasks.iterate(split)]
    assert len(set(texts)) == len(texts), "splits share a corpus, not questions"
    assert env.tasks.name == "search/easy-1000-0-shared"


@pytest.mark.slow
def test_two_processes_at_once_make_one_index(tmp_path: Path) -> None:
    env = {**os.environ, "AGENTGYM_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PLAY]
    processes = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in "ab"
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs[0] == outputs[1] and len(outputs[0]) == 65
    (folder,) = (tmp_path / "search").iterdir()
    rerun = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert rerun.stdout == outputs[0] and (folder / "index.json").is_file()


def test_a_damaged_index_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_library(CorpusConfig(**SMALL)).retriever("train").close()
    (folder,) = (cache / "search").iterdir()
    packed = (folder / "passages.bin").read_bytes()
    (folder / "passages.bin").write_bytes(packed[:-9] + b"nonsense!")
    monkeypatch.setattr(corpora, "_libraries", {})
    assert open_library(CorpusConfig(**SMALL)).retriever("train").search(["town"], 3)[0]
    assert (folder / "passages.bin").read_bytes() == packed


def test_a_cache_that_cannot_be_written_is_no_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file where a folder should be")
    env = make(**SMALL, generator_seed=6)
    env.reset(seed=0)
    assert env.tasks.len("train") == 500


def test_a_disk_that_fills_up_is_no_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, fill: Any) -> bool:
        folder.mkdir(parents=True)
        fill(folder)
        (folder / "index.json").unlink()
        folder.rename(folder.with_name("gone"))
        return False

    monkeypatch.setattr(corpora, "save_folder", full)
    assert open_library(CorpusConfig(**SMALL)).retriever("train").search(["town"], 3)[0]


def test_task_ids_and_sizes(cache: Path) -> None:
    env = make(**SMALL, generator_seed=3, hops=(2, 3))
    task = env.tasks.task("test", 4)
    assert task.id.startswith("search/easy-1000-3/test/") and task.content["hops"] in (2, 3)
    assert env.tasks.find(task.id) == task
    assert 0 < env.tasks.len("test") < 500
    assert make(**SMALL, index="tantivy").tasks.name == "search/easy-1000-0-tantivy"
    with pytest.raises(ConfigurationError, match="expected hops among 1, 2, 3, 4, 5"):
        make(**SMALL, hops=7)


# -- corpora of one's own ------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["bm25", "tantivy"])
def test_a_file_is_indexed_once(cache: Path, tmp_path: Path, index: str) -> None:
    if index == "tantivy":
        pytest.importorskip("tantivy")
    questions, corpus = write_questions(tmp_path), write_corpus(tmp_path / "corpus.jsonl")
    env = make(corpus=str(corpus), questions=str(questions), index=index)
    assert play(env)["details"]["gold_recall"] == 1.0
    assert len(list((cache / "search").iterdir())) == 1
    twin = make(corpus=corpus, questions=questions, index=index)
    assert twin.tasks is env.tasks, "a path is a path, however it is given"
    identity = env.tasks.task("train", 0).content["corpus"]
    assert identity == f"corpus.jsonl, {corpus.stat().st_size} bytes"


def test_files_that_have_changed_are_read_again(cache: Path, tmp_path: Path) -> None:
    questions, corpus = write_questions(tmp_path), write_corpus(tmp_path / "corpus.jsonl")
    old = make(corpus=corpus, questions=questions)
    corpus.write_text(corpus.read_text().replace("Kit Sorrel was born in", "Kit Sorrel came from"))
    write_questions(tmp_path, QUESTIONS[1:2])
    new = make(corpus=corpus, questions=questions)
    assert (old.tasks.len("train"), new.tasks.len("train")) == (3, 1)
    for env, index, phrase in ((old, 1, "was born in"), (new, 0, "came from")):
        env.reset(options={"split": "train", "index": index})
        assert phrase in env.step("search[Kit Sorrel]")[0]
    questions.unlink()
    assert pickle.loads(pickle.dumps(new)).tasks is new.tasks, "a copy needs no file"


def test_a_folder_of_texts(cache: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for passage in PASSAGES:
        (folder / f"{passage.title}.md").write_text(f"# {passage.title}\n\n{passage.text}\n")
    env = make(corpus=folder, questions=write_questions(tmp_path))
    assert play(env)["success"]


def test_an_index_folder_is_opened_where_it_lies(cache: Path, tmp_path: Path) -> None:
    build_index(PASSAGES, tmp_path / "index")
    env = make(corpus=tmp_path / "index", questions=write_questions(tmp_path))
    assert play(env)["success"] and not cache.exists()
    assert env.tasks.task("train", 0).content["corpus"].startswith("6 passages, ")
    with pytest.raises(ConfigurationError, match="index to be left out with an index folder"):
        make(corpus=tmp_path / "index", questions=tmp_path / "toy.jsonl", index="tantivy")


def test_a_corpus_that_cannot_be_used(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions, corpus = write_questions(tmp_path), write_corpus(tmp_path / "corpus.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "1", "contents": "x"}\n{"id": \n')
    index = tmp_path / "index"
    build_index(PASSAGES, index)
    (index / "passages.bin").write_bytes(b"")
    for path, part in (
        (tmp_path / "nowhere", "nowhere"),
        (broken, "line 2"),
        (index, "passages.bin"),
    ):
        with pytest.raises(DataError, match=part):
            make(corpus=path, questions=questions)
    monkeypatch.setattr(corpora, "LARGEST_FILE", 10)
    with pytest.raises(ConfigurationError, match="agentgym index"):
        make(corpus=corpus, questions=questions)


# -- servers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["search-r1", "ragen"])
def test_a_server_gives_what_its_retriever_gives(tmp_path: Path, dialect: str) -> None:
    questions = write_questions(tmp_path)
    searcher = make(corpus=CountingRetriever(), questions=questions)
    with running(CountingRetriever()) as url:
        env = make(retriever_url=url, dialect=dialect, questions=questions)
        for member in (searcher, env):
            member.reset(options={"split": "train", "index": 1})
        assert env.step("search[Belden mayor]")[:4] == searcher.step("search[Belden mayor]")[:4]
        assert play(env)["details"]["gold_recall"] == 1.0


def test_a_server_of_the_generated_encyclopaedia(cache: Path) -> None:
    local = make(**SMALL, shared_corpus=True)
    with running(local.tasks.library.retriever("train")) as url:
        env = make(**SMALL, shared_corpus=True, retriever_url=url)
        for member in (env, local):
            member.reset(options={"split": "test", "index": 3})
        action = str(local.demonstrator_action())
        assert env.demonstrator_action() == action
        assert env.step(action)[0] == local.step(action)[0]


def test_a_server_that_fails_costs_the_episode_and_says_why(tmp_path: Path) -> None:
    questions = write_questions(tmp_path)
    more = [{"document": {"id": str(n), "contents": f"T{n}\nx"}, "score": 1.0} for n in range(9)]
    for reply, part in (
        (answer("<html>proxy</html>", kind="text/html"), "a web page"),
        (answer({"result": []}), "0 lists of documents"),
        (hang_up, "1 attempts"),
        (say_nothing, "1 attempts"),
        (answer({"result": [more]}), ""),
    ):
        with scripted(reply) as server:
            patience = 0.3 if reply is say_nothing else 60.0
            retriever = HttpRetriever(server.url, timeout=patience, retries=0)
            env = make(corpus=retriever, questions=questions)
            env.reset(options={"split": "train", "index": 1})
            if part:
                with pytest.raises(EnvFailure, match=part):
                    env.step("search[Belden]")
                observing = make(corpus=retriever, questions=questions, on_error="observe")
                observing.reset(options={"split": "train", "index": 1})
                assert part in observing.step("search[Belden]")[0]
            else:
                assert env.step("search[Belden]")[0].count("Doc ") == 3, "k of nine are shown"


def test_a_server_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.retrieval.remote.client.time.sleep", lambda seconds: None)
    with running(CountingRetriever()) as url:
        pass
    env = make(retriever_url=url, questions=write_questions(tmp_path))
    env.reset(options={"split": "train", "index": 1})
    with pytest.raises(EnvFailure, match="agentgym serve search"):
        env.step("search[Belden]")
    for bad_input in ("localhost", "ftp://x", 7):
        with pytest.raises(ConfigurationError, match="the address of a search server"):
            make(retriever_url=bad_input, questions=write_questions(tmp_path))
