"""The agent of a run: a Python function, or a command in any language."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryFile

from agentgym.agents import Session
from agentgym.core.options import find_own
from agentgym.errors import ConfigurationError
from agentgym.evaluation.own_policies import OWN, names_own_agent

__all__ = [
    "BASE_URL", "KEY", "MCP_URL", "MODEL", "MODEL_NAME", "SESSION_URL", "Agent", "find_agent",
]  # fmt: skip

Agent = Callable[[Session], object]
"""A function that plays one episode; it may be async."""

MODEL_NAME = "policy"
"""Name of the model at the endpoint."""
BASE_URL, KEY, MODEL = "OPENAI_BASE_URL", "OPENAI_API_KEY", "AGENTGYM_MODEL"
"""Environment variables that tell a command where its model answers."""
SESSION_URL = "AGENTGYM_SESSION_URL"
"""Environment variable that tells it where its episode is."""
MCP_URL = "AGENTGYM_MCP_URL"
"""Environment variable that tells it where its episode is an MCP server."""
GRACE = 5.0
"""Seconds that a command may run on after its episode is over."""
POLL = 0.02
"""Seconds between two looks at a command."""
SHOWN = 400
"""Number of last characters of a command's output in the error if it fails."""


def find_agent(agent: str | None, command: str | None) -> Agent:
    """Return the agent that a run names.

    Args:
        agent: ``MODULE:FUNCTION`` of one session.
        command: A command, split as a shell would.

    Raises:
        ConfigurationError: There is no such agent, or both are given.
    """
    if agent is not None and command is not None:
        raise ConfigurationError("expected --agent or --agent-command, got both; leave out one")
    if command is not None:
        return CommandAgent(command)
    name = str(agent)
    if not names_own_agent(name, {}):
        raise ConfigurationError(
            f"expected --agent to be {OWN}, a function of one agentgym.Session, got {name}, which "
            "is no function of one argument"
        )
    function: Agent = find_own(name, OWN)[1]
    return function


class CommandAgent:
    """A command that plays one episode, whatever it is written in; it is run for each.

    It finds its model at ``OPENAI_BASE_URL`` with ``OPENAI_API_KEY``, and its episode with the same
    key at ``AGENTGYM_SESSION_URL``, or as an MCP server at ``AGENTGYM_MCP_URL``.

    Args:
        command: The command.
    """

    def __init__(self, command: str) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise ConfigurationError(
                f"expected --agent-command to be a command, got {command!r:.200}: {error}"
            ) from None
        if not self._command:
            raise ConfigurationError("expected --agent-command to be a command, got nothing")
        self._running: set[subprocess.Popen[bytes]] = set()
        # Held while a command starts, so that interpreter shutdown ends every command.
        self._starting = threading.Lock()
        # The threads that wait for commands do not outlive the interpreter, and nor may these.
        weakref.finalize(self, _end_all, self._running, self._starting)

    def __call__(self, session: Session) -> None:
        """Play an episode.

        Raises:
            RuntimeError: The command failed, or could not be started.
        """
        variables = {BASE_URL: session.base_url, KEY: session.api_key, MODEL: session.model}
        variables |= {SESSION_URL: f"{session.base_url}/session", MCP_URL: session.mcp_url}
        with TemporaryFile() as output:
            try:
                with self._starting:
                    process = subprocess.Popen(
                        self._command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                        stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                    )  # fmt: skip
                    self._running.add(process)
            except OSError as error:
                raise RuntimeError(f"{self._command[0]} could not be started: {error}") from error
            try:
                _wait(process, session)
            finally:
                self._running.discard(process)
                _end(process)
            if process.returncode and not session.over:
                output.seek(0, os.SEEK_END)
                output.seek(max(0, output.tell() - 4 * SHOWN))
                last = output.read().decode(errors="replace")[-SHOWN:].strip()
                raise RuntimeError(f"the command ended with status {process.returncode}: {last}")


def _wait(process: subprocess.Popen[bytes], session: Session) -> None:
    """Wait for a command, and a little longer once its episode is over."""
    patience: float | None = None
    while process.poll() is None:
        if session.over:
            patience = time.monotonic() + GRACE if patience is None else patience
            if time.monotonic() > patience:
                return
        time.sleep(POLL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end_all(running: set[subprocess.Popen[bytes]], starting: threading.Lock) -> None:
    """Kill the commands that are still running."""
    with starting:
        for process in list(running):
            _end(process)
