"""The root of an image's sandbox: an overlay of its layers, with a writable layer on top.

Like ``stage.py``, this runs in the process that becomes process 1. The image may be hostile, so no
path is resolved through it before the root is entered: wherever something is mounted, a layer of
our own above the image provides real folders.
"""

from __future__ import annotations

import os
import shutil
import stat

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from typing import Any

    from agentgym.sandbox import pid1
    from agentgym.sandbox.namespace import furniture, mounts
else:
    import furniture
    import mounts
    import pid1

WORK = "/proc"
"""Working folder in this private mount namespace, see ``stage.py``."""
ROOT, DATA, BASE, PRISTINE = (f"{WORK}/{name}" for name in ("root", "data", "base", "pristine"))
OPAQUE = "user.overlay.opaque"
FLAGS = mounts.MS_NOSUID | mounts.MS_NODEV
OWN_FOLDERS = ("proc", "dev", "sys", "etc")
"""Folders that the image might have as links, which must not be followed."""


def build(settings: dict[str, Any], owner: int) -> tuple[int, int, int] | None:
    """Build the root.

    Args:
        settings: Settings of the sandbox; ``image`` contains the layers, highest first, the
            resolved ``workdir``, and the modes of the folders on the path to it.
        owner: The user that owns all files.

    Returns:
        Descriptors of the writable layer, of ``/dev/shm``, and of the unchanged image; None if the
        kernel does not support the overlay, so that the root is a copy.
    """
    os.chdir("/")
    mounts.mount("agentgym", WORK, "tmpfs", FLAGS, "size=4m,nr_inodes=4096,mode=755")
    for folder in (ROOT, DATA, BASE, PRISTINE):
        os.mkdir(folder)
    mounts.mount("agentgym", DATA, "tmpfs", FLAGS, furniture.disk_options(settings["limits"]))
    for name, mode in (("upper", 0o755), ("work", 0o755), ("shm", 0o1777)):
        os.mkdir(f"{DATA}/{name}")
        os.chmod(f"{DATA}/{name}", mode)
        os.chown(f"{DATA}/{name}", owner, owner)
    _make_base(settings, owner)
    lowers = [BASE]
    for number, layer in enumerate(settings["image"]["layers"]):
        lowers.append(f"{WORK}/{number}")
        os.mkdir(lowers[-1])
        attributes = mounts.MOUNT_RDONLY | mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV
        mounts.bind(layer, lowers[-1], attributes)
    laid = settings["overlay"] and _overlay(lowers)
    if not laid:
        _flatten(lowers, settings, owner)
    _furnish()
    if not laid:
        return None
    mounts.mount("overlay", PRISTINE, "overlay", FLAGS | mounts.MS_RDONLY, _lowers(lowers))
    upper, shm, pristine = (
        os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for path in (f"{DATA}/upper", f"{DATA}/shm", PRISTINE)
    )
    return upper, shm, pristine


def _make_base(settings: dict[str, Any], owner: int) -> None:
    """Make the layer between image and changes: our own folders, and the tree if there is one."""
    tree = settings["tree"]
    size, count = furniture.measured(tree) if tree else (0, 0)
    room = f"size={size + (1 << 20)},nr_inodes={count + 512},mode=755"
    mounts.mount("agentgym", BASE, "tmpfs", FLAGS, room)
    for folder in OWN_FOLDERS:
        os.mkdir(f"{BASE}/{folder}")
    mounts.touch(BASE + "/etc/hosts", f"127.0.0.1 localhost {furniture.NAME}\n::1 localhost\n")
    mounts.touch(BASE + "/etc/resolv.conf")
    mounts.touch(BASE + "/etc/hostname", furniture.NAME + "\n")
    folder = BASE
    for name, mode in settings["image"]["made"]:
        folder = f"{folder}/{name}"
        if not os.path.isdir(folder):
            os.mkdir(folder)
            os.chmod(folder, mode)
    if tree:
        os.setxattr(folder, OPAQUE, b"y")  # hide the image's content of this folder
        furniture.copy_tree(tree, folder, owner)
    for parent, folders, files in os.walk(BASE):
        for entry in (*folders, *files):
            os.chown(os.path.join(parent, entry), owner, owner, follow_symlinks=False)
    os.chown(BASE, owner, owner)


