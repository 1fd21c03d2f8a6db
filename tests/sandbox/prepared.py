"""What back ends need besides their name before a test can open a box."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgym.sandbox.registry import AUTOMATIC, open_sandbox, probe
from agentgym.sandbox.remote.leased_boxes import LeasedBoxes
from agentgym.sandbox.remote.server import make_app
from tests.servers import serve_in_thread

TOKEN = "a token of these tests"


@contextmanager
def served(backend: str = "auto", **settings: Any) -> Iterator[tuple[str, LeasedBoxes]]:
    """Run a sandbox server in a thread; yields its address and its boxes."""
    folders = (Path(tempfile.gettempdir()),)
    boxes = LeasedBoxes(
        lambda config: open_sandbox(config, backend),
        **{"max_boxes": 8, "lease": 60.0, "visible": folders, **settings},
    )
    with serve_in_thread(make_app(boxes, TOKEN)) as url:
        try:
            yield url, boxes
        finally:
            boxes.close()


@contextmanager
def remote() -> Iterator[dict[str, Any]]:
    """Run a server for one test; yields the arguments of its clients."""
    reasons = [probe(name) for name in AUTOMATIC]
    if all(reasons):
        pytest.skip(f"the server would have no sandboxes: {reasons}")
    with served() as (url, _):
        yield {"url": url, "token": TOKEN}


OPTIONS: Mapping[str, Callable[[], AbstractContextManager[dict[str, Any]]]] = {"remote": remote}
"""Back end -> context that yields its arguments; one that stands here is not probed first."""
