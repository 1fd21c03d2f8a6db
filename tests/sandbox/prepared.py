"""What back ends need besides their name before a test can open a box."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from agentgym.sandbox.registry import AUTOMATIC, open_sandbox, probe
from agentgym.sandbox.remote.leased_boxes import LeasedBoxes
from agentgym.sandbox.remote.server import make_app
from agentgym.support.http_server import listen

TOKEN = "a token of these tests"


@contextmanager
def served(backend: str = "auto", **settings: Any) -> Iterator[tuple[str, LeasedBoxes]]:
    """Run a sandbox server in a thread; yields its address and its boxes."""
    folders = (Path(tempfile.gettempdir()),)
    boxes = LeasedBoxes(
        lambda config: open_sandbox(config, backend),
        **{"most": 8, "lease": 60.0, "visible": folders, **settings},
    )
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(boxes, TOKEN), log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", boxes
    finally:
        boxes.close()
        server.should_exit = True
        thread.join()
        listening.close()


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
