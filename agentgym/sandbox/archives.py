"""Convert folders to tar archives and back, to copy a tree into a sandbox without a shared disk."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

from agentgym.errors import DataError

LARGEST = 1 << 30
"""Maximum unpacked size of an archive, in bytes."""
MOST_FILES = 200_000


def pack_tree(tree: Path) -> bytes:
    """Return the files, folders and links below a folder as an archive.

    Equal content gives equal bytes. Owners, sockets, pipes and devices are left out.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(tree):
            folders.sort()
            for name in sorted([*folders, *files]):
                path = os.path.join(folder, name)
                entry = archive.gettarinfo(path, os.path.relpath(path, tree))
                if entry is None or not (entry.isreg() or entry.isdir() or entry.issym()):
                    if entry is None or not entry.islnk():
                        continue
                    # Write a hard link as an independent file, as copying the tree would.
                    entry.type, entry.linkname = tarfile.REGTYPE, ""
                    entry.size = os.lstat(path).st_size
                if not entry.isreg():
                    entry.mtime = 0  # a folder's time changes with every change of its entries
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                if entry.isreg():
                    with open(path, "rb") as file:
                        archive.addfile(entry, file)
                else:
                    archive.addfile(entry)
    return buffer.getvalue()


def unpack_tree(data: bytes, folder: Path) -> None:
    """Unpack an untrusted archive into an empty folder.

    Links are written last, so that nothing is ever written through a link.

    Raises:
        DataError: It is not an archive, is too large, or a member is special or outside the folder.
    """
    links, room, count = [], LARGEST, 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                path, count, room = folder / _inside(member), count + 1, room - member.size
                if room < 0 or count > MOST_FILES:
                    raise DataError(
                        f"expected an archive of at most {LARGEST:,} bytes and {MOST_FILES:,} "
                        "files, got more; leave out unneeded files"
                    )
                if member.isdir():
                    path.mkdir(parents=True, exist_ok=True)
                    path.chmod(member.mode & 0o777 | 0o700)
                elif member.issym():
                    links.append((path, member.linkname))
                else:
                    _write(archive, member, path)
            check_end(archive, len(data))
            for path, target in links:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.symlink(target, path)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(f"expected an archive of a folder, got one with {error}") from error


def check_end(archive: tarfile.TarFile, size: int) -> None:
    """Check that an archive whose members have all been read does not end within a header.

    ``tarfile`` treats a truncated header as the end of the archive, without an error.

    Args:
        archive: The archive.
        size: Size of the archive, in bytes.

    Raises:
        DataError: The archive is truncated.
    """
    if 0 < size - archive.offset < tarfile.BLOCKSIZE:
        raise DataError(
            f"expected a whole archive, got one that is cut in a header, after {size:,} bytes; get "
            "it again"
        )


def _inside(member: tarfile.TarInfo) -> str:
    """Return the name of a member after checking that it stays in the folder."""
    parts = member.name.split("/")
    kinds = member.isreg() or member.isdir() or member.issym()
    # A sparse file may unpack to any size.
    kinds = kinds and not member.issparse()
    if not kinds or member.name.startswith("/") or ".." in parts or "\0" in member.name:
        raise DataError(
            "expected files, folders and symbolic links with names that stay in their folder, got "
            f"the member {member.name[:120]!r} of type {member.type!r}"
        )
    return member.name


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write one file with its mode and time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    assert content is not None  # it is a regular file
    with path.open("xb") as file:
        while block := content.read(1 << 20):
            file.write(block)
    path.chmod(member.mode & 0o777)
    os.utime(path, (member.mtime, member.mtime))
