"""Passages from a search server: the protocols of Search-R1 and of RAGEN.

========= ======================================== ===========================================
dialect   request                                  answer
========= ======================================== ===========================================
search-r1 ``{"queries", "topk", "return_scores"}`` ``{"result": [[{"document", "score"}]]}``
ragen     ``{"query", "top_k"}``                   ``{"results": [{"id", "content", "score"}]}``
========= ======================================== ===========================================

A document is ``{"id", "contents"}``, or has ``title`` and ``text``. Servers of the first kind are
those of Search-R1 and of everybody who took its protocol over, and ``agentgym serve search``.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agentgym.core import options
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.retrieval.passage_text import split_contents
from agentgym.retrieval.retriever import LONGEST_QUERY, Hit, Passage
from agentgym.support.http_client import Connections, Reply, Unanswered, server_address
from agentgym.support.strict_json import dump_json, parse_json

DIALECTS = ("search-r1", "ragen")
RETRIED = (429, 500, 502, 503, 504)
"""Statuses after which a request is sent again."""
REFUSED = (401, 403)
"""Statuses of a server that requires authentication."""
QUERIES_PER_REQUEST = 256
LARGEST_ANSWER = 1 << 28
"""Most bytes of an answer."""
LONGEST_PAUSE = 10.0
"""Most seconds between two attempts."""


_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+").fullmatch
"""Names of headers, which are tokens (RFC 9110, section 5.1)."""


class _Unexpected(Exception):
    """The server's answer has another form than the dialect's; says which."""


class HttpRetriever:
    """A client of a search server; safe for threads and forks, and pickled as its arguments.

    Connections stay open between searches. Proxy variables of the environment are ignored, and so
    are a name and password in the address; use ``headers``.

    Args:
        url: Address of the server, ``http://127.0.0.1:8000`` or with the path of its search, which
            is ``/retrieve`` if left out.
        dialect: ``"search-r1"`` (one request for many queries) or ``"ragen"`` (one for each).
        timeout: Seconds until an attempt to get an answer fails.
        retries: How often a request is sent again after a failed connection, a timeout or a
            status among :data:`RETRIED`.
        backoff: Seconds before the first repetition; doubled for each further one, up to
            :data:`LONGEST_PAUSE`.
        headers: Further headers, for example for a server that asks for a token.

    Raises:
        ConfigurationError: An argument is out of range.
    """

    def __init__(
        self,
        url: str,
        *,
        dialect: str = "search-r1",
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.5,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url = server_address(url, "search", "/retrieve")
        self.dialect = options.choice(dialect, "dialect", DIALECTS)
        self.retries = options.integer(retries, "retries", 0)
        self.timeout = _seconds(timeout, "timeout", above=0.0)
        self.backoff = _seconds(backoff, "backoff")
        self.headers = _checked(headers or {})
        parts = urlsplit(self.url)
        self._path = urlunsplit(("", "", parts.path, parts.query, ""))
        self._connections = Connections(parts.scheme, parts.netloc, self.timeout)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Search on the server; empty queries are not sent and have no hits.

        Raises:
            EnvFailure: The server cannot be reached, fails, or does not return documents.
            ConfigurationError: ``k`` is below 1.
        """
        options.integer(k, "k", 1)
        results: list[list[Hit]] = [[] for _ in queries]
        texts = [_sound(query[:LONGEST_QUERY]).strip() for query in queries]
        places = [place for place, text in enumerate(texts) if text]
        size = QUERIES_PER_REQUEST if self.dialect == "search-r1" else 1
        for first in range(0, len(places), size):
            some = places[first : first + size]
            answers = self._ask([texts[place] for place in some], k)
            for place, hits in zip(some, answers, strict=True):
                results[place] = hits[:k]
        return results

    def close(self) -> None:
        """Close the connections; a later search opens them again."""
        self._connections.close()

    def __repr__(self) -> str:
        """Name the server."""
        return f"HttpRetriever({self.url!r}, dialect={self.dialect!r})"

    def __reduce__(self) -> Any:
        """Travel as the arguments."""
        kwargs = {name: getattr(self, name) for name in
                  ("dialect", "timeout", "retries", "backoff", "headers")}  # fmt: skip
        return partial(HttpRetriever, **kwargs), (self.url,)

    # -- parts ----------------------------------------------------------------------------------

    def _ask(self, queries: list[str], k: int) -> list[list[Hit]]:
        """Send one request and read its answer."""
        body: dict[str, Any]
        if self.dialect == "search-r1":
            # Servers of Search-R1's own fail on requests that do not ask for scores.
            body = {"queries": queries, "topk": k, "return_scores": True}
        else:
            body = {"query": queries[0], "top_k": k}
        reply = self._post(dump_json(body).encode())
        try:
            answer = _json(reply.body)
            if self.dialect == "ragen":
                return [_hits(_field(answer, "results"), _from_ragen)]
            lists = _field(answer, "result")
            if len(lists) != len(queries):
                raise _Unexpected(f"{len(lists)} lists of documents for {len(queries)} queries")
            return [_hits(documents, _from_search_r1) for documents in lists]
        except _Unexpected as problem:
            raise EnvFailure(
                f"expected documents in the form of the dialect {self.dialect!r} from {self.url}, "
                f"got {problem} in an answer of type {reply.kind or 'unknown'} that begins "
                f"{_beginning(reply.body)}; {_advice(reply.body)}"
            ) from None

    def _post(self, body: bytes) -> Reply:
        """Send a request, again if that may help."""
        problem: Unanswered | None = None
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(self.backoff * 2 ** min(attempt - 1, 60), LONGEST_PAUSE))
            try:
                return self._send(body)
            except Unanswered as error:
                problem = error
        raise EnvFailure(
            f"expected the search server {self.url} to answer, but {problem} ({self.retries + 1} "
            "attempts); see that it runs and can be reached from here (agentgym serve search "
            "starts one), or give it more time with timeout and retries"
        )

    def _send(self, body: bytes) -> Reply:
        """Send a request once.

        Raises:
            Unanswered: It may be answered when it is sent again.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        reply = self._connections.request(
            self._path, body, {**headers, **self.headers}, LARGEST_ANSWER
        )
        if reply.status in RETRIED:
            raise Unanswered(f"it answered with status {reply.status}: {_beginning(reply.body)}")
        if reply.status != 200:
            redirect = f" to {reply.location}" if reply.location else ""
            remedy = (
                "give it what it lets in by headers, such as {'Authorization': 'Bearer ...'}"
                if reply.status in REFUSED else
                f"correct the address, or the dialect (one of {', '.join(DIALECTS)}; it is "
                f"{self.dialect!r})"
            )  # fmt: skip
            raise EnvFailure(
                f"expected the search server {self.url} to answer with status 200, got "
                f"{reply.status} {reply.reason}{redirect}: {_beginning(reply.body)}; {remedy}"
            )
        if len(reply.body) > LARGEST_ANSWER:
            raise EnvFailure(
                f"expected an answer of at most {LARGEST_ANSWER:,} bytes from {self.url}, got "
                "more; ask for fewer documents"
            )
        return reply


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Validate headers; the values may be secret and are not shown."""
    if not isinstance(headers, Mapping):
        raise ConfigurationError(f"expected headers as a dict, got a {type(headers).__name__}")
    for name, value in headers.items():
        sound = isinstance(name, str) and isinstance(value, str) and _HEADER(name)
        if not (sound and value.isascii() and value.isprintable()):
            raise ConfigurationError(
                f"expected headers of printable ASCII text, got another value for {name!r:.80}"
            )
    return dict(headers)


