"""The search server: the payloads of its clients, and every bad request."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.retrieval import Hit
from agentgym.retrieval.remote.server import LARGEST_BODY, make_app, serve
from agentgym.support.http_server import is_loopback, listen
from tests.retrieval.servers import Fixed, running

CONTENTS = [
    '"Evan Morris"\nEvan L. Morris was a lobbyist.',
    '"The "Quoted" House"\nTwo lines\nof text with \u00e9 and \U0001f469.',
    '""\nno title',
]
DOCUMENTS = [{"id": str(i), "contents": contents} for i, contents in enumerate(CONTENTS)]
SCORED = [{"document": document, "score": 1 / (i + 1)} for i, document in enumerate(DOCUMENTS)]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running(Fixed()) as url:
        yield url.removeprefix("http://")


def ask(
    address: str, body: Any, method: str = "POST", path: str = "/retrieve", **headers: str
) -> Any:
    link = http.client.HTTPConnection(address, timeout=10)
    try:
        data = body if isinstance(body, str | bytes | None) else json.dumps(body)
        link.request(method, path, data, {"Content-Type": "application/json", **headers})
        response = link.getresponse()
        assert response.headers["Content-Type"] == "application/json"
        return response.status, json.loads(response.read())
    finally:
        link.close()


def test_search_r1_and_its_example_request(address: str) -> None:
    # generation.py and retrieval_request.py of Search-R1
    body = {"queries": ["What is Python?", "Tell me about neural networks."], "topk": 3,
            "return_scores": True}  # fmt: skip
    assert ask(address, body) == (200, {"result": [SCORED, SCORED]})


def test_verl_and_skyrl(address: str) -> None:
    # search_r1_like_utils.py of verl and search.py of SkyRL, and how they read what they get
    requests = pytest.importorskip("requests")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    body = {"queries": ["one query"], "topk": 2, "return_scores": True}
    response = requests.Session().post(
        f"http://{address}/retrieve", headers=headers, json=body, timeout=30
    )
    response.raise_for_status()
    [documents] = response.json().get("result", [])
    passages = [item["document"]["contents"].split("\n", 1) for item in documents]
    assert passages == [contents.split("\n", 1) for contents in CONTENTS[:2]]


def test_ragen(address: str) -> None:
    # retrieval_client.py of RAGEN: a health check, then one query per request
    assert ask(address, None, "GET", "/health") == (200, {"status": "healthy"})
    status, content = ask(address, {"query": "one query", "top_k": 10})
    assert status == 200
    assert [item["content"] for item in content.get("results", [])] == CONTENTS
    assert [(item["id"], f"{item['score']:.3f}") for item in content["results"]] == [
        ("0", "1.000"), ("1", "0.500"), ("2", "0.333")]  # fmt: skip


@pytest.mark.parametrize("scores", [{"return_scores": False}, {"return_scores": None}, {}])
def test_without_scores_the_items_are_the_documents(address: str, scores: dict[str, Any]) -> None:
    assert ask(address, {"queries": ["a"], "topk": 2, **scores}) == (
        200,
        {"result": [DOCUMENTS[:2]]},
    )


@pytest.mark.parametrize("topk", [{"topk": None}, {"topk": 0}, {}])
def test_the_number_of_documents_may_be_left_to_the_server(topk: dict[str, Any]) -> None:
    retriever = Fixed()
    with running(retriever, topk=2) as url:
        status, content = ask(url.removeprefix("http://"), {"queries": ["a"], **topk})
    assert status == 200 and len(content["result"][0]) == 2
    assert retriever.requests == [(["a"], 2)]


def test_empty_queries(address: str) -> None:
    assert ask(address, {"queries": []}) == (200, {"result": []})
    assert ask(address, {"queries": ["", "a"], "topk": 1}) == (200, {"result": [[], DOCUMENTS[:1]]})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("", 400, "expected a JSON object"),
        ("{", 400, "expected a JSON object"),
        (b"\xff\xfe", 400, "expected a JSON object"),
        ("[" * 100_000, 400, "expected a JSON object"),
        ([], 400, "expected a JSON object"),
        ({}, 400, 'expected {"queries"'),
        ({"q": "x"}, 400, "got the fields ['q']"),
        ({"queries": "x"}, 400, "a list of strings"),
        ({"queries": ["x", 1]}, 400, "a list of strings"),
        ({"queries": ["x"] * 1025}, 400, "at most 1024 queries"),
        ({"queries": ["x"], "topk": -1}, 400, "topk to be an integer of at least 0"),
        ({"queries": ["x"], "topk": True}, 400, "topk to be an integer"),
        ({"queries": ["x"], "topk": "3"}, 400, "topk to be an integer"),
        ({"queries": ["x"], "topk": 101}, 400, "topk to be at most 100"),
        ({"queries": ["x"], "return_scores": "yes"}, 400, "return_scores to be true or false"),
        ({"query": ["x"]}, 400, "a list of strings"),
        ({"query": "x", "top_k": 1.5}, 400, "top_k to be an integer"),
        ('{"queries": ["' + "x" * LARGEST_BODY + '"]}', 413, "at most 16,777,216 bytes"),
    ],
)
def test_bad_requests(address: str, body: Any, status: int, words: str) -> None:
    response_status, content = ask(address, body)
    assert response_status == status and words in content["error"] and len(content["error"]) < 400


def test_other_paths_and_methods(address: str) -> None:
    for method, path, status in [("GET", "/retrieve", 405), ("POST", "/", 404), ("GET", "/x", 404)]:
        response_status, content = ask(address, "", method, path)
        assert response_status == status and content["error"].startswith(
            "expected POST /retrieve or GET /health"
        )


def test_clients_that_break_off(address: str, caplog: pytest.LogCaptureFixture) -> None:
    host, port = address.split(":")
    for data in (b"", b"POST", b"POST /retrieve HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
                 b"\x16\x03\x01 no HTTP\r\n\r\n"):  # fmt: skip
        with socket.create_connection((host, int(port))) as link:
            link.sendall(data)
        assert ask(address, None, "GET", "/health")[0] == 200
    assert "Traceback" not in caplog.text and "Exception" not in caplog.text


def test_hostile_queries_reach_the_retriever_as_they_are() -> None:
    retriever = Fixed()
    queries = ["\0", "\ud800", '"AND OR title:(', "x" * 1_000_000, "\u202e"]
    with running(retriever) as url:
        status, content = ask(url.removeprefix("http://"), {"queries": queries})
    assert status == 200 and len(content["result"]) == 5 and retriever.requests == [(queries, 3)]


class Failing(Fixed):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [(EnvFailure("it is down"), 503), (DataError("it is damaged"), 500), (KeyError("bug"), 500)],
)
def test_failures_of_the_retriever(error: Exception, status: int) -> None:
    with running(Failing(error)) as url:
        address = url.removeprefix("http://")
        response_status, content = ask(address, {"queries": ["x"]})
        assert response_status == status and content["error"].startswith("the search failed")
        assert ask(address, None, "GET", "/health")[0] == 200


def test_a_long_search_does_not_block_others() -> None:
    free = threading.Event()

    class Slow(Fixed):
        def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
            assert free.wait(10)
            return super().search(queries, k)

    with running(Slow()) as url:
        address = url.removeprefix("http://")
        thread = threading.Thread(target=ask, args=(address, {"queries": ["x"]}))
        thread.start()
        assert ask(address, None, "GET", "/health")[0] == 200
        free.set()
        thread.join()


def test_answers_do_not_wait_for_acknowledgements() -> None:
    # asyncio switches the Nagle algorithm off for connections whose protocol is named
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.proto == socket.IPPROTO_TCP


def test_a_taken_port_and_other_bad_arguments() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        with pytest.raises(ConfigurationError, match="choose another port with --port"):
            serve(Fixed(), port=busy.getsockname()[1])
    for host in ("192.0.2.1", "a" * 300):  # nobody's, and no name
        with pytest.raises(ConfigurationError, match="choose another host"):
            serve(Fixed(), host=host)
    for kwargs in ({"port": 70_000}, {"topk": 0}, {"topk": 101}):
        with pytest.raises(ConfigurationError, match=f"expected {next(iter(kwargs))}"):
            serve(Fixed(), **kwargs)
    with pytest.raises(ConfigurationError, match="expected topk"):
        make_app(Fixed(), topk=0)


def test_which_addresses_are_this_machine() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))
