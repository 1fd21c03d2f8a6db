"""Caches: generated files between processes, recent results within one.

Files in the cache folder may be damaged, after a crash or on a full disk. Every file is therefore
written under a temporary name, synced to disk and renamed, and verified by its size and SHA-256
before use. Damaged files are regenerated. A cache that cannot be written is not an error.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from agentgym.errors import DataError, EnvFailure

Key = TypeVar("Key")
Value = TypeVar("Value")

SCRATCH = ".new-"
"""How names of entries begin that are still being written."""
ABANDONED = 3600.0
"""Age in seconds from which a scratch entry counts as left by a dead process."""
MANIFEST = "manifest.json"
"""File of a stored folder that holds size and SHA-256 of all others."""
BLOCK = 1 << 20

_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the folder for generated files; it need not exist.

    Returns:
        ``AGENTGYM_CACHE``, or ``agentgym`` under ``XDG_CACHE_HOME`` or ``~/.cache``. A user
        without a home, as in many containers, gets a folder of their own under the system's
        folder for temporary files.
    """
    folder = os.environ.get("AGENTGYM_CACHE")
    if folder:
        return _expanded(folder)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _expanded(base) / "agentgym"


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    The content reaches the disk before the name does, so this holds after a crash of the machine.

    Args:
        path: The file.
        data: Its content, whole or in parts, which may be made from the old content.

    Raises:
        OSError: It cannot be written; the old file is as it was.
    """
    scratch = _scratch(path.parent)
    try:
        with scratch.open("xb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
        publish(scratch, path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink()
        raise


def publish(scratch: Path, target: Path) -> None:
    """Force a file or a folder to the disk and give it its name, which is on the same file system.

    A reader sees what had the name before or all that is new, also after a crash of the machine.

    Args:
        scratch: The written file or folder.
        target: Its name: free, an empty folder's for a folder, or that of a file to replace.

    Raises:
        OSError: It cannot be written, or the name is taken; what had the name is as it was.
    """
    to_disk(scratch)
    os.replace(scratch, target)
    _folder_to_disk(target.parent)


def to_disk(content: Path) -> None:
    """Force a file, or a folder with all that it holds, to the disk."""
    for path in (*content.rglob("*"), content):
        if path.is_dir():
            _folder_to_disk(path)
        elif path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def save(path: Path, key: str, data: bytes) -> bool:
    """Store bytes under the key that decides them, for :func:`load`; return whether it worked."""
    digest = hashlib.sha256(data).hexdigest()
    head = json.dumps({"key": key, "size": len(data), "sha256": digest}).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        write_atomically(path, head + data)
    except OSError as error:
        _log.info("nothing is kept in %s: %s", path.parent, error)
        return False
    return True


def load(path: Path, key: str) -> bytes | None:
    """Return the value that :func:`save` stored; None if missing, damaged or of another key."""
    try:
        head, _, data = path.read_bytes().partition(b"\n")
        entry = json.loads(head)
        sound = (entry["key"], entry["size"]) == (key, len(data))
        if sound and entry["sha256"] == hashlib.sha256(data).hexdigest():
            return data
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        _log.warning("making %s again, which cannot be read: %s", path, error)
        return None
    _log.warning("making %s again, which is damaged or of another origin", path)
    return None


def entry_path(room: str, kind: str, name: str) -> Path:
    """Return where a value of a kind is kept in a room, such as a family's, by its name."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return cache_folder() / room / f"{kind}-{digest[:24]}"


def save_json(path: Path, key: str, value: object) -> bool:
    """Store a JSON value for :func:`load_json`, as :func:`save` stores bytes."""
    return save(path, key, json.dumps(value, separators=(",", ":")).encode())


def load_json(path: Path, key: str) -> Any | None:
    """Read the data that :func:`save_json` stored; None if missing, damaged or of another key."""
    data = load(path, key)
    return None if data is None else json.loads(data)


