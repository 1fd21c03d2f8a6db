"""Parsed source: also where several threads parse at once."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgym.envs.swe.parsed_source import ParsedSource

TEXT = b"def f(a, b=(1, [2, {3: 4}])):\n    return [x for x in a if x in b]\n" * 60


@pytest.fixture
def switching() -> Iterator[None]:
    """Let every collection of garbage, of which there are many, pass the turn to another thread."""

    def switch(*_: object) -> None:
        time.sleep(0)

    threshold_before = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*threshold_before)
    gc.callbacks.remove(switch)


@pytest.mark.usefixtures("switching")
def test_threads_parse_at_once() -> None:
    """As members of a vector environment do when they start tasks with hidden tests."""
    with ThreadPoolExecutor(8) as pool:
        contents = [*pool.map(lambda _: ParsedSource(TEXT).content, range(60))]
    assert contents == [TEXT] * 60
