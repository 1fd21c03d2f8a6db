"""A served shop, and what a client of it says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from typing import Any

from agentgym.envs.webshop.browser import Visits, make_app
from agentgym.registration.making import make_env
from tests.servers import serve_in_thread

TOKEN = "token-of-the-tests"
SMALL = {"size": 120, "difficulty": "easy"}


@dataclass
class Shop:
    """A running server."""

    port: int
    visits: Visits
    kwargs: Mapping[str, Any]
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{TOKEN}/"

    def env(self) -> Any:
        """Make another environment like those of the visits."""
        return make_env("agentgym/WebShop-v0", self.kwargs, "--env-kwargs")

    def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, data, {**self.headers, **named})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def post(self, endpoint: str, **body: Any) -> tuple[int, dict[str, Any]]:
        status, data, _ = self.request("POST", f"/{TOKEN}/api/{endpoint}", body)
        return status, json.loads(data)

    def ask(self, endpoint: str, **body: Any) -> dict[str, Any]:
        status, state = self.post(endpoint, **body)
        assert status == 200, state
        return state

    def act(self, state: Mapping[str, Any], action: str) -> dict[str, Any]:
        return self.ask("act", session=state["session"], turn=state["turn"], action=action)


@contextmanager
def serving(kwargs: Mapping[str, Any], visits: Mapping[str, Any]) -> Iterator[Shop]:
    """Run a server in a thread."""
    options = kwargs if "data" in kwargs else {**SMALL, **kwargs}
    owned: Any = Visits(lambda: make_env("agentgym/WebShop-v0", options, "--env-kwargs"), **visits)
    app = make_app(owned, TOKEN)
    try:
        with serve_in_thread(app, lifespan="off") as url:
            yield Shop(int(url.rpartition(":")[2]), owned, options)
    finally:
        owned.close()
