"""One process at a time at work in a folder."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from agentgym.errors import ConfigurationError
from agentgym.support.caching import SCRATCH

LOCK = ".lock"
"""Name of the file by which a folder is held; it stays there."""


class FolderLock:
    """A folder that is held until `release`, or until a ``with`` ends.

    Args:
        lock: Its lock, held. Entering a `filelock.FileLock` takes it a second time, so that one
            ``with`` would not let go of what is held already.
    """

    def __init__(self, lock: FileLock) -> None:
        self._lock = lock

    def release(self) -> None:
        """Release the lock; may be called twice."""
        self._lock.release()

    def __enter__(self) -> FolderLock:
        """Return itself: the folder is held already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release it."""
        self.release()


def lock_folder(folder: Path, work: str) -> FolderLock:
    """Keep other processes out of a folder until the lock is released or this process ends.

    Args:
        folder: The folder, which exists.
        work: Name of the work in the folder, for the error: ``the run``.

    Returns:
        The lock, held; it is a context manager that releases it.

    Raises:
        ConfigurationError: Another process holds it.
    """
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ConfigurationError(
            f"expected no other process to work on {work} in {folder}, but one does; wait until it "
            "ends, or choose another folder (--out, or out= in Python)"
        ) from error
    return FolderLock(lock)


def holds_other_files(folder: Path) -> bool:
    """Return whether a folder has other content than a lock and leftovers of atomic writes."""
    entries = folder.iterdir() if folder.exists() else ()
    return any(entry.name != LOCK and not entry.name.startswith(SCRATCH) for entry in entries)
