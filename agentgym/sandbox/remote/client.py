"""The client of a remote sandbox; :mod:`~agentgym.sandbox.remote.messages` defines the protocol."""

from __future__ import annotations

import atexit
import hashlib
import os
import time
import uuid
import weakref
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from agentgym.core import options
from agentgym.errors import AgentGymError, ConfigurationError, DataError, EnvFailure
from agentgym.sandbox.archives import pack_tree
from agentgym.sandbox.base import (
    ExecResult,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLost,
    SandboxUnavailable,
    check_timeout,
)
from agentgym.sandbox.channel import unpacked
from agentgym.sandbox.host_paths import check_tree
from agentgym.sandbox.remote.leases import Renew, renewals
from agentgym.sandbox.remote.messages import ERRORS, LARGEST, TOKEN, decode, encode, write_config
from agentgym.support.http_client import Connections, Reply, Unanswered, server_address

if TYPE_CHECKING:
    from typing_extensions import Self

URL = "AGENTGYM_SANDBOX_URL"
"""Environment variable with the address of the server."""
PATIENCE = 120.0
"""Time limit of an answer in seconds, besides the command's own timeout: a server may be busy."""
RETRIED = (429, 500, 502, 503, 504)
"""HTTP statuses after which a request is sent again; the server executes it only once."""
PAUSE = 0.2
"""Seconds before the first retry; doubled for each further one."""

_connections: dict[tuple[str, str], Connections] = {}


