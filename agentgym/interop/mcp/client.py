"""A client of MCP servers that are commands: answers and waits are bounded, nothing is left."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from agentgym.core.attribution import ActionFailed
from agentgym.errors import ConfigurationError, EnvFailure
from agentgym.support import json_rpc
from agentgym.support.redaction import Redactor, is_secret
from agentgym.support.strict_json import dump_json, parse_json
from agentgym.support.text_lines import last_line

LARGEST = 1 << 22
"""Most bytes of an answer."""
KEPT = 4000
"""Last bytes of a server's standard error that are kept, for messages."""
MOST_PAGES = 100
"""Most pages of a list of tools."""
LAST_WAIT = 2.0
"""Seconds that a server gets to end by itself."""

REFUSED = frozenset({json_rpc.INVALID_REQUEST, json_rpc.METHOD_NOT_FOUND, json_rpc.INVALID_PARAMS})
"""Codes of errors that say that the request is wrong."""
_LONG = b""
"""Stands for an answer that was too long."""


class BadRequest(ActionFailed):
    """The server finds the request wrong; it is as it was before."""


class McpServer:
    """A server in a separate process, started immediately.

    Args:
        command: The command and its arguments.
        timeout: Seconds that an answer may take.

    Raises:
        ConfigurationError: There is no such command.
        EnvFailure: The server does not begin a session.

    Attributes:
        instructions: What the server says to agents.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._timeout, self._last_id = timeout, 0
        # The server has them, and may say them.
        self._redactor = Redactor(*(os.environ[name] for name in os.environ if is_secret(name)))
        self._late = threading.Event()
        self._stray = ""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"expected mcp:COMMAND with a command that can be started, got {command[0]!r}: "
                f"{error}"
            ) from error
        self._answers: queue.Queue[bytes | None] = queue.Queue(8)
        self._errors = b""
        reader = threading.Thread(
            target=self._read_messages, args=(self._process.stdout,), daemon=True
        )
        keeper = threading.Thread(target=self._keep, args=(self._process.stderr,), daemon=True)
        self._threads = (reader, keeper)
        for thread in self._threads:
            thread.start()
        try:
            handshake = self.ask(
                "initialize",
                protocolVersion=json_rpc.VERSIONS[-1],
                capabilities={},
                clientInfo={"name": "agentgym", "version": "1"},
            )
            self._send(json_rpc.notification("notifications/initialized"))
        except BaseException:
            self.close()
            raise
        self.instructions = str(handshake.get("instructions") or "")

    def tools(self) -> list[dict[str, Any]]:
        """List the tools.

        Raises:
            EnvFailure: The server fails, or lists something else.
        """
        all_tools: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            page = self.ask("tools/list", **params)
            tools = page.get("tools")
            if not isinstance(tools, list) or not all(
                isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in tools
            ):
                raise EnvFailure(f"expected the server to list tools, got {page!r:.200}")
            all_tools += tools
            if not page.get("nextCursor"):
                return all_tools
            params = {"cursor": page["nextCursor"]}
        raise EnvFailure(f"expected at most {MOST_PAGES} pages of tools, got more")

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and return what it answers.

        Raises:
            EnvFailure: The server fails, or answers something else.
        """
        return self.ask("tools/call", name=name, arguments=dict(arguments))

    def ask(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            BadRequest: It finds the request wrong.
            ActionFailed: It answers with another error.
            EnvFailure: It dies, takes too long, or answers nothing that can be read. It is ended
                then: what it would say later answers nothing.
        """
        self._last_id += 1
        number = self._last_id
        self._send(json_rpc.request(number, method, params))
        with self._bounded():
            while True:
                message = self._next()
                if "method" in message:
                    self._react(message)
                elif message.get("id") == number and {"result", "error"} & set(message):
                    break
        if isinstance(message.get("result"), dict):
            result: dict[str, Any] = message["result"]
            return result
        problem = message.get("error")
        code = problem.get("code") if isinstance(problem, Mapping) else None
        kind = BadRequest if code in REFUSED else ActionFailed
        raise kind(f"the server refused {method}: {self._redactor.excerpt(json.dumps(problem))}")

    def close(self) -> None:
        """End the server and what it started; may be called twice."""
        with suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WAIT)
        self._kill()
        self._process.wait()
        while self._threads[0].is_alive():  # it may wait to pass on what nobody needs any more
            with suppress(queue.Empty):
                self._answers.get(timeout=0.05)

    # -- parts -----------------------------------------------------------------------------------

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """Kill the server if what is done here takes too long: a wait for it then ends."""
        timer = threading.Timer(self._timeout, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._late.set()
        self._kill()

    def _next(self) -> dict[str, Any]:
        """Return the next message; banners, logs and empty lines between messages are skipped."""
        while True:
            line = self._answers.get()
            if line is None:
                raise self._ended()
            if line is _LONG:
                self._kill()
                raise EnvFailure(f"expected an answer of at most {LARGEST:,} bytes, got more")
            try:
                message = parse_json(line)
            except ValueError as error:
                message = None
                if b'"jsonrpc"' in line:  # meant as an answer, for which nobody should wait
                    self._kill()
                    excerpt = self._redactor.excerpt(line[:KEPT].decode("utf-8", "replace"))
                    raise EnvFailure(f"expected JSON, got {excerpt!r} ({error})") from None
            if isinstance(message, dict):
                return message
            if not self._stray:
                text = line[:KEPT].decode("utf-8", "replace").strip()
                self._stray = self._redactor.excerpt(text)

    def _react(self, message: Mapping[str, Any]) -> None:
        """Answer what the server asks; it is told that there is nobody to ask."""
        if message.get("id") is None:
            return
        if message["method"] == "ping":
            self._send(json_rpc.result(message["id"], {}))
        else:
            words = "this client answers no requests"
            self._send(json_rpc.error(message["id"], json_rpc.METHOD_NOT_FOUND, words))

    def _send(self, message: json_rpc.Message) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            with self._bounded():  # the server may not read
                stream.write(dump_json(message).encode() + b"\n")
                stream.flush()
        except (OSError, ValueError) as error:
            raise self._ended() from error

    def _ended(self) -> EnvFailure:
        """Say that the server is no more, and why as far as it is known."""
        self._kill()
        self._threads[1].join(LAST_WAIT)  # has read its last words then
        slow = self._late.is_set()
        reason = f"took more than {self._timeout:g} seconds" if slow else "ended"
        return EnvFailure(f"the server {reason}{self._describe_output()}")

    def _read_messages(self, stream: IO[bytes]) -> None:
        """Pass on the lines that the server writes, in a thread."""
        with suppress(OSError, ValueError):
            while line := stream.readline(LARGEST + 1):
                self._answers.put(line if len(line) <= LARGEST else _LONG)
                if len(line) > LARGEST:
                    break
        self._answers.put(None)

    def _keep(self, stream: IO[bytes]) -> None:
        """Keep the end of what the server writes to standard error, in a thread."""
        with suppress(OSError, ValueError):
            while block := stream.read1(KEPT):  # type: ignore[attr-defined]  # of buffered streams
                self._errors = (self._errors + block)[-KEPT:]

    def _describe_output(self) -> str:
        """Return the last line of its standard error, and its first stray line, for a message."""
        line = last_line(self._errors.decode("utf-8", "replace"))
        last = f": {self._redactor.excerpt(line)}" if line else ""
        if not self._stray:
            return last
        return f"{last}; a line that it wrote to standard output is no message: {self._stray!r}"

    def _kill(self) -> None:
        """Kill the server and all that it started."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
