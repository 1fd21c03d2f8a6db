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
from filelock import FileLock

from agentgym.sandbox.base import Sandbox, SandboxConfig
from agentgym.sandbox.images.store import ImageStore
from agentgym.sandbox.namespace.box import own_store
from agentgym.sandbox.registry import SANDBOXES, load_backend, open_sandbox, probe
from tests.sandbox.images import ALL_TOOLS, root_archive
from tests.sandbox.layouts import write_saved
from tests.sandbox.prepared import OPTIONS

REQUIRED = os.environ.get("AGENTGYM_REQUIRE_SANDBOXES", "").split(",")
ISOLATING = [name for name in SANDBOXES if load_backend(name).isolation != "none"]
IMAGE = "image"
"""Stands for the back end of namespaces with an image of this machine's own programs."""
WITH_PYTHON = "tests/with-python:1"

OpenBox = Callable[..., Sandbox]


def usable(name: str) -> str:
    """Return a back end's name, if it can run here."""
    reason = "" if name in OPTIONS else probe("namespace" if name == IMAGE else name)
    if reason and name in REQUIRED:
        pytest.fail(f"{name} is required, but: {reason}")
    if reason:
        pytest.skip(f"{name}: {reason}")
    return name


@pytest.fixture(params=[*SANDBOXES, IMAGE])
def backend(request: pytest.FixtureRequest) -> str:
    """Every back end."""
    return usable(request.param)


@pytest.fixture(params=[*ISOLATING, IMAGE])
def isolating(request: pytest.FixtureRequest) -> str:
    """Every back end that keeps commands apart from the host."""
    return usable(request.param)


@pytest.fixture(scope="session")
def image_store(tmp_path_factory: pytest.TempPathFactory) -> ImageStore:
    """A store with an image of a shell, some programs and the running Python."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):  # made once for all workers
        folder = folder.parent
    store = own_store(folder / "images")
    with FileLock(folder / "images.lock"):
        if store.find(WITH_PYTHON) is None:
            saved = folder / "image.tar"
            users = b"root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"
            data = root_archive({"etc/passwd": users}, python=True, tools=ALL_TOOLS)
            store.load(write_saved(saved, [data], name=WITH_PYTHON))
            saved.unlink()
    return store


def opener(name: str, request: pytest.FixtureRequest) -> Iterator[OpenBox]:
    """Yield what opens boxes of a back end, and close them all."""
    with ExitStack() as stack:
        options = stack.enter_context(OPTIONS[name]()) if name in OPTIONS else {}
        image: dict[str, str] = {}
        if name == IMAGE:
            name, image = "namespace", {"image": WITH_PYTHON}
            options = {"store": request.getfixturevalue("image_store").folder}

        def open_one(**config: Any) -> Sandbox:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                settings = SandboxConfig(trusted=True, **{**image, **config})
                sandbox = open_sandbox(settings, name, **options)
            stack.callback(sandbox.close)
            return sandbox.start()

        yield open_one


@pytest.fixture
def open_box(backend: str, request: pytest.FixtureRequest) -> Iterator[OpenBox]:
    """Open a box of any back end."""
    yield from opener(backend, request)


@pytest.fixture
def open_safe(isolating: str, request: pytest.FixtureRequest) -> Iterator[OpenBox]:
    """Open a box of a back end that isolates."""
    yield from opener(isolating, request)


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
