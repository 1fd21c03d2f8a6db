from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.policies.endpoint import KEY, Answer, ChatServer


@pytest.fixture
def serve(monkeypatch) -> Iterator[Callable[[Answer], ChatServer]]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    opened: list[ChatServer] = []

    def start(answer: Answer) -> ChatServer:
        opened.append(ChatServer(answer))
        return opened[-1]

    yield start
    for server in opened:
        server.close()
