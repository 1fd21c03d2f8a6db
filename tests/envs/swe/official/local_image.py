"""Images like those of published sets, made of this machine's own programs: no registry is asked.

An image holds a Python with its standard library, pytest, git and a few tools of the shell, and a
repository in ``/testbed`` whose history goes on after the commit that is checked out, up to the one
with the solution, as the history of real images does.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode, compile
from typing import Any

from agentgym.sandbox.docker.engine import find_engine
from agentgym.sandbox.namespace.box import own_store
from tests.sandbox.images import import_image, root_archive
from tests.sandbox.layouts import write_saved

TOOLS = ("cp", "find", "git", "grep", "mv", "patch", "tail", "tar", "true")
PACKAGES = (
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py",
    *(("exceptiongroup", "tomli", "typing_extensions") if sys.version_info < (3, 11) else ()),
)  # fmt: skip
ENVIRONMENT = "opt/miniconda3/envs/testbed"
"""Where the images of SWE-bench's kind keep their Python."""
RUNNER = f"""\
#!/bin/bash
exec python3 -c "import sys; sys.path[:1] = ['', '/{ENVIRONMENT}/lib']; import pytest; \
sys.exit(pytest.main())" "$@"
"""
BASE_IMAGE = "agentgym-test/base"
BASE = {
    "ledger/__init__.py": '"""Sums of money."""\n',
    "ledger/sums.py": (
        "def total(amounts):\n    result = 0\n    for amount in amounts:\n"
        "        result = amount\n    return result\n"
    ),
    "tests/test_sums.py": (
        "from ledger.sums import total\n\n\ndef test_one():\n    assert total([4]) == 4\n"
    ),
    ".gitignore": "*.pyc\n",
}
SOLUTION = {"ledger/sums.py": BASE["ledger/sums.py"].replace("= amount\n", "+= amount\n")}
TESTS = {
    "tests/test_sums.py": (
        f"import pytest\n\n{BASE['tests/test_sums.py']}\n\n"
        '@pytest.mark.parametrize("amounts", [[4, 5], [9]], ids=["four and five", "nine"])\n'
        "def test_two(amounts):\n    assert total(amounts) == 9\n"
    )
}


def repository(folder: Path, base: Mapping[str, str] = BASE) -> tuple[str, str]:
    """Make a repository; return the diffs of its solution and of the tests for it."""

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return process.stdout

    def commit(files: Mapping[str, str], message: str) -> str:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", message)
        return git("diff", "HEAD^", "HEAD") if message != "base" else ""

    folder.mkdir()
    git("init", "-q")
    commit(base, "base")
    patch = commit(SOLUTION, "the solution")
    test_patch = commit(TESTS, "tests for it")
    git("branch", "-q", "later")
    git("reset", "-q", "--hard", "HEAD~2")
    return patch, test_patch


class EngineImages:
    """Makes images on the engine of this machine."""

    def __init__(self) -> None:
        self._engine = find_engine()
        base = f"{BASE_IMAGE}:latest"
        content: dict[str, Any] = {"python": True, "tools": TOOLS, "compiled": True}
        self._names = [import_image(self._engine, base, base_files(), **content)]

    def build(self, name: str, testbed: Path, further: Mapping[str, str]) -> None:
        """Make an image.

        Args:
            name: Its name, with a tag.
            testbed: Content of ``/testbed``.
            further: Further files, by absolute path.
        """
        context = io.BytesIO()
        recipe = f"FROM {BASE_IMAGE}:latest\nADD content.tar /\n".encode()
        with tarfile.open(fileobj=context, mode="w") as archive:
            content = content_archive(testbed, further)
            for file, data in (("Dockerfile", recipe), ("content.tar", content)):
                entry = tarfile.TarInfo(file)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        context.seek(0)
        arguments = {"fileobj": context, "custom_context": True, "tag": name, "rm": True}
        lines = list(self._engine.api.build(decode=True, **arguments))
        assert not [line for line in lines if "error" in line], lines
        self._names.append(name)

    def remove(self) -> None:
        """Remove them."""
        for name in reversed(self._names):
            self._engine.api.remove_image(name, force=True)


class StoredImages:
    """Makes images in the store of this machine, from archives as ``docker save`` writes them.

    Args:
        scratch: A folder for these.
    """

    def __init__(self, scratch: Path) -> None:
        self._saved = scratch / "saved.tar"
        self._base = root_archive(base_files(), python=True, tools=TOOLS, compiled=True)

    def build(self, name: str, testbed: Path, further: Mapping[str, str]) -> None:
        """Make an image, as `EngineImages.build` does."""
        layers = [self._base, content_archive(testbed, further)]
        own_store().load(write_saved(self._saved, layers, name=name))
        self._saved.unlink()

    def remove(self) -> None:
        """Remove them."""
        own_store().prune(0)


def base_files() -> dict[str, bytes]:
    """Return the files that all images have besides the programs."""
    files: dict[str, bytes] = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec and spec.origin:
            folder = Path(spec.origin).parent
            sources = folder.rglob("*.py") if spec.submodule_search_locations else [spec.origin]
            root = folder.parent if spec.submodule_search_locations else folder
            for source in map(Path, sources):
                place = f"{ENVIRONMENT}/lib/{source.relative_to(root)}"
                files[place] = source.read_bytes()
                if "/lexers/" not in place:  # hundreds, of which few are read
                    files[cache_from_source(place)] = _compiled(source, place)
    for name in ("pytest", "pluggy"):  # their versions are looked up when tests run
        version = importlib.metadata.version(name)
        described = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        files[f"{ENVIRONMENT}/lib/{name}-{version}.dist-info/METADATA"] = described.encode()
    files[f"{ENVIRONMENT}/bin/pytest"] = RUNNER.encode()
    files[f"{ENVIRONMENT}/bin/python"] = b'#!/bin/sh\nexec python3 "$@"\n'
    return files


def content_archive(testbed: Path, further: Mapping[str, str]) -> bytes:
    """Return the layer that makes an image of its own."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(testbed, "testbed", filter=_owned_by_root)
        for path, text in further.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


def _compiled(source: Path, place: str) -> bytes:
    """Compile a module so that the time of its file does not matter."""
    with tempfile.TemporaryDirectory() as folder:
        unchecked = PycInvalidationMode.UNCHECKED_HASH
        file = f"{folder}/module.pyc"
        compile(str(source), file, f"/{place}", doraise=True, invalidation_mode=unchecked)
        return Path(file).read_bytes()
