"""The parts of the host that a box sees: an interpreter and pytest, but no installed packages.

The packages of the running environment may hold agentgym, and with it every solution. So pytest and
what it needs are copied, once, into a folder of the cache, and the folders of installed packages of
the interpreter are hidden.
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
"""How the folder of the cache that boxes share is called in observations; it stands there too."""
PACKAGE = Path(__file__).resolve().parents[2]
"""The folder of ``agentgym``."""
_WRAPPER = '#!/bin/sh\nexec {python} "$@"\n'
_lock = threading.Lock()


@dataclass(frozen=True)
class Runtime:
    """The files that boxes of this interpreter share."""

    folder: Path
    """The folder that is visible inside: ``bin`` and ``site``."""
    hidden: tuple[Path, ...]
    """Folders of the interpreter's prefix that are empty inside."""

    @property
    def path(self) -> tuple[str, ...]:
        """Folders that come first in ``PATH``."""
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
        """Return an output in which the folder has one name, wherever the cache lies.

        Tracebacks of pytest name it, and the same actions have to give the same text.
        """
        return output.replace(os.fsencode(self.folder), SHOWN.encode())


@cache
def runtime() -> Runtime:
    """Return the files that boxes of this interpreter share; made on first use, then cached.

    Raises:
        DependencyNotInstalled: pytest is missing.
        EnvFailure: The folder can be written nowhere.
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
    """Make the folder, unless it is there and sound."""
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
        del compiled  # What cannot be compiled, such as templates, is not imported either.
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
    """Copy the modules of a distribution, without scripts and tests of the environment."""
    for file in metadata.distribution(package).files or ():
        parts = Path(str(file)).parts
        if ".." in parts or "__pycache__" in parts:
            continue
        # Of what describes it only its version: pytest prints that of pluggy, which looks it up.
        if parts[0].endswith(".dist-info") and parts[1:] != ("METADATA",):
            continue
        source, target = Path(str(file.locate())), site.joinpath(*parts)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def _python() -> str:
    """Return the interpreter itself, since a virtual environment is not visible inside."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for name in (version, "python3"):
        path = os.path.join(sys.base_prefix, "bin", name)
        if os.path.exists(path):
            return path
    return os.path.realpath(sys.executable)


def _hidden() -> tuple[Path, ...]:
    """Return the folders of installed packages under the interpreter's prefix, and our source."""
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
    """Yield what holds the source of a package, and with it solutions.

    In a checkout that is more than its own folder: the history, and whatever else was built there.
    What a box needs is not hidden: neither an interpreter or a cache in the checkout, nor the
    system's programs, should somebody keep all of ``/usr`` under version control.
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
            beside = (
                c for c in folder.iterdir() if not any(path.is_relative_to(c) for path in needed)
            )
            yield from beside
        else:
            yield folder
        if history.is_file():  # of a worktree or a submodule, whose history lies elsewhere
            text = history.read_text().strip().removeprefix("gitdir:").strip()
            place = (folder / text).resolve()
            yield next((parent.parent for parent in place.parents if parent.name == ".git"), place)
