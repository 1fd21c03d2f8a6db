"""Images like those of published sets, made of this machine's own programs: no registry is asked.

An image holds a Python with its standard library, pytest, git and a few tools of the shell, and a
repository in ``/testbed`` whose history goes on after the commit that is checked out, up to the one
with the solution, as the history of real images does.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TOOLS = (
    "bash", "sh", "cat", "chmod", "cp", "env", "find", "git", "grep", "head", "ln", "ls", "mkdir",
    "mv", "patch", "rm", "sed", "sleep", "tail", "tar", "touch", "true",
)  # fmt: skip
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py")
UNUSED = {
    "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages",
    "dist-packages", "pydoc_data", "distutils", "venv",
}  # fmt: skip
ENVIRONMENT = "opt/miniconda3/envs/testbed"
"""Where the images of SWE-bench's kind keep their Python."""
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
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout

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


def build_base(engine: Any) -> str:
    """Make the image that the others are made from, with the programs; return its name.

    Args:
        engine: The engine, as the package ``docker`` speaks to it.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        _Filler(archive).programs_and_python()
    engine.import_image_from_data(buffer.getvalue(), repository=BASE_IMAGE, tag="latest")
    return f"{BASE_IMAGE}:latest"


def build(engine: Any, name: str, testbed: Path, further: Mapping[str, str]) -> None:
    """Make an image on an engine.

    Args:
        engine: The engine.
        name: Its name, with a tag.
        testbed: Content of ``/testbed``.
        further: Further files, by absolute path.
    """
    content, context = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        _Filler(archive).repository(testbed, further)
    recipe = f"FROM {BASE_IMAGE}:latest\nADD content.tar /\n".encode()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for file, data in (("Dockerfile", recipe), ("content.tar", content.getvalue())):
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    context.seek(0)
    lines = list(engine.build(fileobj=context, custom_context=True, tag=name, rm=True, decode=True))
    assert not [line for line in lines if "error" in line], lines


class _Filler:
    """Fills the root folder of an image."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self.archive = archive
        self.done: set[str] = set()

    def programs_and_python(self) -> None:
        for folder in ("tmp", "root", "proc", "sys", "dev", "etc"):
            self.folder(folder, 0o1777 if folder == "tmp" else 0o755)
        for name in ("bin", "sbin", "lib", "lib32", "lib64"):
            if Path(f"/{name}").is_symlink():
                self.link(name, os.readlink(f"/{name}").lstrip("/"))
        self.text("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
        prefix = Path(sys.base_prefix)
        python = Path(os.path.realpath(sys.executable))
        tools = [found for found in map(shutil.which, TOOLS) if found]
        self.programs([str(python), *tools])
        library = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.tree(library, str(library).lstrip("/"))
        self.programs(str(path) for path in (library / "lib-dynload").glob("*.so"))
        for link in ("usr/bin/python3", f"{ENVIRONMENT}/bin/python"):
            if f"/{link}" != str(python):
                self.link(link, str(python))
        for package in PACKAGES:
            spec = importlib.util.find_spec(package)
            if spec and spec.submodule_search_locations:
                self.tree(Path(spec.submodule_search_locations[0]), f"{ENVIRONMENT}/lib/{package}")
            elif spec and spec.origin:
                self.file(Path(spec.origin), f"{ENVIRONMENT}/lib/{Path(spec.origin).name}")
        for name in ("pytest", "pluggy"):  # their versions are looked up when tests run
            found = importlib.metadata.distribution(name)
            place = f"{ENVIRONMENT}/lib/{name}-{found.version}.dist-info/METADATA"
            self.text(place, f"Metadata-Version: 2.1\nName: {name}\nVersion: {found.version}\n")
        runner = f"import sys; sys.path[:1] = ['', '/{ENVIRONMENT}/lib']; import pytest; "
        script = f'#!/bin/bash\nexec python3 -c "{runner}sys.exit(pytest.main())" "$@"\n'
        self.text(f"{ENVIRONMENT}/bin/pytest", script, 0o755)

    def repository(self, testbed: Path, further: Mapping[str, str]) -> None:
        self.tree(testbed, "testbed", everything=True)
        for path, text in further.items():
            self.text(path.lstrip("/"), text)

    def folder(self, name: str, mode: int = 0o755) -> None:
        parent = os.path.dirname(name)
        if parent and parent not in self.done:
            self.folder(parent)
        if self.new(name):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            self.archive.addfile(entry)

    def new(self, name: str) -> bool:
        fresh = name not in self.done
        self.done.add(name)
        return fresh

    def link(self, name: str, target: str) -> None:
        self.folder(os.path.dirname(name)) if "/" in name else None
        if self.new(name):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            self.archive.addfile(entry)

    def text(self, name: str, text: str, mode: int = 0o644) -> None:
        self.folder(os.path.dirname(name))
        self.done.add(name)
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(text.encode()), mode
        self.archive.addfile(entry, io.BytesIO(text.encode()))

    def file(self, path: Path, name: str) -> None:
        self.folder(os.path.dirname(name))
        if self.new(name):
            entry = self.archive.gettarinfo(str(path), name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            with path.open("rb") as content:
                self.archive.addfile(entry, content)

    def tree(self, folder: Path, name: str, everything: bool = False) -> None:
        self.folder(name)
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                if everything or path.name not in UNUSED:
                    self.tree(path, f"{name}/{path.name}", everything)
            elif path.is_file() and (everything or _wanted(path)):
                self.file(Path(os.path.realpath(path)), f"{name}/{path.name}")

    def programs(self, paths: Iterable[str]) -> None:
        """Add programs, and the libraries that they are linked with."""
        for path in paths:
            self.file(Path(os.path.realpath(path)), self.place(path))
            listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
            for library in re.findall(r"(/\S+\.so\S*)", listed.stdout):
                self.file(Path(os.path.realpath(library)), self.place(library))

    def place(self, path: str) -> str:
        """Return where a file goes: links into ``/usr`` of the root folder are links there, too."""
        first, _, rest = path.lstrip("/").partition("/")
        if Path(f"/{first}").is_symlink():
            return f"{os.readlink(f'/{first}').lstrip('/')}/{rest}"
        return path.lstrip("/")


def _wanted(path: Path) -> bool:
    """Leave out what no program reads; compiled modules save seconds of each run of tests."""
    if path.parent.name == "__pycache__":
        return path.name.endswith(f".{sys.implementation.cache_tag}.pyc")
    return path.suffix not in (".a", ".h")
