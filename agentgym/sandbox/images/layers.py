"""A stack of unpacked layers seen as one tree, and never left.

A layer is a folder as overlayfs wants it: what it takes away from those below is a device 0:0 in
its place (a whiteout), and a folder that hides what lies below it is marked as opaque (Linux,
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
"""Links that a path may lead through, as for the kernel."""


def is_whiteout(path: str) -> bool:
    """Return whether a path stands for what a layer takes away."""
    try:
        return stat.S_ISCHR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_opaque(path: str) -> bool:
    """Return whether a folder hides what lies below it."""
    try:
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def is_folder(path: str) -> bool:
    """Return whether a path is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


class Layers:
    """The tree that layers show together.

    Args:
        folders: The layers, highest first.
    """

    def __init__(self, folders: Sequence[Path | str]) -> None:
        self.folders = [os.fspath(folder) for folder in folders]

    def find(self, parts: Sequence[str]) -> str | None:
        """Return the real path of what the tree has at a path without links in it, or None.

        Args:
            parts: The names that lead there; no ``..`` among them.
        """
        for root in self.folders:
            here, opaque = root, False
            for number, part in enumerate(parts):
                here = os.path.join(here, part)
                try:
                    mode = os.lstat(here).st_mode
                except OSError:
                    break
                last = number == len(parts) - 1
                if stat.S_ISCHR(mode) or not (last or stat.S_ISDIR(mode)):
                    return None
                opaque = opaque or (stat.S_ISDIR(mode) and is_opaque(here))
            else:
                return here
            if opaque:
                return None
        return None

    def resolve(self, path: str) -> list[str]:
        """Return the names that lead to a path once all links are followed inside of the tree.

        Raises:
            DataError: The links lead in a circle.
        """
        waiting, done, links = path.split("/"), list[str](), 0
        while waiting:
            part = waiting.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = done[:-1]
                continue
            found = self.find([*done, part])
            if found is None or not os.path.islink(found):
                done.append(part)
                continue
            links += 1
            if links > MOST_LINKS:
                raise DataError(
                    f"expected at most {MOST_LINKS} links on a path of an image, got more at "
                    f"{path!r:.120}; make the image anew"
                )
            target = os.readlink(found)
            done = [] if target.startswith("/") else done
            waiting = target.split("/") + waiting
        return done

    def read(self, path: str, most: int) -> bytes:
        """Return the beginning of a regular file of the tree; empty if there is none.

        Args:
            path: The file; links are followed inside of the tree.
            most: Bytes to read.
        """
        found = self.find(self.resolve(path))
        if found is None or not stat.S_ISREG(os.lstat(found).st_mode):
            return b""
        with open(found, "rb") as file:
            return file.read(most)
