"""Build the inside of a sandbox: runs as process 1 of new namespaces, before any command.

It builds the file system, drops every privilege, and continues as the server of ``pid1.py``. It
needs only the standard library. :mod:`.fork_server` calls it, and it reads the settings of
:mod:`.box` from the connection.

Everything is mounted over ``/proc`` of this private mount namespace, because ``/proc`` exists on
every Linux and its content is not needed inside. So no folder of the host is needed, and none can
be left behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tarfile
from contextlib import suppress

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from typing import Any

    from agentgym.sandbox import pid1
    from agentgym.sandbox.namespace import furniture, image_root, image_server, mounts, seccomp
else:  # at run time, their folders are on this process's sys.path
    import furniture
    import image_root
    import image_server
    import mounts
    import pid1
    import seccomp

NEW = "/proc"
DATA, LOWER = "/.data", "/.lower"
SHARED = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf")
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
MASKED = (
    "acpi", "asound", "bus", "cmdline", "config.gz", "kcore", "keys", "latency_stats",
    "sched_debug", "scsi", "sys/kernel/random/boot_id", "timer_list",
)  # fmt: skip
"""Entries of ``/proc`` that reveal the host, and are empty inside; mostly the same as in
containers."""
LAST_CHOICE = -999
"""``oom_score_adj`` of process 1: for lack of memory, the kernel kills it as the last choice."""

CLONE_NEWUSER = 1 << 28
KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    24,
    28,
    38,
)
READ_ONLY = mounts.MOUNT_RDONLY | mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV
NOROOT_LOCKED = 0b1111
"""Secure bits: neither user 0 nor a change of user gains capabilities."""


def _show_system(path: str) -> None:
    """Mount a file or folder of the host read-only at the same path of the new root."""
    mounts.show(mounts.clone(path, READ_ONLY), os.path.isdir(path), NEW + path)


def _skeleton(settings: dict[str, Any]) -> None:
    """Make the root with the system's programs, devices and a minimal ``/etc``."""
    os.chdir("/")  # the current directory must not be below the mount point
    mounts.mount(
        "agentgym",
        NEW,
        "tmpfs",
        mounts.MS_NOSUID | mounts.MS_NODEV,
        "size=4m,nr_inodes=4096,mode=755",
    )
    for folder in ("proc", "dev", "etc", "tmp", "run", "var"):
        os.mkdir(f"{NEW}/{folder}")
    mounts.mount(
        "proc", NEW + "/proc", "proc", mounts.MS_NOSUID | mounts.MS_NODEV | mounts.MS_NOEXEC
    )
    for name in SYSTEM:
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), f"{NEW}/{name}")
        elif os.path.isdir("/" + name):
            _show_system("/" + name)
    furniture.make_devices(NEW + "/dev")
    for name in SHARED:
        if os.path.exists("/etc/" + name):
            _show_system("/etc/" + name)
    users = f"root:x:0:0:root:{settings['home']}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"
    mounts.touch(NEW + "/etc/passwd", users)
    mounts.touch(NEW + "/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    mounts.touch(NEW + "/etc/hosts", f"127.0.0.1 localhost {furniture.NAME}\n::1 localhost\n")
    mounts.touch(NEW + "/etc/hostname", furniture.NAME + "\n")
    os.symlink("/tmp", NEW + "/var/tmp")


def _identify() -> None:
    """Set the host name, and enable 127.0.0.1 for programs that talk to each other."""
    mounts.check(mounts.libc.sethostname(furniture.NAME.encode(), len(furniture.NAME)), "host name")
    inet, datagram, set_flags, up_running = 2, 2, 0x8914, 0x41
    connection = mounts.check(mounts.libc.socket(inet, datagram, 0), "loopback")
    request = b"lo".ljust(16, b"\0") + up_running.to_bytes(2, sys.byteorder) + bytes(22)
    try:
        mounts.check(mounts.libc.ioctl(connection, ctypes.c_ulong(set_flags), request), "loopback")
    finally:
        os.close(connection)


class HostFolders:
    """The host's folders that are visible inside, as descriptors opened before the root changes.

    They are mounted afterwards, when links in a tree or ``/proc/self/root`` in a path can no longer
    lead to the host.
    """

    def __init__(self, settings: dict[str, Any], owner: int, users: int | None) -> None:
        attributes = READ_ONLY
        self.visible = [
            (mounts.clone(source, attributes), os.path.isdir(source), place)
            for place, source in settings["visible"]
        ]
        self.tree, self.owned = None, False
        if settings["tree"] is not None:
            self.tree, self.owned = _take_tree(settings["tree"], owner, attributes, users)


def _places(settings: dict[str, Any], owner: int, host_folders: HostFolders) -> None:
    """Make the writable folders, all on one file system of limited size."""
    limits = settings["limits"]
    os.mkdir(DATA)
    mounts.mount(
        "agentgym",
        DATA,
        "tmpfs",
        mounts.MS_NOSUID | mounts.MS_NODEV,
        furniture.disk_options(limits),
    )
    for name, place in (("upper", settings["workdir"]), *enumerate(settings["places"])):
        folder = f"{DATA}/{name}"
        os.mkdir(folder)
        os.chmod(folder, 0o1777 if place in ("/tmp", "/dev/shm") else 0o755)
        os.chown(folder, owner, owner)
        os.makedirs(place, exist_ok=True)
        if name != "upper":
            mounts.bind(folder, place, mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV)
    if host_folders.tree is None:
        mounts.bind(DATA + "/upper", settings["workdir"], mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV)
    else:
        _tree(settings, owner, host_folders.tree, host_folders.owned)
    mounts.detach(DATA)
    for mount in host_folders.visible:  # last, because it may be below a writable folder
        mounts.show(*mount)


def _tree(settings: dict[str, Any], owner: int, tree: int, owned: bool) -> None:
    """Mount or make the sandbox's private copy of the tree."""
    target, upper = settings["workdir"], DATA + "/upper"
    mounts.show(tree, True, LOWER)
    os.chmod(upper, os.stat(LOWER).st_mode & 0o777 | 0o700)
    if not (owned and settings["overlay"] and _overlay(target, upper, owner)):
        more = furniture.disk_options(settings["limits"], *furniture.measured(LOWER))
        mounts.mount(
            "agentgym", DATA, "tmpfs", mounts.MS_REMOUNT | mounts.MS_NOSUID | mounts.MS_NODEV, more
        )
        furniture.copy_tree(LOWER, upper, owner)
        mounts.bind(upper, target, mounts.MOUNT_NOSUID | mounts.MOUNT_NODEV)
    mounts.detach(LOWER)


def _take_tree(tree: str, owner: int, attributes: int, users: int | None) -> tuple[int, bool]:
    """Return a descriptor of the unchanged tree, and whether the sandbox's user owns its files."""
    if users is None:
        return mounts.clone(tree, attributes), os.stat(tree).st_uid == owner
    try:
        return mounts.clone(tree, attributes, users), True
    except OSError:  # the file system does not support mapped owners
        return mounts.clone(tree, attributes), False
    finally:
        os.close(users)


def _overlay(target: str, upper: str, owner: int) -> bool:
    """Mount an overlay with a writable layer over the tree; return whether that is supported."""
    work = DATA + "/work"
    os.mkdir(work)
    options = "index=off,metacopy=off"
    if os.getuid() == owner:
        options = "userxattr"
        try:
            os.setxattr(upper, "user.agentgym", b"1")
            os.removexattr(upper, "user.agentgym")
        except OSError:  # without xattrs, overlayfs cannot mark a folder as opaque
            return False
    try:
        mounts.mount("overlay", target, "overlay", mounts.MS_NOSUID | mounts.MS_NODEV,
               f"lowerdir={LOWER},upperdir={upper},workdir={work},{options}")  # fmt: skip
    except OSError:
        return False
    return True


def _enter(root: str) -> None:
    """Change to the new root, and detach the old one."""
    os.chdir(root)
    mounts.check(mounts.libc.pivot_root(b".", b"."), "pivot_root")
    mounts.detach(".")
    os.chdir("/")


def _seal(hidden: list[str]) -> int:
    """Cover hidden paths; return a descriptor of a writable ``/proc``.

    For commands ``/proc`` is read-only. Otherwise they could choose which process the kernel kills
    for lack of memory and, as the user of process 1, change settings of it and of the namespaces.
    """
    control = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    mounts.bind("/proc", "/proc", mounts.MOUNT_RDONLY)
    for path in (*hidden, *(f"/proc/{name}" for name in MASKED)):
        if os.path.isdir(path):
            mounts.bind(furniture.EMPTY, path, mounts.MOUNT_RDONLY)
        elif os.path.lexists(path):
            mounts.bind(furniture.NOTHING, path, mounts.MOUNT_RDONLY)
    return control


def _set_control(control: int, name: str, value: str) -> None:
    """Write to a file of ``/proc``."""
    file = os.open(name, os.O_WRONLY, dir_fd=control)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)