def _seconds(value: float, name: str, above: float = -1.0) -> float:
    """Validate a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < 1e6:
        least = "above 0" if above == 0.0 else "of at least 0"
        raise ConfigurationError(f"expected {name} in seconds, {least}, got {value!r:.80}")
    return float(value)


def _sound(text: str) -> str:
    """Replace half surrogate pairs, which JSON can hold and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError as error:
        raise _Unexpected(f"no JSON ({error})") from None


def _field(answer: Any, name: str) -> list[Any]:
    """Return the list that an answer holds under a name."""
    if not isinstance(answer, dict) or name not in answer:
        actual = f"the fields {sorted(answer)}" if isinstance(answer, dict) else "no object"
        raise _Unexpected(f"{actual} instead of {name!r}")
    if not isinstance(answer[name], list):
        raise _Unexpected(f"no list under {name!r}")
    return answer[name]


def _hits(documents: Any, read_document: Callable[[Any], tuple[Passage, Any]]) -> list[Hit]:
    """Read the documents of one query."""
    if not isinstance(documents, list):
        raise _Unexpected("no list of documents for a query")
    hits = []
    for document in documents:
        passage, score = read_document(document)
        hits.append(Hit(passage, _score(score)))
    return hits


def _score(value: Any) -> float:
    """Read a score; servers in front of web searches know none, which is 0."""
    if value is None:
        return 0.0
    try:
        if not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    except (TypeError, OverflowError):
        pass
    raise _Unexpected(f"the score {value!r:.40}")


def _from_search_r1(item: Any) -> tuple[Passage, Any]:
    """Read a document of Search-R1's protocol, with its score or without."""
    document = item.get("document", item) if isinstance(item, dict) else item
    if not isinstance(document, dict):
        raise _Unexpected(f"the document {document!r:.60}")
    contents, title, text = (document.get(name) for name in ("contents", "title", "text"))
    if isinstance(contents, str):
        title, text = split_contents(contents)
    if not isinstance(text, str) or not isinstance(title, str | None):
        raise _Unexpected(f"a document with the fields {sorted(document)}, without 'contents'")
    return _passage(document.get("id"), title or "", text), item.get("score")


def _from_ragen(item: Any) -> tuple[Passage, Any]:
    """Read a document of RAGEN's protocol."""
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise _Unexpected(f"the document {item!r:.60}, without 'content'")
    title, text = split_contents(item["content"])
    # The ids of RAGEN's own server number the documents of one answer: doc_1, doc_2, ...
    name = item.get("id")
    counted = isinstance(name, str) and name.removeprefix("doc_").isdecimal() and name[:4] == "doc_"
    return _passage(None if counted else name, title, text), item.get("score")


def _passage(name: Any, title: str, text: str) -> Passage:
    """Make a passage; one without an id is named by its contents."""
    title, text = _sound(" ".join(title.split())), _sound(text)
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        name = blake2b(f"{title}\n{text}".encode(), digest_size=8).hexdigest()
    return Passage(_sound(str(name)), title, text)


def _beginning(data: bytes) -> str:
    """Show the first characters of an answer."""
    text = " ".join(data[:2000].decode("utf-8", "replace").split())
    return repr(text[:160]) if text else "(empty)"


def _advice(data: bytes) -> str:
    """Suggest a remedy for an answer of another form."""
    start = data[:200].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        return "a web page, perhaps of a proxy, is not the search server: correct the address"
    if b'"results"' in data[:2000] or b'"result"' in data[:2000]:
        return f"choose the server's dialect among {', '.join(DIALECTS)}"
    return "see that a search server listens at this address"
