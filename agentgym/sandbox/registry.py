"""From the name of a back end to a sandbox, and why one cannot be had."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from agentgym.core.options import import_own
from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import Sandbox, SandboxConfig, SandboxUnavailable

SANDBOXES: Mapping[str, str] = {
    "namespace": "agentgym.sandbox.namespace.box:NamespaceSandbox",
    "docker": "agentgym.sandbox.docker.container:DockerSandbox",
    "remote": "agentgym.sandbox.remote.client:RemoteSandbox",
    "subprocess": "agentgym.sandbox.unisolated:UnisolatedSandbox",
}
"""Name of each back end -> module and class, which is imported when it is asked for."""
AUTOMATIC = ("namespace", "docker")
"""What ``"auto"`` tries in turn; ``"subprocess"`` comes last, for trusted commands only."""


def open_sandbox(config: SandboxConfig, sandbox: str = "auto", **options: Any) -> Sandbox:
    """Return a sandbox, which is not started yet.

    Args:
        config: What it holds and may do.
        sandbox: One of :data:`SANDBOXES`, ``MODULE:CLASS`` of your own, or ``"auto"``: the first
            that isolates and can run here; where there is none, ``"subprocess"`` if the
            configuration says that commands are trusted.
        **options: Further arguments of the back end.

    Raises:
        SandboxUnavailable: None can run here; the message says for each why, and what to do.
        ConfigurationError: There is no such back end, or it has no such option.
    """
    kind = load_backend(choose_backend(config) if sandbox == "auto" else sandbox)
    try:
        return kind(config, **options)
    except TypeError as error:
        raise ConfigurationError(
            f"expected options of the back end {sandbox!r}, got {sorted(options)}: {error}"
        ) from error


def check_backend(config: SandboxConfig, sandbox: str = "auto") -> None:
    """Raise what :func:`open_sandbox`, or the start of its sandbox, would if none can run here.

    Args:
        config: What it would hold; only ``image`` and ``trusted`` count.
        sandbox: One of :data:`SANDBOXES`, or ``"auto"``.

    Raises:
        SandboxUnavailable: None can run here; the message says why, and what to do.
        ConfigurationError: There is no such back end.
    """
    reason = probe(choose_backend(config) if sandbox == "auto" else sandbox)
    if reason:
        raise SandboxUnavailable(reason)


def probe(backend: str) -> str:
    """Return why a back end cannot run on this machine, and what to do; empty if it can.

    Raises:
        ConfigurationError: There is no such back end.
    """
    return load_backend(backend).probe()


def load_backend(name: str) -> type[Sandbox]:
    """Import a back end: one of :data:`SANDBOXES`, or ``MODULE:CLASS`` of one's own.

    Raises:
        ConfigurationError: There is no such back end.
    """
    if name in SANDBOXES:
        module, _, kind = SANDBOXES[name].partition(":")
        backend: type[Sandbox] = getattr(importlib.import_module(module), kind)
        return backend
    form = f"one of the back ends {', '.join(SANDBOXES)} or 'auto', or MODULE:CLASS"
    return import_own(name, form, "a subclass of agentgym.sandbox.Sandbox", _is_backend)


def _is_backend(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, Sandbox)


def check_name(name: str) -> str:
    """Return the name of a back end, or ``"auto"``.

    Raises:
        ConfigurationError: There is no such back end.
    """
    if name != "auto":
        load_backend(name)
    return name


def check_isolated(name: str) -> str:
    """Return the name of a back end that keeps commands apart from this machine, or ``"auto"``.

    Raises:
        ConfigurationError: There is no such back end, or it isolates nothing.
    """
    if name == "subprocess":
        raise ConfigurationError(
            "expected a sandbox that keeps a model's commands apart from this machine, got "
            "'subprocess', which does not; use another, such as 'auto'"
        )
    return check_name(name)


def choose_backend(config: SandboxConfig) -> str:
    """Return the name of the back end that ``"auto"`` stands for.

    Of those that isolate and can run here: the first; for an image the first that holds it, and
    where none does, the last, since an engine of containers pulls with everything that it knows.

    Args:
        config: What the sandbox would hold; only ``image`` and ``trusted`` count.

    Raises:
        SandboxUnavailable: None can run here; the message says for each why, and what to do.
    """
    reasons, usable = {}, []
    for name in AUTOMATIC:
        kind = load_backend(name)
        reasons[name] = kind.probe() if kind.images or not config.image else "it runs no images"
        if reasons[name]:
            continue
        if not config.image or kind.holds(config.image):
            return name
        usable.append(name)
    if usable:
        return usable[-1]
    if config.trusted and not config.image:
        return "subprocess"
    problems = "\n".join(f"- {name}: {reason}" for name, reason in reasons.items())
    raise SandboxUnavailable(
        f"expected a back end that keeps commands apart from this machine, got none:\n{problems}"
    )
