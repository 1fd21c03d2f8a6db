"""Unpack an untrusted layer into a folder that overlayfs can stack, without root.

Names never leave the folder: links are resolved inside of the image. Owners are dropped, since
sandboxes have one user; set-id bits are removed, devices left out, and both are counted. If a layer
is refused, the error says why, and the whole layer is removed.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from agentgym.errors import DataError
from agentgym.sandbox.images.layers import (
    MOST_LINKS,
    OPAQUE,
    Layers,
    is_folder,
    is_opaque,
    is_whiteout,
)

DEEPEST = 200
"""Maximum nesting of folders; ``shutil.rmtree`` recurses, and fails at about a thousand."""
LONGEST_NAME = 255
WHITEOUT, OPAQUE_MARK = ".wh.", ".wh..wh..opq"
BLOCK = 1 << 20


@dataclass(frozen=True)
class Bounds:
    """Limits of an image."""

    size: int = 32 << 30
    """Total size of its files, in bytes."""
    files: int = 2_000_000
    """Number of files, folders and links."""
    layers: int = 127
    """Number of layers, as in Docker."""


@dataclass
class Counts:
    """Content of a layer, and what was left out."""

    size: int = 0
    """Size of its files, in bytes."""
    files: int = 0
    """Number of files, folders, links and whiteouts."""
    devices: int = 0
    """Number of devices, which are left out."""
    set_ids: int = 0
    """Number of files and folders with removed set-id bits."""
    owned: int = 0
    """Number of files and folders of users other than root; the sandbox's only user owns them."""


