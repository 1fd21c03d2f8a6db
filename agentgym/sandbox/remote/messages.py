"""The protocol between client and server of remote sandboxes.

A message is its length (four bytes, big endian), a JSON object, and any bytes after it, such as a
file or an archive. All requests are POST and carry ``Authorization: Bearer <token>``:

=========================== ==================================== =================================
request                     message                              answer
=========================== ==================================== =================================
``/trees``                  bytes: a tree as an archive          ``{"tree": digest}``
``/boxes``                  ``{"id", "config"}``                 ``{"capabilities", "lease"}``, or
                                                                 ``{"missing": digest}``
``/boxes/<id>/<operation>`` ``{"number", ...}``, the arguments   what the operation returns
``/boxes/<id>/close``       ``{}``                               ``{}``
``/leases``                 ``{"boxes": [id]}``                  ``{"gone": [id]}``
=========================== ==================================== =================================

The client chooses the id of a sandbox ("box") and numbers its requests to it. A request with the
number of the last one is a retry: it is not executed again, but gets the same answer. So requests
can be repeated when a connection breaks, and no command ever runs twice.

The answer of an operation that raised is ``{"raised": kind, "text", "errno"}``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from agentgym.errors import ConfigurationError, DataError, NotSupported
from agentgym.sandbox.base import (
    SandboxConfig,
    SandboxDied,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.support.strict_json import dump_json, parse_json

TOKEN = "AGENTGYM_SANDBOX_TOKEN"
"""Environment variable with the token, for client and server."""
LARGEST = 1 << 30
"""Maximum size of a message, in bytes."""
ERRORS: Mapping[str, type[Exception]] = {
    "SandboxDied": SandboxDied,
    "SandboxLost": SandboxLost,
    "SandboxUnavailable": SandboxUnavailable,
    "NotSupported": NotSupported,
    "ConfigurationError": ConfigurationError,
    "FileNotFoundError": FileNotFoundError,
    "OSError": OSError,
}
"""Exceptions of an operation on the server that the client raises again, by name."""


def encode(message: Mapping[str, Any], body: bytes = b"") -> bytes:
    """Write a message."""
    data = dump_json(message).encode("ascii")
    return b"".join((struct.pack(">I", len(data)), data, body))


def decode(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Read a message.

    Raises:
        DataError: The data is not a message.
    """
    try:
        (size,) = struct.unpack(">I", data[:4])
        if size > len(data) - 4:
            raise ValueError("it ends too early")
        message = parse_json(data[4 : 4 + size])
        if not isinstance(message, dict):
            raise ValueError("it holds no object")
    except (struct.error, ValueError) as error:
        raise DataError(
            f"expected a message of a sandbox server, got {data[:40]!r}: {error}"
        ) from (None)
    return message, data[4 + size :]


def write_config(config: SandboxConfig, tree: str) -> dict[str, Any]:
    """Return a configuration as JSON, with the digest of its tree in place of the tree."""
    return {
        "tree": tree,
        "workdir": config.workdir,
        "image": config.image,
        "visible": [str(path) for path in config.visible],
        "mounts": {place: str(path) for place, path in config.mounts.items()},
        "hidden": [str(path) for path in config.hidden],
        "path": list(config.path),
        "writable": list(config.writable),
        "environment": dict(config.environment),
        "limits": asdict(config.limits),
        "background": config.background,
    }


def read_config(value: Any, tree: Path | None) -> SandboxConfig:
    """Return the configuration that :func:`write_config` wrote; ``trusted`` is always False.

    Raises:
        ConfigurationError: The value is not a configuration.
    """
    try:
        limits = value["limits"]
        names = {field.name for field in fields(SandboxLimits)}
        if set(limits) != names or not all(isinstance(limits[name], int) for name in names):
            raise ValueError(f"limits other than {', '.join(sorted(names))} as integers")
        environment = {_text(key): _text(setting) for key, setting in value["environment"].items()}
        return SandboxConfig(
            tree=tree,
            workdir=_text(value["workdir"]),
            image=_text(value["image"]),
            visible=tuple(Path(_text(path)) for path in value["visible"]),
            mounts={place: Path(_text(path)) for place, path in value["mounts"].items()},
            hidden=tuple(Path(_text(path)) for path in value["hidden"]),
            path=tuple(_text(path) for path in value["path"]),
            writable=tuple(_text(place) for place in value["writable"]),
            environment=environment,
            limits=SandboxLimits(**limits),
            background=bool(value["background"]),
        )
    except ConfigurationError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"expected the configuration of a sandbox, got one with {error!r:.200}; use a client "
            "of the server's version"
        ) from error


def _text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60} where text belongs")
    return value