def _furnish() -> None:
    """Mount the parts that no image contains: ``/proc``, devices, shared memory."""
    mounts.mount("proc", ROOT + "/proc", "proc", FLAGS | mounts.MS_NOEXEC)
    flags = mounts.MS_NOSUID | mounts.MS_NOEXEC
    mounts.mount("agentgym", ROOT + "/dev", "tmpfs", flags, "size=64k,nr_inodes=64,mode=755")
    furniture.make_devices(ROOT + "/dev")
    os.mkdir(ROOT + "/dev/shm")
    mounts.bind(DATA + "/shm", ROOT + "/dev/shm", mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV)
    sealed = mounts.MS_REMOUNT | mounts.MS_BIND | mounts.MS_RDONLY
    mounts.mount("agentgym", ROOT + "/dev", None, flags | sealed)


def _overlay(lowers: list[str]) -> bool:
    """Mount the overlay with the writable layer on top; return whether the kernel supports it."""
    upper = DATA + "/upper"
    try:
        os.setxattr(upper, "user.agentgym", b"1")  # tmpfs supports these since Linux 6.6
        os.removexattr(upper, "user.agentgym")
        options = f"{_lowers(lowers)},upperdir={upper},workdir={DATA}/work"
        mounts.mount("overlay", ROOT, "overlay", FLAGS, options)
    except OSError:
        return False
    return True


def _lowers(lowers: list[str]) -> str:
    """Return the mount options with the layers; ``userxattr`` makes privileges unnecessary."""
    return f"userxattr,lowerdir={':'.join(lowers)}"


def _flatten(lowers: list[str], settings: dict[str, Any], owner: int) -> None:
    """Copy all layers into memory, if the kernel does not support the overlay.

    Raises:
        OSError: The image is larger than the memory limit.
    """
    measures = [furniture.measured(lower) for lower in lowers]
    size, count = (sum(numbers) for numbers in zip(*measures, strict=True))
    if size > settings["limits"]["memory"]:
        raise OSError(
            f"this kernel ({os.uname().release}) cannot lay layers over each other in memory, "
            f"which Linux 6.6 can; and the image has {size:,} bytes, which is more than the memory "
            f"of the box, {settings['limits']['memory']:,}, where it would be copied to"
        )
    more = furniture.disk_options(settings["limits"], size, count)
    mounts.mount("agentgym", DATA, "tmpfs", FLAGS | mounts.MS_REMOUNT, more)
    target = DATA + "/upper"
    for lower in reversed(lowers):
        _lay(lower, target)
    for parent, folders, files in os.walk(target):
        for entry in (*folders, *files):
            os.chown(os.path.join(parent, entry), owner, owner, follow_symlinks=False)
    mounts.bind(target, ROOT, mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV)


def _lay(lower: str, target: str) -> None:
    """Copy a layer over the layers below, with the semantics of overlayfs."""
    for name in sorted(os.listdir(lower)):
        source, to = os.path.join(lower, name), os.path.join(target, name)
        mode = os.lstat(source).st_mode
        if not stat.S_ISDIR(mode):
            pid1._remove(to)
        if stat.S_ISCHR(mode):
            continue
        if stat.S_ISFIFO(mode):
            os.mkfifo(to)
        elif not stat.S_ISDIR(mode):
            shutil.copy2(source, to, follow_symlinks=False)
        else:
            if os.path.islink(to) or not os.path.isdir(to) or _is_opaque(source):
                pid1._remove(to)
            os.makedirs(to, exist_ok=True)
            _lay(source, to)
            os.chmod(to, stat.S_IMODE(mode))


def _is_opaque(path: str) -> bool:
    try:
        return os.getxattr(path, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False
