"""Images made of this machine's own programs, since tests pull nothing."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgym.sandbox.docker.engine import DockerEngine

SHELL = [
    *("sh", "cat", "chmod", "cut", "env", "head", "id", "ln", "ls", "mkdir", "mkfifo", "rm"),
    *("sed", "seq", "sleep", "touch", "yes"),
]
ALL_TOOLS = (
    *(
        "bash",
        "chroot",
        "cp",
        "date",
        "dirname",
        "du",
        "find",
        "grep",
        "hostname",
        "mknod",
        "mount",
    ),
    *("mv", "nohup", "nsenter", "renice", "setsid", "sort", "stat", "su", "tail", "tee", "test"),
    *("tr", "true", "truncate", "umount", "uname", "unshare", "wc", "chown", "tty"),
)
"""What the suites of boxes use besides."""
LIBRARY = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
LEFT_OUT = re.compile(
    r"/(lib2to3|idlelib|tests?|ensurepip|__pycache__|tkinter|turtledemo|distutils|pydoc_data"
    r"|site-packages|dist-packages|config-.*)$"
)


def import_image(
    engine: DockerEngine,
    name: str,
    files: Mapping[str, bytes],
    *,
    changes: Iterable[str] = (),
    **content: Any,
) -> str:
    """Make an image of an engine; returns its name.

    Args:
        engine: Where it is made.
        name: Its name, with a tag.
        files: Content by path.
        changes: Instructions of a Dockerfile, such as ``ENV A=1``.
        **content: See `root_archive`.
    """
    data = root_archive(files, **content)
    repository, _, tag = name.partition(":")
    engine.api.import_image_from_data(data, repository=repository, tag=tag, changes=list(changes))
    return name


def root_archive(
    files: Mapping[str, bytes] = MappingProxyType({}),
    *,
    python: bool,
    tools: Iterable[str] = (),
    compiled: bool = False,
) -> bytes:
    """Return the root of an image with a shell, a Python if wanted, and files, as an archive.

    Args:
        files: Content by path.
        python: Whether it holds the running Python with its standard library.
        tools: Further programs of this machine.
        compiled: Whether Python's modules come compiled, which saves each start a second or more.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
        for folder in ("tmp", "root", "etc", "bin", "lib", "usr/bin"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        programs = {
            f"bin/{name}": _program(name) for name in [*SHELL, *(["bash"] * python), *tools]
        }
        if python:
            _add_python(archive, programs, compiled)
        for place, program in programs.items():
            archive.add(program, place)
        modules = LIBRARY.glob("lib-dynload/*.so") if python else ()
        for library in sorted(_libraries([*programs.values(), *map(str, modules)])):
            archive.add(library, library.lstrip("/"))
        for path, content in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(content), 0o755, 1_600_000_000
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _add_python(archive: tarfile.TarFile, programs: dict[str, str], compiled: bool) -> None:
    """Add the running Python, where it lies here, without its packages."""

    def select_entry(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        compiled_cache = compiled and entry.name.endswith("/__pycache__")
        return None if LEFT_OUT.search(entry.name) and not compiled_cache else entry

    archive.add(LIBRARY, str(LIBRARY).lstrip("/"), filter=select_entry)
    interpreter = os.path.realpath(sys.executable)
    programs[interpreter.lstrip("/")] = interpreter
    for name in ("python", "python3"):
        link = tarfile.TarInfo(f"usr/bin/{name}")
        link.type, link.linkname = tarfile.SYMTYPE, interpreter
        archive.addfile(link)


def _program(name: str) -> str:
    path = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    assert path is not None, f"this machine has no {name}"
    return path


def _libraries(programs: Iterable[str]) -> set[str]:
    """Return the shared libraries of programs, and what loads them."""
    listing = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"(/[^\s:]+\.so[^\s:]*) \(", listing))
