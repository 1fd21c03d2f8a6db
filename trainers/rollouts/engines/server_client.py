"""The client of one generation server: requests, retries and errors.

Connections are kept open and may be used by many threads. Requests that fail because the server is
unreachable or has an internal error are retried until patience is used up; every request carries
its seed, so a retry gives the same answer.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from agentgym.support.http_client import Connections, Unanswered, server_address
from agentgym.support.strict_json import parse_json
from trainers.rollouts.engines.failure import GO_ON, EngineFailure, Unreachable

__all__ = ["DEV_MODE", "SGLANG", "VLLM", "EngineServer", "ServerKind", "ask_all"]

T = TypeVar("T")

ANSWER_SECONDS = 1800.0
"""Maximum wait for an answer: a long completion behind others, or a weight update."""
TELL_SECONDS = 5.0
"""Maximum wait for an answer that nobody needs: a server that hangs must hold up nothing."""
LARGEST = 1 << 28
"""Maximum bytes of an answer."""
FIRST_WAIT, LONGEST_WAIT = 0.25, 5.0
"""First and longest wait between two attempts, in seconds; doubled each time."""
SERVER_ERROR = 500
DEV_MODE = "VLLM_SERVER_DEV_MODE"
"""Environment variable that opens vLLM's development endpoints."""


@dataclass(frozen=True)
class ServerKind:
    """What differs between servers, as their client sees it."""

    name: str
    """Name for messages."""
    article: str
    """The name with its article."""
    weights_path: str
    """Path whose answer has the ``weight_version``."""
    pause_path: str
    """Path that aborts what is in flight, and lets what comes wait."""
    resume_path: str
    """Path that ends the pause."""
    abort_path: str
    """Path that aborts what is in flight."""
    remedy: str
    """What to do if the server does not offer a path."""


VLLM = ServerKind(
    "vLLM", "a vLLM", "/weight_info", "/pause", "/resume", "/abort_requests",
    f"start it with {DEV_MODE}=1 in its environment",
)  # fmt: skip
SGLANG = ServerKind(
    "SGLang", "an SGLang", "/model_info", "/pause_generation", "/continue_generation",
    "/abort_request", "start SGLang 0.5.23 or a compatible version",
)  # fmt: skip


class EngineServer:
    """A generation server.

    Attributes:
        url: Its address, without the ``/v1`` of OpenAI's API.
        kind: Its kind.
    """

    def __init__(self, url: str, patience: float, advice: str, kind: ServerKind = VLLM) -> None:
        """Store the server's address; no request is sent yet.

        Args:
            url: Address such as ``http://host:8000``.
            patience: Seconds for which it may be unreachable.
            advice: How to start it, for messages.
            kind: Its kind.

        Raises:
            ConfigurationError: It is not the address of a server.
        """
        self.url = server_address(url, kind.name, "").removesuffix("/").removesuffix("/v1")
        self.kind = kind
        parts = urlsplit(self.url)
        self._path = parts.path
        self._connections = Connections(parts.scheme, parts.netloc, ANSWER_SECONDS)
        self._patience, self._advice = patience, advice
        self._closed = threading.Event()
        self._lost = False  # It failed since it was last checked, so it may have been restarted.

    def weight_version(self) -> str:
        """Return the server's name of its weights; one attempt.

        Raises:
            Unanswered: It cannot be reached.
        """
        path = self.kind.weights_path
        return str(self._checked(path, *self._send(path, None))["weight_version"])

    def get(self, path: str) -> Any:
        """Send a GET request; see :meth:`post`."""
        return self._ask(path, None, True, lambda: None)

    def post(
        self,
        path: str,
        payload: Mapping[str, object],
        *,
        patient: bool = True,
        before_retry: Callable[[], None] = lambda: None,
    ) -> Any:
        """Send a POST request and return the answer, parsed as JSON (None if it is empty).

        Args:
            path: Path and query.
            payload: What to send, as JSON.
            patient: Whether to retry also after an internal error of the server.
            before_retry: Called once the server answers again, after this request or another one
                failed; its errors are final.

        Raises:
            EngineFailure: The server refused, failed, or was unreachable for too long.
        """
        return self._ask(path, json.dumps(payload).encode(), patient, before_retry)

    def tell(self, path: str, payload: Mapping[str, object]) -> None:
        """Send a message that need not arrive, and wait for its answer only shortly."""
        with contextlib.suppress(Unanswered):
            self._send(path, json.dumps(payload).encode(), TELL_SECONDS)

    def close(self) -> None:
        """Abandon retries, and cut all connections: a process that ends joins their threads."""
        self._closed.set()
        self._connections.cut()

    def _ask(
        self, path: str, body: bytes | None, patient: bool, before_retry: Callable[[], None]
    ) -> Any:
        """Retry until there is an answer or patience is used up."""
        kind: type[EngineFailure]
        end, wait = None, FIRST_WAIT
        while True:
            try:
                if end is not None or self._lost:
                    before_retry()
                    self._lost = False
                status, answer = self._send(path, body)
            except Unanswered as error:
                kind, problem = Unreachable, str(error)
            else:
                if status < SERVER_ERROR or not patient:
                    return self._checked(path, status, answer)
                kind, problem = EngineFailure, f"it answered {status} to {path}: {_reason(answer)}"
            self._lost, now = True, time.monotonic()
            end = now + self._patience if end is None else end
            # Not a sleep: closing the engine ends the wait of every thread at once.
            if now >= end or self._closed.wait(min(wait, end - now)):
                raise kind(
                    f"expected an answer of the {self.kind.name} server at {self.url}, but "
                    f"{problem}; start it ({self._advice}); {GO_ON}"
                )
            wait = min(2 * wait, LONGEST_WAIT)

    def _send(self, path: str, body: bytes | None, timeout: float | None = None) -> tuple[int, Any]:
        """Send one request; returns status and content of the answer."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        reply = self._connections.request(self._path + path, body, headers, LARGEST, timeout)
        try:
            return reply.status, parse_json(reply.body) if reply.body.strip() else None
        except ValueError:
            return reply.status, reply.body.decode(errors="replace")

    def _checked(self, path: str, status: int, answer: Any) -> Any:
        """Return an answer, or raise its error."""
        if status == 404 and not path.startswith("/v1/"):
            raise EngineFailure(
                f"expected the {self.kind.name} server at {self.url} to offer "
                f"{path.partition('?')[0]}, but it does not: {self.kind.remedy} ({self._advice})"
            )
        if status >= 300:
            raise EngineFailure(
                f"expected the {self.kind.name} server at {self.url} to accept a request to "
                f"{path}, but it answered {status}: {_reason(answer)}; start it for this run "
                f"({self._advice})"
            )
        return answer


def ask_all(servers: Sequence[EngineServer], ask: Callable[[EngineServer], T]) -> list[T]:
    """Query all servers concurrently; return their answers.

    An error of one of them is raised when all are done.
    """
    with ThreadPoolExecutor(len(servers), thread_name_prefix="servers") as pool:
        return list(pool.map(ask, servers))


def _reason(answer: Any) -> str:
    """Return the message of an error response, in one line."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    text = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(text).split())[:300] or "nothing"