def save_folder(folder: Path, fill: Callable[[Path], None]) -> bool:
    """Store a folder of files for :func:`check_folder`; return whether it is there now.

    Concurrent writers cannot disturb each other: the first one wins.

    Args:
        folder: The folder; a sound one that is there already is left alone.
        fill: Writes files and folders into the folder it is given; links are not kept track of.

    Raises:
        EnvFailure: No more files can be opened, which says nothing of the folder.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        sweep(folder.parent)
        scratch = _scratch(folder.parent)
        scratch.mkdir()
    except OSError as error:
        _raise_if_exhausted(error)
        _log.info("nothing is kept in %s: %s", folder.parent, error)
        return False
    try:
        fill(scratch)
        files = sorted(path for path in scratch.rglob("*") if path.is_file())
        entries = {path.relative_to(scratch).as_posix(): file_entry(path) for path in files}
        text = json.dumps({"files": entries}, indent=1)
        (scratch / MANIFEST).write_text(text)
        publish(scratch, folder)
    except OSError as error:
        _raise_if_exhausted(error)
        if not folder.is_dir():  # otherwise somebody else was first
            _log.warning("cannot store %s (%s); it stays in memory", folder, error)
            return False
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def check_folder(folder: Path) -> None:
    """Compare the files of a stored folder with its manifest.

    Raises:
        DataError: A file is missing or differs in size or SHA-256; the message names it.
        EnvFailure: No more files can be opened, which says nothing of the folder.
    """
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        entries = checked_entries(content["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        _raise_if_exhausted(error)
        raise DataError(
            f"expected {folder / MANIFEST} to list the files of this folder, got {error!r}; remove "
            "the folder to rebuild it"
        ) from error
    for name, entry in entries.items():
        if problem := difference(folder / name, entry):
            raise DataError(f"{problem}; remove the folder to rebuild it")


def file_entry(path: Path) -> dict[str, Any]:
    """Describe a file by its size and SHA-256."""
    return {"size": path.stat().st_size, "sha256": _digest(path)}


def checked_entries(entries: Any) -> dict[str, dict[str, Any]]:
    """Return what :func:`file_entry` said of the files of a folder, read back from JSON.

    Raises:
        KeyError: A part is missing. This and what follows mean that it was damaged.
        TypeError: A part is of another type.
        ValueError: A part is something else.
    """
    return {
        str(name): {"size": int(entry["size"]), "sha256": str(entry["sha256"])}
        for name, entry in dict(entries).items()
    }


def difference(path: Path, entry: Mapping[str, Any], *, content: bool = True) -> str:
    """Describe how a file differs from its :func:`file_entry`; empty if it does not.

    Args:
        path: The file.
        entry: What it was.
        content: Whether to read it, or only to ask for its size.
    """
    try:
        size = path.stat().st_size
        sound = size == entry["size"] and (not content or _digest(path) == entry["sha256"])
    except OSError as error:
        _raise_if_exhausted(error)
        return f"expected to read {path}, got {error}"
    if sound:
        return ""
    return (
        f"expected {path} to have {entry['size']} bytes with SHA-256 {entry['sha256']}, got "
        f"{size} bytes or other content"
    )


def _raise_if_exhausted(error: Exception) -> None:
    """Tell a process that may open no more files from a folder that cannot be used."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise EnvFailure(
            f"expected to open another file, got {error.strerror!r}; raise the limit (ulimit -n), "
            "or use fewer environments at a time"
        ) from error


def sweep(folder: Path) -> None:
    """Remove the scratch entries of processes that died while writing into a folder.

    Raises:
        OSError: The folder cannot be read.
    """
    # Age, not process ids: a cache may be shared by containers and machines.
    oldest = time.time() - ABANDONED
    with os.scandir(folder) as entries:
        paths = [entry.path for entry in entries if entry.name.startswith(SCRATCH)]
    for path in paths:
        with suppress(OSError):
            if os.lstat(path).st_mtime >= oldest:
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)


class BoundedCache(dict[Key, Value]):
    """A dict that drops its oldest entries when it is full: bounded, and safe under threads.

    Args:
        capacity: Maximum number of entries.
    """

    __slots__ = ("capacity",)

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def put(self, key: Key, value: Value) -> Value:
        """Store and return ``value``."""
        surplus = len(self) - self.capacity
        if surplus >= 0:
            # Drop a few entries at once. Dropping many would trigger garbage collections; dropping
            # a single one is slow, because finding the first entry of a dict must skip the slots of
            # all entries dropped before.
            count = surplus + max(1, self.capacity // 128)
            try:
                oldest = list(islice(self, count))
            except RuntimeError:  # Another thread changes it: the next entry drops more.
                oldest = []
            for old in oldest:
                self.pop(old, None)
        self[key] = value
        return value

    def refresh(self, key: Key) -> Value | None:
        """Return the value of ``key`` and make it the newest, or None if it is not here."""
        value = self.pop(key, None)
        if value is not None:
            self[key] = value
        return value

    def __reduce__(self) -> Any:
        """Travel empty."""
        return type(self), (self.capacity,)


def _expanded(path: str) -> Path:
    """Resolve ``~``; a user without a home gets a folder that only this user can write."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # no HOME, and no entry in the password database
        return _homeless()


@cache
def _homeless() -> Path:
    """Return a user's folder among the temporary files; they can be anybody's, so it is checked."""
    if hasattr(os, "getuid"):
        folder = Path(tempfile.gettempdir()) / f"agentgym-{os.getuid()}"
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.stat().st_uid == os.getuid() and not folder.is_symlink():
                return folder
    return Path(tempfile.mkdtemp(prefix="agentgym-"))


def _scratch(folder: Path) -> Path:
    """Return an unused name for an entry that is being written."""
    return folder / f"{SCRATCH}{uuid.uuid4().hex}"


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks so that none of it stays in memory."""
    result = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK):
            result.update(block)
    return result.hexdigest()


def _folder_to_disk(folder: Path) -> None:
    """Force a rename to the disk, where the system can: folders cannot be opened on Windows."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
