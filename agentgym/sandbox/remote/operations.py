"""The operations of a sandbox server: call a sandbox's methods with messages."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from agentgym.core import options
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.channel import packed
from agentgym.sandbox.remote.messages import ERRORS, encode

LARGEST_READ = 1 << 28

_log = logging.getLogger(__name__)
Operation = Callable[[Sandbox, dict[str, Any], bytes], bytes]


def _exec(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    env = {str(name): str(value) for name, value in fields["env"].items()}
    cwd = None if fields["cwd"] is None else str(fields["cwd"])
    result = sandbox.exec(str(fields["command"]), timeout=fields["timeout"], cwd=cwd, env=env)
    return encode({**asdict(result), "output": packed(result.output)})


def _read_file(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    size = options.integer(fields["max_bytes"], "max_bytes", 0, None)
    size = min(size, LARGEST_READ)
    return encode({}, sandbox.read(str(fields["path"]), size))


def _write(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    mode = options.integer(fields["mode"], "mode", 0, 0o7777)
    sandbox.write(str(fields["path"]), body, mode)
    return encode({})


def _changes(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    files = sandbox.changes()
    sizes = [(path, None if content is None else len(content)) for path, content in files.items()]
    return encode({"files": sizes}, b"".join(content or b"" for content in files.values()))


def _reset(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    sandbox.reset()
    return encode({})


def _snapshot(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    return encode({}, sandbox.snapshot())


def _restore(sandbox: Sandbox, fields: dict[str, Any], body: bytes) -> bytes:
    sandbox.restore(body)
    return encode({})


OPERATIONS: Mapping[str, Operation] = {
    "exec": _exec,
    "read": _read_file,
    "write": _write,
    "changes": _changes,
    "reset": _reset,
    "snapshot": _snapshot,
    "restore": _restore,
}
"""Operations by name; each takes the sandbox, arguments and body, and returns the answer."""


def failure(error: Exception) -> bytes:
    """Return the answer of an operation that raised."""
    for kind in type(error).__mro__:
        if ERRORS.get(kind.__name__) is kind:
            text = (error.strerror if isinstance(error, OSError) else None) or str(error)
            number = getattr(error, "errno", None)
            return encode({"raised": kind.__name__, "text": text, "errno": number})
    _log.warning("an operation of a sandbox failed", exc_info=error)
    text = f"the server failed with {type(error).__name__}: {error}"
    return encode({"raised": "SandboxLost", "text": text, "errno": None})
