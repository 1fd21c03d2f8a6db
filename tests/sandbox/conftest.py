"""Boxes of every back end that can run here; one that cannot is skipped with its own reason.

A back end that stands in ``AGENTGYM_REQUIRE_SANDBOXES``, separated by commas, fails instead.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentgym.sandbox.base import Sandbox, SandboxConfig
from agentgym.sandbox.registry import SANDBOXES, load_backend, open_sandbox, probe
from tests.sandbox.prepared import OPTIONS

REQUIRED = os.environ.get("AGENTGYM_REQUIRE_SANDBOXES", "").split(",")
ISOLATING = [name for name in SANDBOXES if load_backend(name).isolation != "none"]

OpenBox = Callable[..., Sandbox]


def usable(name: str) -> str:
    """Return a back end's name, if it can run here."""
    reason = "" if name in OPTIONS else probe(name)
    if reason and name in REQUIRED:
        pytest.fail(f"{name} is required, but: {reason}")
    if reason:
        pytest.skip(f"{name}: {reason}")
    return name


@pytest.fixture(params=list(SANDBOXES))
def backend(request: pytest.FixtureRequest) -> str:
    """Every back end."""
    return usable(request.param)


@pytest.fixture(params=ISOLATING)
def isolating(request: pytest.FixtureRequest) -> str:
    """Every back end that keeps commands apart from the host."""
    return usable(request.param)


def opener(name: str) -> Iterator[OpenBox]:
    """Yield what opens boxes of a back end, and close them all."""
    with ExitStack() as stack:
        options = stack.enter_context(OPTIONS[name]()) if name in OPTIONS else {}

        def open_one(**config: Any) -> Sandbox:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                made = open_sandbox(SandboxConfig(trusted=True, **config), name, **options)
            stack.callback(made.close)
            return made.start()

        yield open_one


@pytest.fixture
def open_box(backend: str) -> Iterator[OpenBox]:
    """Open a box of any back end."""
    yield from opener(backend)


@pytest.fixture
def open_safe(isolating: str) -> Iterator[OpenBox]:
    """Open a box of a back end that isolates."""
    yield from opener(isolating)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small repository."""
    folder = tmp_path / "tree"
    (folder / "pkg").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("y = 1\n")
    (folder / "pkg" / "c.py").write_text("z = 1\n")
    (folder / "run.sh").write_text("echo ran\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link.py").symlink_to("a.py")
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.fixture
def box(open_box: OpenBox, tree: Path) -> Sandbox:
    """A box of any back end with a small repository."""
    return open_box(tree=tree)


@pytest.fixture
def safe(open_safe: OpenBox, tree: Path) -> Sandbox:
    """A box of a back end that isolates, with a small repository."""
    return open_safe(tree=tree)