class LayerWriter:
    """Writes the members of one layer.

    Args:
        root: An empty folder.
        below: The layers below it, for links and for the modes of unlisted folders.
        bounds: The remaining limits of the image.
    """

    def __init__(self, root: str, below: Layers, bounds: Bounds) -> None:
        self.counts = Counts()
        self._root, self._below, self._bounds = root, below, bounds
        self._folders: list[tuple[str, int, float | None]] = []

    def add(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write one member.

        Raises:
            DataError: It leads outside, is of an unknown kind, or exceeds a limit.
        """
        parts = _parts(member.name)
        if not parts:
            return
        path = os.path.join(self._folder(parts[:-1]), parts[-1])
        if parts[-1].startswith(WHITEOUT):
            self._take_away(path)
        elif member.ischr() or member.isblk():
            self.counts.devices += 1
        else:
            self._count(member.size if member.isreg() else 0)
            self.counts.owned += (member.uid, member.gid) != (0, 0)
            self.counts.set_ids += bool(member.mode & 0o6000)
            self._make_room(path, member)
            self._make(archive, member, path)

    def finish(self, owner: int | None) -> None:
        """Set modes and times of folders after everything is written, and the owner.

        Args:
            owner: New owner of all files; None: the current user.
        """
        for path, mode, modified in reversed(self._folders):
            with suppress(FileNotFoundError, NotADirectoryError):  # replaced by a later member
                if modified is not None:
                    _set_time(path, modified)
                os.chmod(path, mode | 0o700)
        if owner is None:
            return
        for parent, folders, files in os.walk(self._root):
            for name in (*folders, *files):
                os.chown(os.path.join(parent, name), owner, owner, follow_symlinks=False)
        os.chown(self._root, owner, owner)

    def _make(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        """Create a member at a path that is free."""
        mode = member.mode & 0o1777
        if member.isdir():
            if not is_folder(path):
                os.mkdir(path, 0o755)
            self._folders.append((path, mode, member.mtime))
            return
        if member.islnk():
            self._link(member, path)
            return
        if member.issym():
            os.symlink(member.linkname, path)
        elif member.isfifo():
            os.mkfifo(path, mode)
        elif member.isreg():
            content = archive.extractfile(member)
            assert content is not None  # it is a regular file
            with open(path, "xb") as file:
                shutil.copyfileobj(content, file, BLOCK)
                os.fchmod(file.fileno(), mode)
        else:
            raise DataError(
                f"expected files, folders and links in a layer, got {member.name!r:.120} of the "
                f"unknown type {member.type!r}"
            )
        _set_time(path, member.mtime)

    def _link(self, member: tarfile.TarInfo, path: str) -> None:
        """Create a hard link to a file of this layer, or of a layer below."""
        target = _parts(member.linkname)
        if target:
            source = os.path.join(self._folder(target[:-1]), target[-1])
            if os.path.lexists(source) and not is_folder(source) and not is_whiteout(source):
                os.link(source, path, follow_symlinks=False)
                return
            names = os.path.relpath(source, self._root).split("/")
            lower = None if os.path.lexists(source) else self._below.find(names)
            if lower is not None and not is_folder(lower):
                self._count(os.lstat(lower).st_size)
                shutil.copy2(lower, path, follow_symlinks=False)
                return
        raise DataError(
            f"expected the hard link {member.name!r:.120} to lead to a file of the image, got "
            f"{member.linkname!r:.120}"
        )

    def _take_away(self, path: str) -> None:
        """Apply a whiteout: it hides entries of layers below, but not of this layer."""
        parent, name = os.path.split(path)
        if name == OPAQUE_MARK:
            os.setxattr(parent, OPAQUE, b"y")
            return
        name = name.removeprefix(WHITEOUT)
        if name in ("", ".", "..") or name.startswith(WHITEOUT):
            return  # metadata of the aufs driver
        target = os.path.join(parent, name)
        if is_folder(target):
            os.setxattr(target, OPAQUE, b"y")
        elif not os.path.lexists(target):
            self._count(0)
            os.mknod(target, stat.S_IFCHR, 0)  # device 0:0 needs no privilege since Linux 5.8

    def _make_room(self, path: str, member: tarfile.TarInfo) -> None:
        """Remove an existing entry with the name of a member, unless both are folders."""
        if member.isdir() and is_whiteout(path):
            _replace_whiteout(path)
        elif is_folder(path):
            if not member.isdir():
                shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def _folder(self, parts: Sequence[str]) -> str:
        """Return the real folder of this layer for a path; create it if necessary."""
        waiting, resolved, links = list(parts), list[str](), 0
        while waiting:
            part = waiting.pop(0)
            if part == "..":
                resolved = resolved[:-1]
                continue
            place = os.path.join(self._root, *resolved, part)
            source = place if os.path.lexists(place) else self._below_at([*resolved, part])
            if source is not None and os.path.islink(source):
                links += 1
                target = os.readlink(source)
                if links > MOST_LINKS:
                    raise DataError(
                        f"expected at most {MOST_LINKS} links on a path of a layer, got more at "
                        f"{'/'.join(parts)!r:.120}"
                    )
                resolved = [] if target.startswith("/") else resolved
                waiting = [name for name in target.split("/") if name not in ("", ".")] + waiting
                continue
            resolved.append(part)
            if len(resolved) > DEEPEST:
                raise DataError(f"expected at most {DEEPEST} nested folders, got more")
            self._enter(place, source, parts)
        return os.path.join(self._root, *resolved)

    def _below_at(self, parts: Sequence[str]) -> str | None:
        """Return the entry of the layers below at a path; None if there is none or it is hidden."""
        for number in range(1, len(parts)):
            if is_opaque(os.path.join(self._root, *parts[:number])):
                return None
        return self._below.find(parts)

    def _enter(self, place: str, source: str | None, parts: Sequence[str]) -> None:
        """Create one parent folder of a member, with the mode that it has in the layers below."""
        if source == place:
            if is_whiteout(place):
                _replace_whiteout(place)
            elif not is_folder(place):
                raise DataError(
                    f"expected a folder on the way to {'/'.join(parts)!r:.120}, got a file"
                )
            return
        os.mkdir(place, 0o755)
        self._count(0)
        mode = 0o755
        if source is not None and is_folder(source):
            mode = stat.S_IMODE(os.lstat(source).st_mode)
        self._folders.append((place, mode, None))

    def _count(self, size: int) -> None:
        """Count an entry before it is written; raise if a limit is exceeded."""
        self.counts.files += 1
        self.counts.size += size
        if self.counts.files > self._bounds.files or self.counts.size > self._bounds.size:
            raise DataError(
                f"expected an image of at most {self._bounds.size:,} further bytes and "
                f"{self._bounds.files:,} further files, got more; raise the limits (Bounds) if you "
                "trust it"
            )


def _parts(name: str) -> list[str]:
    """Return the components of a member's path."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if "\0" in name or ".." in parts:
        raise DataError(f"expected names that stay in the image, got {name!r:.120}")
    if len(parts) > DEEPEST or any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        raise DataError(
            f"expected names of at most {LONGEST_NAME} bytes, {DEEPEST} deep, got {name!r:.120}"
        )
    return parts


def _replace_whiteout(path: str) -> None:
    """Replace a whiteout by an opaque folder, which hides the layers below."""
    os.unlink(path)
    os.mkdir(path, 0o755)
    os.setxattr(path, OPAQUE, b"y")


def _set_time(path: str, modified: float) -> None:
    with suppress(OSError, OverflowError):  # a time outside of this system's range
        os.utime(path, (modified, modified), follow_symlinks=False)
