"""The parts of the host that a box sees: an interpreter and pytest, but no installed packages.

The site-packages of the running interpreter may contain agentgym, and with it every solution. So
pytest and its dependencies are copied once into a folder of the cache, and the interpreter's own
site-packages are hidden.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import py_compile
import shutil
import sys
import sysconfig
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from agentgym.errors import DataError, EnvFailure, require
from agentgym.support.caching import cache_folder, check_folder, save_folder

RUNTIME_VERSION = 2
"""Version of the folder: raise it if its content changes."""
WORKDIR = "/testbed"
"""Path of the repository in a box."""
SHOWN = "/opt/agentgym"
"""Name of the shared folder in observations; it is also mounted at this path."""
PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of ``agentgym``."""
_WRAPPER = '#!/bin/sh\nexec {python} "$@"\n'
_lock = threading.Lock()


@dataclass(frozen=True)
class Runtime:
    """The files that boxes of this interpreter share."""

    folder: Path
    """Folder that boxes see, with the subfolders ``bin`` and ``site``."""
    hidden: tuple[Path, ...]
    """Folders of the interpreter's prefix that are empty inside."""

    @property
    def path(self) -> tuple[str, ...]:
        """Folders to put first in ``PATH``."""
        return (str(self.folder / "bin"),)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that commands and tests see."""
        # The repository comes after pytest in the path, so that its files cannot shadow pytest.
        roots = (str(self.folder / "site"), WORKDIR, f"{WORKDIR}/src")
        return {
            "PYTHONPATH": ":".join(roots),
            "PYTHONNOUSERSITE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PAGER": "cat",
            "GIT_PAGER": "cat",
            # Inside, the files belong to another user than git's, which git would reject.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }

    def renamed(self, output: bytes) -> bytes:
        """Replace the path of the shared folder in an output by `SHOWN`.

        Tracebacks of pytest contain the path, which differs from machine to machine; the same
        actions have to give the same observations.
        """
        return output.replace(os.fsencode(self.folder), SHOWN.encode())


@cache
def runtime() -> Runtime:
    """Return the files that boxes of this interpreter share; made on first use, then cached.

    Raises:
        DependencyNotInstalled: pytest is missing.
        EnvFailure: The cache cannot be written.
    """
    require("pytest", "swe")
    packages = dict(sorted(_closure("pytest")))
    key = [RUNTIME_VERSION, sys.version, _python(), packages]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
    folder = cache_folder() / "swe" / "runtime" / digest
    with _lock:
        _make(folder, list(packages))
    return Runtime(folder, _hidden())


def _make(folder: Path, packages: list[str]) -> None:
    """Create the folder, unless it exists and is undamaged."""
    try:
        check_folder(folder)
        return
    except DataError:
        shutil.rmtree(folder, ignore_errors=True)

    def fill(scratch: Path) -> None:
        for package in packages:
            _copy(package, scratch / "site")
        compiled = compileall.compile_dir(
            scratch / "site",
            quiet=2,
            stripdir=str(scratch),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        del compiled  # Files that cannot be compiled, such as templates, are never imported.
        (scratch / "bin").mkdir()
        for name, arguments in (("python", ""), ("python3", ""), ("pytest", " -m pytest")):
            wrapper = scratch / "bin" / name
            wrapper.write_text(_WRAPPER.format(python=_python() + arguments))
            wrapper.chmod(0o755)

    if not save_folder(folder, fill):
        raise EnvFailure(
            f"expected to store what boxes need in {folder}, which cannot be written: set "
            "AGENTGYM_CACHE to a folder that can be"
        )


def _closure(name: str) -> Iterator[tuple[str, str]]:
    """Yield a distribution and its dependencies on this interpreter, each with its version."""
    requirements = require("packaging.requirements", "swe")
    waiting, visited = [name], set[str]()
    while waiting:
        distribution_name = waiting.pop()
        if distribution_name in visited:
            continue
        visited.add(distribution_name)
        distribution = metadata.distribution(distribution_name)
        yield distribution_name, distribution.version
        for text in distribution.requires or ():
            needed = requirements.Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name.lower().replace("_", "-"))


def _copy(package: str, site: Path) -> None:
    """Copy the modules of a distribution, without scripts and cached bytecode."""
    for file in metadata.distribution(package).files or ():
        parts = Path(str(file)).parts
        if ".." in parts or "__pycache__" in parts:
            continue
        # Of the metadata only the version is needed: pytest looks up and prints pluggy's.
        if parts[0].endswith(".dist-info") and parts[1:] != ("METADATA",):
            continue
        source, target = Path(str(file.locate())), site.joinpath(*parts)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _python() -> str:
    """Return the base interpreter: a virtual environment is not visible in a box."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for name in (version, "python3"):
        path = os.path.join(sys.base_prefix, "bin", name)
        if os.path.exists(path):
            return path
    return os.path.realpath(sys.executable)


def _hidden() -> tuple[Path, ...]:
    """Return the folders to hide: installed packages of the interpreter, and agentgym's source."""
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folders = {
        *(sysconfig.get_path(name, vars=base) for name in ("purelib", "platlib")),
        *(f"{sys.base_prefix}/lib/{version}/{name}" for name in ("site-packages", "dist-packages")),
        *(f"{prefix}/lib/{name}/dist-packages"
          for prefix in ("/usr", "/usr/local") for name in ("python3", version)),
        *map(str, _sources(PACKAGE)),
    }  # fmt: skip
    return tuple(Path(folder) for folder in sorted(folders) if os.path.isdir(folder))


def _sources(package: Path) -> Iterator[Path]:
    """Yield the paths that contain the source of a package, and with it solutions.

    In a checkout these include the git history and build products. Paths that a box needs are not
    yielded: an interpreter or a cache inside the checkout, and the system's programs if the whole
    of ``/usr`` is under version control.
    """
    yield package
    needed = (Path(sys.base_prefix).resolve(), cache_folder().resolve())
    for folder in package.parents:
        history = folder / ".git"
        if not history.exists() and not (folder / "pyproject.toml").is_file():
            continue
        if Path("/usr").is_relative_to(folder):
            yield history
        elif any(path.is_relative_to(folder) for path in needed):
            siblings = (
                c for c in folder.iterdir() if not any(path.is_relative_to(c) for path in needed)
            )
            yield from siblings
        else:
            yield folder
        if history.is_file():  # in a worktree or submodule, a file with the path of the real .git
            text = history.read_text().strip().removeprefix("gitdir:").strip()
            place = (folder / text).resolve()
            yield next((parent.parent for parent in place.parents if parent.name == ".git"), place)
