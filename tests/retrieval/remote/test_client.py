"""The client of search servers: every answer is documents, or a sentence that says what came."""

from __future__ import annotations

import json
import os
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.retrieval import Hit, Passage
from agentgym.retrieval.remote import client
from agentgym.retrieval.remote.client import HttpRetriever
from agentgym.support.http_client import Reply, Unanswered
from tests.retrieval.servers import (
    PASSAGES,
    Fixed,
    answer,
    chunked,
    hang_up,
    running,
    say_nothing,
    scripted,
    stop_early,
    then_hang_up,
    trickle,
)

DOCUMENT = {"document": {"id": "7", "contents": '"Title"\ntext'}, "score": 2.5}
ONE = {"result": [[DOCUMENT]]}
EXPECTED = [[Hit(Passage("7", "Title", "text"), 2.5)]]


def connect(url: str, **kwargs: Any) -> HttpRetriever:
    return HttpRetriever(url, **{"backoff": 0.01, "timeout": 5.0, **kwargs})


@pytest.mark.parametrize("dialect", client.DIALECTS)
def test_our_own_server_answers_as_its_retriever_does(dialect: str) -> None:
    with running(Fixed()) as url:
        retriever = connect(url, dialect=dialect)
        expected = Fixed().search(["a", "", "b"], 2)
        assert retriever.search(["a", " \n", "b"], 2) == expected
        assert retriever.search([], 2) == []
        copy = pickle.loads(pickle.dumps(retriever))
        assert copy.search(["a"], 3) == Fixed().search(["a"], 3) and repr(copy) == repr(retriever)
        retriever.close()
        retriever.close()
        assert retriever.search(["a"], 1)[0][0].passage == PASSAGES[0]


def test_what_is_sent_in_each_dialect() -> None:
    with scripted(answer({"result": [[DOCUMENT] * 5, []]})) as server:
        hit_lists = connect(server.url, headers={"Authorization": "Bearer x"}).search(["a", "b"], 3)
        assert [len(hits) for hits in hit_lists] == [3, 0]
        [(path, headers, body)] = server.requests
        assert path == "/retrieve" and headers["Authorization"] == "Bearer x"
        assert body == {"queries": ["a", "b"], "topk": 3, "return_scores": True}
    results = [{"id": "doc_1", "content": '"T"\nx', "score": 1}, {"id": "q", "content": "y"}] * 2
    with scripted(answer({"results": results})) as server:
        hit_lists = connect(f"{server.url}/find?x=1", dialect="ragen").search(["a", "b"], 3)
        assert [item[0] for item in server.requests] == ["/find?x=1"] * 2
        assert [item[2] for item in server.requests] == [
            {"query": "a", "top_k": 3}, {"query": "b", "top_k": 3}]  # fmt: skip
        assert [len(hits) for hits in hit_lists] == [3, 3]
        # an id that only counts the documents of an answer names nothing
        assert [hit.passage.id for hit in hit_lists[0]][1] == "q"
        assert hit_lists[0][0].passage == hit_lists[1][2].passage != hit_lists[0][1].passage
        assert "doc_" not in hit_lists[0][0].passage.id


def test_forms_of_documents_that_servers_send() -> None:
    items: list[Any] = [
        {"document": {"id": 3, "title": "A\nB", "text": "x", "extra": 1}, "score": None},
        {"id": "plain", "contents": "first\nsecond"},
        {"document": {"contents": '"No id"\nx \ud800'}},
        {"document": {"contents": '"No id"\nx \ud800'}, "score": -1},
    ]
    with scripted(answer({"result": [items]})) as server:
        hits = connect(server.url).search(["a"], 9)[0]
    assert hits[0] == Hit(Passage("3", "A B", "x"), 0.0)
    assert hits[1] == Hit(Passage("plain", "first", "second"), 0.0)
    assert hits[2].passage == hits[3].passage and hits[2].passage.text == "x ?"
    assert len(hits[2].passage.id) == 16


@pytest.mark.parametrize(
    "first", [hang_up, stop_early, *(answer("busy", status) for status in client.RETRIED)]
)
def test_a_failure_that_passes_is_not_noticed(first: Any) -> None:
    with scripted(first, first, answer(ONE)) as server:
        assert connect(server.url, retries=2).search(["a"], 3) == EXPECTED
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (hang_up, "RemoteDisconnected"),
        (stop_early, "ended 989 bytes too early"),
        (answer("<html>overloaded</html>", 503), "status 503: '<html>overloaded</html>'"),
    ],
)
def test_a_failure_that_stays_is_a_failure_of_the_environment(reply: Any, words: str) -> None:
    with scripted(reply) as server:
        with pytest.raises(EnvFailure, match=rf"{words}.*\(2 attempts\).*agentgym serve search"):
            connect(server.url, retries=1).search(["a"], 3)
        assert len(server.requests) == 2


