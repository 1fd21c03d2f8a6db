"""Parts of every sandbox's file system: devices, terminals, and options that limit its size.

As ``stage.py``, this runs in the process that becomes process 1, on the standard library alone.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from agentgym.sandbox.namespace import mounts
else:
    import mounts

DEVICES = ("null", "zero", "full", "random", "urandom")
NAME = "sandbox"
TERMINALS = 64
"""Maximum number of terminals of a sandbox; the machine has a few thousand in total."""
EMPTY, NOTHING = "/dev/.empty", "/dev/.nothing"
"""An empty folder and an empty file, mounted over hidden paths."""


def make_devices(folder: str) -> None:
    """Fill the future ``/dev``, while the host's devices are still visible."""
    for name in DEVICES:
        mounts.show(
            mounts.clone("/dev/" + name, mounts.MOUNT_NOSUID | mounts.MOUNT_NOEXEC),
            False,
            f"{folder}/{name}",
        )
    os.mkdir(folder + "/pts")
    terminals = f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}"
    flags = mounts.MS_NOSUID | mounts.MS_NOEXEC
    mounts.mount("devpts", folder + "/pts", "devpts", flags, terminals)
    os.symlink("pts/ptmx", folder + "/ptmx")
    for name, number in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + number, f"{folder}/{name}")
    os.mkdir(folder + "/" + os.path.basename(EMPTY))
    mounts.touch(folder + "/" + os.path.basename(NOTHING))


def disk_options(limits: dict[str, int], size: int = 0, count: int = 0) -> str:
    """Return the mount options for the disk limits, plus ``size`` bytes and ``count`` files."""
    return f"size={limits['disk'] + size},nr_inodes={limits['files'] + 64 + count},mode=755"


def measured(folder: str) -> tuple[int, int]:
    """Return the bytes, in whole pages, and the number of files below a folder."""
    size = count = 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            size += (os.lstat(os.path.join(parent, name)).st_size | 4095) + 1
            count += 1
    return size, count


def copy_tree(source: str, target: str, owner: int) -> None:
    """Copy a tree with its times; the copies belong to ``owner``."""
    times = []
    for parent, folders, files in os.walk(source):
        for name in (*folders, *files):
            old = os.path.join(parent, name)
            new, status = target + old[len(source) :], os.lstat(old)
            if stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(old), new)
            elif stat.S_ISDIR(status.st_mode):
                os.mkdir(new)
            elif stat.S_ISREG(status.st_mode):
                with open(old, "rb") as data, open(new, "xb") as file:
                    while os.sendfile(file.fileno(), data.fileno(), None, 1 << 20):
                        pass
            else:
                continue
            os.chown(new, owner, owner, follow_symlinks=False)
            if not stat.S_ISLNK(status.st_mode):
                os.chmod(new, status.st_mode & 0o777)
            times.append((new, (status.st_atime_ns, status.st_mtime_ns)))
    for path, stamps in reversed(times):  # folders last, because writing into them changes times
        os.utime(path, ns=stamps, follow_symlinks=False)
