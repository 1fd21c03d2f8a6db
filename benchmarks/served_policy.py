"""A vLLM server in a separate process, started with the command that a run prints."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainers.rollouts.engines.server_client import EngineServer

__all__ = ["vllm_server"]

START_SECONDS = 300.0


@contextmanager
def vllm_server(command: str, log: Path) -> Iterator[str]:
    """Run a server for as long as the block lasts.

    Args:
        command: As ``--dry-run`` shows it.
        log: File for the server's output.

    Yields:
        Its address, once it answers.
    """
    words = shlex.split(command)
    named = [word for word in words if word.startswith("VLLM")]
    settings = dict(word.split("=", 1) for word in named) | {"VLLM_CPU_KVCACHE_SPACE": "1"}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = [*words[len(named) + 1 :], "--host", "127.0.0.1", "--port", str(port)]
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, *arguments], env={**os.environ, **settings},
            stdout=stream, stderr=stream, start_new_session=True,
        )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        EngineServer(url, START_SECONDS, command).get("/v1/models")
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