@pytest.mark.parametrize("reply", [say_nothing, trickle])
def test_no_answer_in_time(reply: Any) -> None:
    with scripted(reply) as server, pytest.raises(EnvFailure, match=r"time.*1 attempts"):
        connect(server.url, timeout=0.2, retries=0).search(["a"], 3)


def test_any_number_of_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    retriever = HttpRetriever("http://127.0.0.1:1", retries=2000, backoff=0.5)

    def fail(body: bytes) -> Reply:
        raise Unanswered("it is down")

    monkeypatch.setattr(retriever, "_send", fail)
    with pytest.raises(EnvFailure, match=r"2001 attempts"):
        retriever.search(["a"], 1)
    assert pauses[:3] == [0.5, 1.0, 2.0] and pauses[-1] == client.LONGEST_PAUSE


def test_no_listener_is_reported() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{busy.getsockname()[1]}"
        with pytest.raises(EnvFailure, match=r"ConnectionRefusedError.*see that it runs"):
            connect(url, retries=1).search(["a"], 3)


HTML = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (answer(HTML, kind="text/html"), "no JSON .*text/html .*Sign in.*a web page"),
        (answer(""), r"no JSON .*\(empty\)"),
        (answer("[" * 100_000), "no JSON"),
        (answer([]), "no object instead of 'result'"),
        (answer({"results": []}), r"the fields \['results'\] .*dialect among"),
        (answer({"result": {}}), "no list under 'result'"),
        (answer({"result": []}), "0 lists of documents for 1 queries"),
        (answer({"result": [[], []]}), "2 lists of documents for 1 queries"),
        (answer({"result": [{}]}), "no list of documents"),
        (answer({"result": [["text"]]}), "the document 'text'"),
        (answer({"result": [[{"document": None}]]}), "the document None"),
        (answer({"result": [[{"document": {"id": "1"}}]]}), "without 'contents'"),
        (answer({"result": [[{**DOCUMENT, "score": "high"}]]}), "the score 'high'"),
        (answer({"result": [[{**DOCUMENT, "score": True}]]}), "the score True"),
        (answer('{"result": [[{"document": {"contents": "x"}, "score": NaN}]]}'), "no JSON .NaN"),
        (answer({"result": [[{**DOCUMENT, "score": 10**400}]]}), "the score 1000"),
        (answer({"detail": "no such field"}, 422), "status 200, got 422 .*no such field.*dialect"),
        (answer("", 404), "status 200, got 404"),
        (answer("no", 401), "status 200, got 401 .*give it .* by headers"),
        (answer("no", 403), "status 200, got 403 .*give it .* by headers"),
        (answer("", 307, Location="http://elsewhere/"), "got 307 .* to http://elsewhere/"),
    ],
)
def test_an_answer_of_another_form_says_what_came(reply: Any, words: str) -> None:
    with scripted(reply) as server:
        with pytest.raises(EnvFailure, match=words) as caught:
            connect(server.url).search(["a"], 3)
        assert server.url in str(caught.value) and len(str(caught.value)) < 700
        assert len(server.requests) == 1


@pytest.mark.parametrize("content", [{"result": []}, {"results": [3]}, {"results": [{"id": "x"}]}])
def test_an_answer_of_another_form_in_the_other_dialect(content: Any) -> None:
    with scripted(answer(content)) as server, pytest.raises(EnvFailure, match="dialect 'ragen'"):
        connect(server.url, dialect="ragen").search(["a"], 3)


def test_an_answer_without_end_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 1000)
    with scripted(answer("x" * 5000)) as server:
        with pytest.raises(EnvFailure, match="at most 1,000 bytes"):
            connect(server.url).search(["a"], 3)
        server.replies = [answer(ONE)]
        monkeypatch.undo()
        assert connect(server.url).search(["a"], 3) == EXPECTED


