"""Index folders appear under their name when they are whole, and never before.

A folder is filled under a scratch name beside its own, forced to the disk, and renamed. A process
that is killed leaves at most the scratch folder, which the next one empties.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentgym.errors import ConfigurationError
from agentgym.support.caching import publish, to_disk

_log = logging.getLogger(__name__)


@contextmanager
def published(
    folder: str | Path, is_index: Callable[[Path], bool], *, overwrite: bool = False
) -> Iterator[Path]:
    """Yield a folder to fill, which gets its name when the block ends without an error.

    Args:
        folder: The name; it must be free, that of an empty folder, or of one to replace.
        is_index: Returns whether an existing folder may be replaced.
        overwrite: Whether to replace it.

    Raises:
        ConfigurationError: The name is taken, another process fills a folder for it, or nothing
            can be written there.
    """
    target = _target(folder)
    _check_free(target, is_index, overwrite)
    with _scratch(target) as scratch:
        _check_free(target, is_index, overwrite)  # another process may have ended meanwhile
        yield scratch
        _check_free(target, is_index, overwrite)  # a build may take hours
        _publish(scratch, target)


def _target(folder: str | Path) -> Path:
    """Return the folder's resolved path, which can be renamed."""
    target = Path(folder).resolve()
    if not target.name:
        raise ConfigurationError(f"expected a folder for the index, got {folder}; name another")
    return target


def _check_free(target: Path, is_index: Callable[[Path], bool], overwrite: bool) -> None:
    """Refuse to replace anything but an index, and an index without ``overwrite``."""
    try:
        occupied = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    except OSError as error:
        raise _unusable(target, error) from error
    if not occupied:
        return
    if not is_index(target):
        raise ConfigurationError(
            f"expected a free name for the index, got {target}, which holds other things than an "
            "index; name another folder, or move them"
        )
    if not overwrite:
        raise ConfigurationError(
            f"expected a free name for the index, got {target}, which holds one; use it, name "
            "another folder, or replace it with overwrite=True (agentgym index --overwrite)"
        )


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """Make the folder beside the target in which only this process builds; it is removed later."""
    scratch = target.with_name(f".{target.name}.building")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(scratch)
    except OSError as error:
        raise _unusable(target, error) from error
    try:
        _put_back(target)
        if entries := list(scratch.iterdir()):
            _log.warning(
                "an earlier build of %s was stopped before its end; it starts over", target
            )
            for entry in entries:
                entry.unlink()
        yield scratch
    except OSError as error:
        raise _unusable(target, error) from error
    finally:
        # When the index has got its name, another process may have made a folder of this name.
        if lock is None or _holds(lock, scratch):
            shutil.rmtree(scratch, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(scratch: Path) -> int | None:
    """Make a folder and lock it; the system unlocks it when the process ends, however it ends.

    None is returned where there are no such locks.
    """
    try:
        import fcntl
    except ImportError:
        scratch.mkdir(exist_ok=True)
        return None
    while True:
        scratch.mkdir(exist_ok=True)
        try:
            lock = os.open(scratch, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise ConfigurationError(
                f"expected to build alone, but another process builds in {scratch} already; wait "
                "for it, or name another folder"
            ) from error
        except OSError:  # a file system without locks
            os.close(lock)
            return None
        if _holds(lock, scratch):
            return lock
        os.close(lock)  # the previous holder has given the folder its final name


def _holds(lock: int, scratch: Path) -> bool:
    """Return whether a lock belongs to the folder that has this name now."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(scratch))
    except FileNotFoundError:
        return False


def _publish(scratch: Path, target: Path) -> None:
    """Give an index its name, in the place of one that has it."""
    to_disk(scratch)  # it takes a while, in which the old index serves
    replaced = _replaced(target)
    if target.exists() and any(target.iterdir()):
        os.rename(target, replaced)
    publish(scratch, target)
    shutil.rmtree(replaced, ignore_errors=True)


def _put_back(target: Path) -> None:
    """Finish the work of a process that was killed while replacing an index."""
    replaced = _replaced(target)
    if replaced.is_dir():
        if target.exists():
            shutil.rmtree(replaced)
        else:
            os.rename(replaced, target)


def _replaced(target: Path) -> Path:
    """Return where an index waits for a moment while another takes its place."""
    return target.with_name(f".{target.name}.replaced")


def _unusable(target: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"expected to write an index to {target}, but: {error}; name another folder, or make room"
    )
