"""Open a sandbox by the name of its back end, and choose a back end that works here."""

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
"""Name of each back end -> module and class, imported on first use."""
AUTOMATIC = ("namespace", "docker")
"""Back ends that ``"auto"`` tries in order; ``"subprocess"`` comes last, for trusted commands
only."""


def open_sandbox(config: SandboxConfig, sandbox: str = "auto", **options: Any) -> Sandbox:
    """Make a sandbox, without starting it.

    Args:
        config: Initial content and permissions.
        sandbox: One of :data:`SANDBOXES`, your own ``MODULE:CLASS``, or ``"auto"``: the first back
            end that isolates and can run here; if there is none, ``"subprocess"`` if the
            configuration trusts the commands.
        **options: Further arguments of the back end.

    Raises:
        SandboxUnavailable: No back end can run here; the message gives each reason and remedy.
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
    """Check early whether :func:`open_sandbox` and the start of its sandbox would fail.

    Args:
        config: Configuration of the sandbox; only ``image`` and ``trusted`` are used.
        sandbox: One of :data:`SANDBOXES`, or ``"auto"``.

    Raises:
        SandboxUnavailable: No back end can run here; the message gives the reason and the remedy.
        ConfigurationError: There is no such back end.
    """
    reason = probe(choose_backend(config) if sandbox == "auto" else sandbox)
    if reason:
        raise SandboxUnavailable(reason)


def probe(backend: str) -> str:
    """Return why a back end cannot run on this machine, and the remedy; empty if it can.

    Raises:
        ConfigurationError: There is no such back end.
    """
    return load_backend(backend).probe()


def load_backend(name: str) -> type[Sandbox]:
    """Import a back end: one of :data:`SANDBOXES`, or the user's own ``MODULE:CLASS``.

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
    """Return the name of a back end, or ``"auto"``, after checking it.

    Raises:
        ConfigurationError: There is no such back end.
    """
    if name != "auto":
        load_backend(name)
    return name


def check_isolated(name: str) -> str:
    """Return the name of a back end after checking that it isolates commands, or ``"auto"``.

    Raises:
        ConfigurationError: There is no such back end, or it does not isolate.
    """
    if name == "subprocess":
        raise ConfigurationError(
            "expected a sandbox that keeps a model's commands apart from this machine, got "
            "'subprocess', which does not; use another, such as 'auto'"
        )
    return check_name(name)


def choose_backend(config: SandboxConfig) -> str:
    """Return the name of the back end that ``"auto"`` selects.

    It is the first one that isolates and can run here. For an image, it is the first one that has
    it; if none has, the last one, because a container engine pulls with its own credentials and
    mirrors.

    Args:
        config: Configuration of the sandbox; only ``image`` and ``trusted`` are used.

    Raises:
        SandboxUnavailable: No back end can run here; the message gives each reason and remedy.
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