class RemoteSandbox(Sandbox):
    """A sandbox on a machine where ``agentgym serve sandbox`` runs.

    The tree is sent to the server once. Visible folders of the configuration are folders of the
    server's machine. Requests are repeated if a connection breaks, but executed only once. The
    server closes a sandbox if its client stops renewing the lease.

    Args:
        config: Initial content and permissions.
        url: Address of the server; ``AGENTGYM_SANDBOX_URL`` if left out.
        token: The server's token; ``AGENTGYM_SANDBOX_TOKEN`` if left out.
        retries: Maximum number of retries of a request.

    Raises:
        ConfigurationError: There is no address or token, or an argument is invalid.
    """

    isolation: ClassVar[str] = "remote"
    images: ClassVar[bool] = True

    def __init__(
        self, config: SandboxConfig, *, url: str = "", token: str = "", retries: int = 3
    ) -> None:
        super().__init__(config)
        url, self._token = url or os.environ.get(URL, ""), token or os.environ.get(TOKEN, "")
        if not url or not self._token:
            raise ConfigurationError(
                f"expected the address of a sandbox server in url or {URL}, and its token in token "
                f"or {TOKEN}, got {'no token' if url else 'no address'}; agentgym serve sandbox "
                "starts a server and prints both"
            )
        if not (self._token.isascii() and self._token.isprintable()):
            raise ConfigurationError("expected a token of printable ASCII text, got another one")
        self.url = server_address(url, "sandbox", "").rstrip("/")
        self.retries = options.integer(retries, "retries", 0)
        self._box = ""
        self._number = 0
        self._maker = 0
        self._capabilities: frozenset[str] | None = None
        self._release: weakref.finalize[..., Any] | None = None

    @classmethod
    def probe(cls) -> str:
        """Return why it cannot be used, and the remedy; empty if a server answers."""
        try:
            RemoteSandbox(SandboxConfig())._ask("/leases", {"boxes": []})
        except AgentGymError as error:
            return str(error)
        return ""

    @property
    def capabilities(self) -> frozenset[str]:
        """Capabilities of the sandbox on the server; starts it if it is not running."""
        if self._capabilities is None:
            self.start()
        assert self._capabilities is not None
        return self._capabilities

    def start(self) -> Self:
        """Start the sandbox on the server, if it is not running."""
        if self._box:
            return self
        check_tree(self.config)
        tree = b"" if self.config.tree is None else pack_tree(self.config.tree)
        digest = hashlib.sha256(tree).hexdigest() if self.config.tree is not None else ""
        box = uuid.uuid4().hex
        # Send the tree only if the server does not have this digest from another sandbox.
        request = {"id": box, "config": write_config(self.config, digest)}
        answer, _ = self._ask("/boxes", request)
        if "missing" in answer:
            self._ask("/trees", {}, tree)
            answer, _ = self._ask("/boxes", request)
        if "capabilities" not in answer:
            raise SandboxUnavailable(
                f"expected the sandbox server {self.url} to start a sandbox, got {answer!r:.200}; "
                "see what it says where it runs"
            )
        self._box, self._number, self._maker = box, 0, os.getpid()
        self._capabilities = frozenset(answer["capabilities"])
        leases = renewals(self.url + self._token, self._renewer())
        leases.add(self._box, float(answer["lease"]))
        self._release = weakref.finalize(self, leases.drop, self._box)
        return self

    def exec(
        self,
        command: str,
        *,
        timeout: float = 60.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run a command line and wait for its end."""
        check_timeout(timeout)
        arguments = {"command": command, "timeout": timeout, "cwd": cwd, "env": dict(env or {})}
        answer, _ = self._operate("exec", arguments, seconds=timeout)
        return ExecResult(**{**answer, "output": unpacked(answer["output"])})

    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        """Return the beginning of a regular file."""
        return self._operate("read", {"path": path, "max_bytes": max_bytes})[1]

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file; folders above it are made."""
        self._operate("write", {"path": path, "mode": mode}, content)

    def changes(self) -> dict[str, bytes | None]:
        """Return what differs from ``tree``."""
        answer, body = self._operate("changes")
        files, start = {}, 0
        for path, size in answer["files"]:
            files[path] = None if size is None else body[start : start + size]
            start += size or 0
        return files

    def reset(self) -> None:
        """Return to the state after the start; start a new sandbox if the server lost it."""
        if self._box and self._maker == os.getpid():
            try:
                self._operate("reset")
                return
            except SandboxDied:
                self.close()
        self._box = ""
        self.start()

    def snapshot(self) -> bytes:
        """Return everything that was written."""
        return self._operate("snapshot")[1]

    def restore(self, state: bytes) -> None:
        """Return to a state taken by :meth:`snapshot`."""
        if not self._box:
            self.start()
        self._operate("restore", {}, state)

    def close(self) -> None:
        """Close the sandbox on the server; may be called twice."""
        box, self._box = self._box, ""
        if self._release is not None:
            self._release()
            self._release = None
        if box and self._maker == os.getpid():
            # If the request does not arrive, the server closes the sandbox when its lease expires.
            with suppress(SandboxDied):
                self._send(f"/boxes/{box}/close", encode({}), PATIENCE)

    # -- helpers --------------------------------------------------------------------------------

    def _operate(
        self,
        operation: str,
        arguments: Mapping[str, Any] = MappingProxyType({}),
        body: bytes = b"",
        seconds: float = 0.0,
    ) -> tuple[dict[str, Any], bytes]:
        """Execute an operation of the sandbox exactly once."""
        if not self._box or self._maker != os.getpid():
            raise SandboxLost(
                "expected a sandbox that this process started, got one that is closed or of "
                "another process; call start or reset"
            )
        # Before sending: retries have the same number, by which the server recognises them.
        self._number += 1
        data = encode({"number": self._number, **arguments}, body)
        try:
            reply = self._send(f"/boxes/{self._box}/{operation}", data, seconds + PATIENCE)
        except SandboxDied:
            self.close()  # whether the operation was executed is unknown
            raise
        return self._read_reply(reply)

    def _ask(
        self, path: str, message: Mapping[str, Any], body: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        """Send a message that does not belong to a sandbox, and return the answer."""
        return self._read_reply(self._send(path, encode(message, body), PATIENCE))

    def _read_reply(self, reply: Reply) -> tuple[dict[str, Any], bytes]:
        """Return an answer, or raise the operation's error."""
        try:
            answer, body = decode(reply.body)
        except DataError as error:
            raise EnvFailure(
                f"expected {self.url} to be a sandbox server, got {error}; correct the address"
            ) from None
        if "raised" in answer:
            kind = ERRORS.get(str(answer["raised"]), SandboxLost)
            text = str(answer.get("text"))
            raise kind(answer.get("errno") or 0, text) if kind is OSError else kind(text)
        return answer, body

    def _send(self, path: str, data: bytes, seconds: float) -> Reply:
        """Send a request, with retries after temporary failures."""
        problem: object = None
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(PAUSE * 2 ** (attempt - 1), 5.0))
            try:
                reply = _post(self.url, self._token, path, data, seconds)
            except Unanswered as error:
                problem = error
                continue
            if reply.status == 200:
                return reply
            problem = f"it answered with status {reply.status}: {_quote_reply(reply)}"
            if reply.status not in RETRIED:
                break
        else:
            problem = f"{problem} ({self.retries + 1} attempts)"
        if path.startswith("/boxes/"):
            raise SandboxLost(
                f"expected the sandbox at {self.url} to answer, but {problem}; reset it"
            )
        raise SandboxUnavailable(
            f"expected the sandbox server {self.url} to answer, but {problem}; see that agentgym "
            f"serve sandbox runs there, can be reached from here, and has the token of {TOKEN}"
        )

    def _renewer(self) -> Renew:
        """Return a function that renews leases, without a reference to this sandbox."""
        url, token = self.url, self._token

        def renew(boxes: list[str]) -> None:
            _post(url, token, "/leases", encode({"boxes": boxes}), PATIENCE)

        return renew


def _post(url: str, token: str, path: str, data: bytes, seconds: float) -> Reply:
    """Send a request over a connection that all sandboxes of the server share."""
    parts = urlsplit(url)
    key = (parts.scheme, parts.netloc)
    connections = _connections.setdefault(key, Connections(*key, PATIENCE))
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    return connections.request(parts.path + path, data, headers, LARGEST, seconds)


@atexit.register
def _disconnect() -> None:
    """Close the connections at exit, after the last sandboxes have been closed."""
    for connections in _connections.values():
        connections.close()


def _quote_reply(reply: Reply) -> str:
    """Return the beginning of a server's reply."""
    return reply.body[:300].decode("utf-8", "replace")
