"""From a name to a sandbox."""

from __future__ import annotations

import pytest

from agentgym.errors import ConfigurationError
from agentgym.sandbox import SANDBOXES, SandboxConfig, SandboxUnavailable, open_sandbox, probe
from agentgym.sandbox.namespace.box import NamespaceSandbox
from agentgym.sandbox.registry import AUTOMATIC, choose_backend, load_backend


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no back end that isolates run on this machine."""
    for name in AUTOMATIC:
        reason = f"expected another machine for {name}; use that"
        monkeypatch.setattr(load_backend(name), "probe", classmethod(lambda _, text=reason: text))


@pytest.mark.parametrize("name", list(SANDBOXES))
def test_every_back_end_can_be_loaded_and_says_what_it_is(name: str) -> None:
    kind = load_backend(name)
    assert kind.isolation in ("none", "namespace", "container", "remote")
    assert isinstance(probe(name), str)


def test_what_isolates_is_taken_and_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NamespaceSandbox, "probe", classmethod(lambda _: ""))
    box = open_sandbox(SandboxConfig(trusted=True))
    assert isinstance(box, NamespaceSandbox) and box._process is None


def test_trusted_commands_run_without_isolation_where_nothing_better_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbid(monkeypatch)
    with pytest.warns(RuntimeWarning, match="without any isolation"):
        assert open_sandbox(SandboxConfig(trusted=True)).isolation == "none"


def test_others_run_nowhere_then_and_each_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(monkeypatch)
    with pytest.raises(SandboxUnavailable) as caught:
        open_sandbox(SandboxConfig())
    assert all(f"another machine for {name}; use that" in str(caught.value) for name in AUTOMATIC)


def test_the_fallback_refuses_commands_that_are_not_trusted() -> None:
    with pytest.raises(SandboxUnavailable, match="trusted=True"):
        open_sandbox(SandboxConfig(), "subprocess")


def test_an_image_goes_to_what_holds_it_and_else_to_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holders: set[str] = set()
    for name in AUTOMATIC:
        kind = load_backend(name)
        monkeypatch.setattr(kind, "probe", classmethod(lambda _: ""))
        monkeypatch.setattr(kind, "holds", classmethod(lambda _, image, name=name: name in holders))
    config = SandboxConfig(image="python:3.12", trusted=True)
    assert choose_backend(config) == "docker"
    holders.add("namespace")
    assert choose_backend(config) == "namespace"
    monkeypatch.setattr(
        load_backend("docker"), "probe", classmethod(lambda _: "expected an engine, got none")
    )
    holders.clear()
    assert choose_backend(config) == "namespace"  # which pulls without one
    forbid(monkeypatch)
    with pytest.raises(SandboxUnavailable, match="another machine for namespace"):
        choose_backend(config)


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"namespace, .*got 'chroot'"):
        open_sandbox(SandboxConfig(), "chroot")


class OwnSandbox(NamespaceSandbox):
    """A back end of one's own."""


def test_a_back_end_of_ones_own_is_opened_by_module_and_class() -> None:
    assert type(open_sandbox(SandboxConfig(), f"{__name__}:OwnSandbox")) is OwnSandbox
    for name, words in (
        (f"{__name__}:SandboxConfig", "with a subclass of agentgym.sandbox.Sandbox, got"),
        (f"{__name__}:OwnSandbx", r"no 'OwnSandbx' \(did you mean 'OwnSandbox'\?\)"),
        ("no_such_module:Box", "module that can be imported, got 'no_such_module'"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            load_backend(name)
