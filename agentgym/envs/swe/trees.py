"""Create the folders that boxes start from: a repository with its fault, cached on disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from agentgym.envs.swe.edits import edited_files
from agentgym.envs.swe.instance import FolderSource
from agentgym.errors import DataError, EnvFailure
from agentgym.support.caching import BoundedCache, cache_folder, check_folder, save_folder

TREE_VERSION = 1
"""Part of the cache key: increase it when the same source gives another folder."""
TIME = 1_600_000_000
"""Modification time of every file and date of the commit (Unix time), equal on every machine."""
_LEFT_OUT = frozenset({"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache"})
_COMMIT = (
    ("-c", "init.defaultBranch=main", "init", "--quiet", "--template="),
    ("add", "--all", "--force"),
    ("commit", "--quiet", "--no-gpg-sign", "--message", "Import"),
)
_trees: BoundedCache[FolderSource, Path] = BoundedCache(4096)
_contents: BoundedCache[FolderSource, Mapping[str, bytes]] = BoundedCache(256)
_lock = threading.Lock()


def tree(source: FolderSource) -> Path:
    """Return the cached folder with the repository and its fault, for boxes to start from.

    All its files have the same modification time. If ``git`` is installed, it is a git repository
    with a single commit, which already contains the fault: the history does not reveal it.

    Raises:
        DataError: The folder is missing, or an edit does not match it.
        EnvFailure: The cache cannot be written.
    """
    folder = _trees.get(source)
    if folder is None:
        with _lock:  # made once, even if the environments of several threads ask for it
            folder = _trees.get(source) or _trees.put(source, _make(source))
    return folder


def contents(source: FolderSource) -> Mapping[str, bytes]:
    """Return the files of a repository with its fault: content by relative path.

    Raises:
        DataError: The folder is missing, or an edit does not match it.
    """
    cached = _contents.get(source)
    if cached is None:
        files = read_files(source.folder)
        files |= edited_files(partial(_read_sound, source, files), source.edits)
        cached = _contents.put(source, files)
    return cached


def _read_sound(source: FolderSource, files: Mapping[str, bytes], path: str) -> bytes:
    """Return the original content of a file that edits change."""
    if path not in files:
        raise DataError(f"expected the file {path} in {source.folder}, which edits change")
    return files[path]


def read_files(folder: Path) -> dict[str, bytes]:
    """Read the regular files of a repository, except for caches of tools and ``.git``.

    Args:
        folder: The repository.

    Returns:
        Content by relative path.

    Raises:
        DataError: The folder does not exist.
    """
    if not folder.is_dir():
        raise DataError(f"expected {folder} to be the folder of a repository")
    files: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if _LEFT_OUT & set(relative.parts) or path.is_symlink() or not path.is_file():
            continue
        files[relative.as_posix()] = path.read_bytes()
    return files


def _make(source: FolderSource) -> Path:
    """Return the folder from the cache, or create it."""
    files = contents(source)
    version = f"{TREE_VERSION}/{_git() is not None}"
    folder = cached_files("trees", version, files, lambda new: _fill(new / "tree", files))
    return folder / "tree"


def cached_files(
    kind: str, version: str, files: Mapping[str, bytes], fill: Callable[[Path], None]
) -> Path:
    """Return a folder of the cache that is determined by files; create it if it does not exist.

    Args:
        kind: Name of the subfolder of SWE's cache.
        version: Further part of the cache key.
        files: Content by relative path; part of the cache key.
        fill: Fills the empty folder that it gets.

    Raises:
        EnvFailure: The cache cannot be written.
    """
    digest = hashlib.sha256(version.encode())
    for path, content in sorted(files.items()):
        digest.update(f"/{path}/{len(content)}/".encode() + content)
    folder = cache_folder() / "swe" / kind / digest.hexdigest()[:24]
    try:
        check_folder(folder)
    except DataError:
        shutil.rmtree(folder, ignore_errors=True)
        if not save_folder(folder, fill):
            raise EnvFailure(
                f"expected to store a repository in {folder}, which cannot be written: set "
                "AGENTGYM_CACHE to a folder that can be"
            ) from None
    return folder


def write_tree(folder: Path, files: Mapping[str, bytes]) -> None:
    """Create a folder and write files into it.

    Args:
        folder: The folder; must not exist.
        files: Content by relative path.
    """
    folder.mkdir()
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files and, if git is installed, make them a repository with one commit."""
    write_tree(folder, files)
    for path_ in sorted(folder.rglob("*"), reverse=True):
        os.utime(path_, (TIME, TIME))
    git = _git()
    if git is not None:
        for arguments in _COMMIT:
            _run(git, arguments, folder)
        for name in ("COMMIT_EDITMSG", "logs"):
            shutil.rmtree(folder / ".git" / name, ignore_errors=True)
    os.utime(folder, (TIME, TIME))


@cache
def _git() -> str | None:
    """Return the path of git, or None if it is not installed."""
    return shutil.which("git")


def _run(git: str, arguments: tuple[str, ...], folder: Path) -> None:
    """Run git without the user's configuration, which could change the result.

    Raises:
        EnvFailure: git fails.
    """
    variables = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": f"{TIME} +0000",
        "GIT_COMMITTER_DATE": f"{TIME} +0000",
        **{f"GIT_{role}_NAME": "maintainer" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "maintainer@localhost" for role in ("AUTHOR", "COMMITTER")},
    }
    process = subprocess.run(
        [git, *arguments], cwd=folder, env=variables, capture_output=True, timeout=60
    )
    if process.returncode:
        reason = process.stderr.decode("utf-8", "replace").strip()
        raise EnvFailure(
            f"expected git {' '.join(arguments)} to make a repository, got {reason!r:.300}"
        )
