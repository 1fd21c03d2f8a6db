"""Wrappers of the kernel's mount calls, and their constants.

Like ``stage.py``, this runs in the process that becomes process 1, and needs only the standard
library.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from typing import Any

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 1 << 14, 1 << 18
MNT_DETACH = 2
MOUNT_RDONLY, MOUNT_NOSUID, MOUNT_NODEV, MOUNT_NOEXEC, MOUNT_IDMAP = 1, 2, 4, 8, 1 << 20
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""Numbers of system calls, which are the same on every architecture."""

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, label: str) -> int:
    """Raise the OSError of a failed system call; return the result of a successful one."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{label}: {os.strerror(number)}")
    return result


def syscall(label: str, number: int, *arguments: Any) -> int:
    """Make a system call by its number, because the C library may lack a function for it."""
    full = [ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *arguments)]
    return check(libc.syscall(*full), label)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system."""
    result = libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    check(result, f"mount of {kind or source} at {target}")


def detach(target: str) -> None:
    """Detach a mount; open files and descriptors in it stay usable."""
    check(libc.umount2(os.fsencode(target), MNT_DETACH), f"umount of {target}")


def clone(source: str, attributes: int, users: int | None = None) -> int:
    """Return a descriptor of a copy of a mount tree, which `attach` can mount elsewhere.

    Args:
        source: File or folder, with all mounts below it.
        attributes: Mount attributes, such as read-only, applied recursively.
        users: Descriptor of a user namespace by which to map the owners of files.
    """
    working_folder, flags, recursive, empty = -100, 1 | os.O_CLOEXEC, 0x8000, 0x1000
    if users is not None:
        recursive, attributes = 0, attributes | MOUNT_IDMAP
    path = ctypes.c_char_p(os.fsencode(source))
    copy = syscall(f"opening {source}", OPEN_TREE, working_folder, path, flags | recursive)
    setting = (ctypes.c_uint64 * 4)(attributes, 0, 0, users or 0)
    try:
        syscall(f"attributes of {source}", MOUNT_SETATTR, copy, ctypes.c_char_p(b""),
                 empty | recursive, ctypes.byref(setting), ctypes.sizeof(setting))  # fmt: skip
    except OSError:
        os.close(copy)
        raise
    return copy


def attach(copy: int, target: str) -> None:
    """Mount the tree of a descriptor from :func:`clone`, and close the descriptor."""
    try:
        syscall(f"mount at {target}", MOVE_MOUNT, copy, ctypes.c_char_p(b""), -100,
                 ctypes.c_char_p(os.fsencode(target)), 4)  # fmt: skip
    finally:
        os.close(copy)


def bind(source: str, target: str, attributes: int) -> None:
    """Mount a file or folder at a second path."""
    attach(clone(source, attributes), target)


def show(copy: int, folder: bool, target: str) -> None:
    """Attach a file or folder at a new mount point."""
    if folder:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            touch(target)
    attach(copy, target)


def touch(path: str, content: str = "") -> None:
    """Write a file."""
    with open(path, "w") as file:
        file.write(content)