def test_many_queries_go_in_few_requests_and_long_ones_are_cut() -> None:
    retriever = Fixed()
    with running(retriever) as url:
        queries = [f"query {i}" for i in range(600)]
        assert connect(url).search(queries, 1) == Fixed().search(queries, 1)
        assert sorted(len(queries) for queries, _ in retriever.requests) == [88, 256, 256]
        retriever.requests.clear()
        hostile = ["\0" * 1_000_000, "\ud800" * 1_000_000, "\U0001f469" * 1_000_000] * 100
        assert all(connect(url).search(hostile, 1))
        assert max(len(query) for batch, _ in retriever.requests for query in batch) == 8192


def test_connections_are_kept_and_threads_share_them() -> None:
    with scripted(answer(ONE)) as server:
        retriever = connect(server.url)
        for _ in range(5):
            retriever.search(["a"], 1)
        assert len(server.connections) == 1
        with ThreadPoolExecutor(8) as threads:
            assert (
                list(threads.map(lambda i: retriever.search(["a"], 1), range(64)))
                == [EXPECTED] * 64
            )
        assert len(server.connections) <= 9


def test_a_connection_that_was_closed_meanwhile_costs_no_attempt() -> None:
    with scripted(then_hang_up(answer(ONE))) as server:
        retriever = connect(server.url, retries=0)
        for _ in range(3):
            assert retriever.search(["a"], 1) == EXPECTED
        assert len(server.connections) == 3


@pytest.mark.parametrize("header", [{}, {"Connection": "close"}])
def test_a_server_may_close_connections(header: dict[str, str]) -> None:
    with scripted(answer(ONE, **header)) as server:
        retriever = connect(server.url)
        assert [retriever.search(["a"], 1) for _ in range(3)] == [EXPECTED] * 3
        assert len(server.connections) == (3 if header else 1)


def test_answers_in_chunks() -> None:
    data = json.dumps(ONE).encode()
    with scripted(chunked(data[:9], data[9:])) as server:
        retriever = connect(server.url)
        assert [retriever.search(["a"], 1) for _ in range(3)] == [EXPECTED] * 3
        assert len(server.connections) == 1
    broken = chunked(data[:9], complete=False)
    with scripted(broken) as server, pytest.raises(EnvFailure, match="IncompleteRead"):
        connect(server.url, retries=0).search(["a"], 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_fork_opens_connections_of_its_own() -> None:
    with scripted(answer(ONE)) as server:
        retriever = connect(server.url)
        retriever.search(["a"], 1)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if retriever.search(["a"], 1) == EXPECTED else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert retriever.search(["a"], 1) == EXPECTED
        assert len(server.connections) == 2


@pytest.mark.parametrize(
    ("url", "kwargs", "words"),
    [
        ("127.0.0.1:8000", {}, "the address of a search server"),
        ("ftp://host/", {}, "the address of a search server"),
        ("http://", {}, "the address of a search server"),
        ("http://host:99999", {}, "the address of a search server"),
        ("http://h\u00f6st/", {}, "the address of a search server"),
        ("http://host/a b", {}, "the address of a search server"),
        ("http://host/\r\nX: y", {}, "the address of a search server"),
        (None, {}, "the address of a search server"),
        ("http://host", {"dialect": "bing"}, "dialect to be one of search-r1, ragen"),
        ("http://host", {"timeout": 0}, "timeout in seconds, above 0"),
        ("http://host", {"backoff": -1}, "backoff in seconds, of at least 0"),
        ("http://host", {"retries": -1}, "retries"),
        ("http://host", {"headers": {"A": "b\r\nC: d"}}, "headers of printable"),
        ("http://host", {"headers": {"A:B": "c"}}, "headers of printable"),
        ("http://host", {"headers": {"": "c"}}, "headers of printable"),
        ("http://host", {"headers": ["A: b"]}, "headers as a dict, got a list"),
    ],
)
def test_bad_arguments(url: Any, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        HttpRetriever(url, **kwargs)
    with pytest.raises(ConfigurationError, match="expected k"):
        HttpRetriever("http://host").search(["a"], 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["result", "results", "document", "id", "contents", "text", "title",
                         "content", "score"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(content=JSON, dialect=st.sampled_from(client.DIALECTS))
def test_no_answer_ends_in_another_error(content: Any, dialect: str) -> None:
    retriever = HttpRetriever("http://127.0.0.1:1", dialect=dialect)
    retriever._post = lambda body: Reply(200, "", "", "", json.dumps(content).encode())  # type: ignore[method-assign]
    try:
        results = retriever.search(["a"], 2)
    except EnvFailure:
        return
    assert len(results) == 1 and all(isinstance(hit, Hit) for hit in results[0])
