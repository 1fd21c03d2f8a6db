"""Addresses of servers, as they are given and as they are shown."""

from __future__ import annotations

import pytest

from agentgym.errors import ConfigurationError
from agentgym.support.http_client import server_address


@pytest.mark.parametrize(
    "url",
    [
        "me:hunter2@host:1",
        "ftp://me:hunter2@host",
        "http://me:hunter2@host:port",
        "http://me:hunter2@ho st",
    ],
)
def test_a_wrong_address_is_shown_without_its_password(url: str) -> None:
    with pytest.raises(
        ConfigurationError, match="expected the address of a search server"
    ) as error:
        server_address(url, "search", "/retrieve")
    assert "hunter2" not in str(error.value) and "[hidden]@ho" in str(error.value)


def test_a_sound_address_is_completed() -> None:
    assert server_address("http://me:pw@h:1", "search", "/retrieve") == "http://h:1/retrieve"
    assert server_address("https://h/own?a=b", "search", "/retrieve") == "https://h/own?a=b"


def test_what_is_no_address_is_said() -> None:
    with pytest.raises(ConfigurationError, match=r"got None$"):
        server_address(None, "search", "/retrieve")  # type: ignore[arg-type]
