"""Look up paths in a stack of unpacked layers as in one tree, without leaving it.

A layer is a folder in the format of overlayfs: a deleted file of a lower layer is a device 0:0 (a
whiteout), and a folder that hides the lower layers is marked as opaque (Linux,
Documentation/filesystems/overlayfs.rst, with the attributes of ``userxattr``).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from agentgym.errors import DataError

OPAQUE = "user.overlay.opaque"
MOST_LINKS = 40
"""Maximum number of links on a path, as in the kernel."""


def is_whiteout(path: str) -> bool:
    """Return whether a path is a whiteout."""
    try:
        return stat.S_ISCHR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_opaque(path: str) -> bool:
    """Return whether a folder hides the lower layers."""
    try:
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def is_folder(path: str) -> bool:
    """Return whether a path is a folder and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


class Layers:
    """The merged tree of layers.

    Args:
        folders: The layers, highest first.
    """

    def __init__(self, folders: Sequence[Path | str]) -> None:
        self.folders = [os.fspath(folder) for folder in folders]

    def find(self, parts: Sequence[str]) -> str | None:
        """Return the real path of an entry, by a path without links, or None.

        Args:
            parts: Components of the path, without ``..``.
        """
        for root in self.folders:
            entry, opaque = root, False
            for number, part in enumerate(parts):
                entry = os.path.join(entry, part)
                try:
                    mode = os.lstat(entry).st_mode
                except OSError:
                    break
                last = number == len(parts) - 1
                if stat.S_ISCHR(mode) or not (last or stat.S_ISDIR(mode)):
                    return None
                opaque = opaque or (stat.S_ISDIR(mode) and is_opaque(entry))
            else:
                return entry
            if opaque:
                return None
        return None

    def resolve(self, path: str) -> list[str]:
        """Return the components of a path after resolving all links inside of the tree.

        Raises:
            DataError: There are too many links.
        """
        waiting, resolved, links = path.split("/"), list[str](), 0
        while waiting:
            part = waiting.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                resolved = resolved[:-1]
                continue
            entry = self.find([*resolved, part])
            if entry is None or not os.path.islink(entry):
                resolved.append(part)
                continue
            links += 1
            if links > MOST_LINKS:
                raise DataError(
                    f"expected at most {MOST_LINKS} links on a path of an image, got more at "
                    f"{path!r:.120}; rebuild the image"
                )
            target = os.readlink(entry)
            resolved = [] if target.startswith("/") else resolved
            waiting = target.split("/") + waiting
        return resolved

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the beginning of a regular file of the tree; empty if it does not exist.

        Args:
            path: The file; links are resolved inside of the tree.
            max_bytes: Maximum number of bytes.
        """
        entry = self.find(self.resolve(path))
        if entry is None or not stat.S_ISREG(os.lstat(entry).st_mode):
            return b""
        with open(entry, "rb") as file:
            return file.read(max_bytes)
