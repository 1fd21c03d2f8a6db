"""The gateway and clients that are no agents: pages of other sites, and those that hang up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentgym.support.http_server import Refused
from tests.asgi import FOREIGN, send
from trainers.methods.gateway.server import GatewayServer

PATH = "/v1/chat/completions"


class Episode:
    """An episode that answers nothing, and notes why it was ended."""

    def __init__(self) -> None:
        self.ends: list[int] = []

    def ask(self, body: Any, read: Any) -> Any:
        raise Refused(410, "the episode is over")

    def ended(self, status: int, words: str) -> Refused:
        self.ends.append(status)
        return Refused(status, words)


@pytest.fixture
def gateway() -> Iterator[tuple[Any, Episode, str]]:
    """The application, an open episode, and the header that opens it."""
    server, episode = GatewayServer(), Episode()
    address = server.address()
    server.open(address, episode)  # type: ignore[arg-type]
    yield server._app(), episode, f"Bearer {address.api_key}"
    server.close()


def test_a_client_that_hangs_up_ends_no_episode_and_leaves_no_stack_trace(
    gateway: tuple[Any, Episode, str],
) -> None:
    app, episode, bearer = gateway
    assert send(app, PATH, None, authorization=bearer).status == 400
    assert episode.ends == []
    assert send(app, PATH, b"x" * (5 << 20), authorization=bearer).status == 413
    assert episode.ends == [413]


@pytest.mark.parametrize("origin", FOREIGN)
def test_no_page_of_another_site_is_answered(
    gateway: tuple[Any, Episode, str], origin: str
) -> None:
    app, _, bearer = gateway
    assert send(app, PATH, authorization=bearer, origin=origin).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:9", "host.docker.internal:9", None])
def test_agents_in_containers_may_call_this_machine_by_another_name(
    gateway: tuple[Any, Episode, str], host: str | None
) -> None:
    app, _, bearer = gateway
    assert send(app, PATH, host=host, authorization=bearer).status == 410


@pytest.mark.parametrize("body", [b'{"temperature": NaN}', b'{"model": 1, "model": 2}', b"[]"])
def test_what_is_no_sound_json_is_refused(gateway: tuple[Any, Episode, str], body: bytes) -> None:
    app, episode, bearer = gateway
    assert send(app, PATH, body, authorization=bearer).status == 400
    assert episode.ends == []