def _give_up(owner: int, control: int, user: tuple[int, int], faked: bool) -> int:
    """Become an unprivileged user in a new user namespace that owns none of the other namespaces.

    Args:
        owner: User id on the host.
        control: Descriptor of a writable ``/proc``.
        user: User id and group id inside.
        faked: Whether changes of owners do nothing instead of failing.

    Returns:
        A descriptor of this process's ``oom_score_adj``.
    """
    with suppress(OSError):  # without permission, keep the current score
        _set_control(control, "self/oom_score_adj", str(LAST_CHOICE))
    if os.getuid() != owner:
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
        mounts.libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # otherwise uid_map is not writable
    uid, gid = os.getuid(), os.getgid()
    mounts.check(mounts.libc.unshare(CLONE_NEWUSER), "a second user namespace")
    _set_control(control, "self/setgroups", "deny")
    _set_control(control, "self/uid_map", f"{user[0]} {uid} 1")
    _set_control(control, "self/gid_map", f"{user[1]} {gid} 1")
    _set_control(control, "sys/user/max_user_namespaces", "0")
    score = os.open("self/oom_score_adj", os.O_RDWR, dir_fd=control)
    os.close(control)
    _drop_privileges(faked)
    return score


def _drop_privileges(faked: bool) -> None:
    """Drop every capability, and every way to regain one."""
    number = KEYCTL.get(os.uname().machine)
    if number is not None:  # join a new session keyring, without the host's keys
        mounts.libc.syscall(ctypes.c_long(number), ctypes.c_long(1), None)
    mounts.libc.prctl(PR_SET_SECUREBITS, NOROOT_LOCKED, 0, 0, 0)
    capability = 0
    while mounts.libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    mounts.check(mounts.libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    version, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    mounts.check(
        mounts.libc.capset(ctypes.byref(version), ctypes.byref(nothing)), "giving up capabilities"
    )
    seccomp.install(mounts.libc, faked)
    # End when the keeper ends: the kernel resets this setting when the user changes.
    mounts.check(
        mounts.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "the signal of its parent"
    )


def _build(settings: dict[str, Any], owner: int, users: int | None) -> int:
    """Build the inside of a sandbox with the host's programs; return a writable ``/proc``."""
    _skeleton(settings)
    host_folders = HostFolders(settings, owner, users)
    _enter(NEW)
    _places(settings, owner, host_folders)
    control = _seal(settings["hidden"])
    flags = mounts.MS_REMOUNT | mounts.MS_BIND | mounts.MS_RDONLY
    mounts.mount("agentgym", "/", None, flags | mounts.MS_NOSUID | mounts.MS_NODEV)
    return control


def _block_imports() -> None:
    """Prevent this process from loading code from inside the sandbox.

    All needed modules are already loaded. ``pwd`` and ``grp`` are blocked, because they would make
    the C library load the libraries that an image's ``nsswitch.conf`` names.
    """
    sys.path[:], sys.meta_path[:] = [], []
    sys.path_importer_cache.clear()
    tarfile.pwd = tarfile.grp = None  # type: ignore[attr-defined]


def main(connection: int, owner_process: int | None, group: int | None, users: int | None) -> None:
    """Build the inside and serve.

    Args:
        connection: Descriptor of the connection.
        owner_process: Descriptor of the process that owns the sandbox.
        group: Descriptor of the cgroup's process list.
        users: Descriptor of a user namespace that maps the tree's owner to the sandbox's user.
    """
    if group is not None:
        os.write(group, b"0")  # 0 stands for this process
        os.close(group)
    wire = pid1.Wire(connection, connection)
    settings = wire.receive()
    owner = settings["uid"] if settings["uid"] is not None else os.getuid()
    image, folders = settings["image"], None
    try:
        os.umask(0o022)
        _identify()
        if image is None:
            control = _build(settings, owner, users)
        else:
            folders = image_root.build(settings, owner)
            _enter(image_root.ROOT)
            control = _seal([])
        _block_imports()
        user = (0, 0) if image is None else (image["uid"], image["gid"])
        score = _give_up(owner, control, user, image is not None)
    except Exception as error:  # report it by the connection: standard error is not read
        wire.send(pid1._failure(error))
        return
    wire.send({})
    if image is None:
        pid1.Server(wire, owner_process, score).run()
    elif folders is None:
        image_server.CopyServer(wire, owner_process, score).run()
    image_server.ImageServer(wire, owner_process, score, folders).run()
