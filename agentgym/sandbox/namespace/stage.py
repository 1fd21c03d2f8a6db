"""What makes the inside of a sandbox: runs as process 1 of new namespaces, before any command.

It builds the file system, gives up every privilege, and goes on as the server of ``pid1.py``. It
imports nothing but the standard library and is started with ``python -I -S`` by
:mod:`agentgym.sandbox.namespace.box`, whose settings it reads from the connection.

Everything is mounted over ``/proc`` of this private mount namespace: it exists on every Linux and
holds nothing that is shown inside. So no folder of the host is needed, and none can be left behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import sys
from contextlib import suppress

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from typing import Any

    from agentgym.sandbox import pid1
    from agentgym.sandbox.namespace import seccomp
else:  # the folders of both are on the path of this process
    import pid1
    import seccomp

NEW = "/proc"
DATA, LOWER, EMPTY, NOTHING = "/.data", "/.lower", "/.empty", "/.nothing"
DEVICES = ("null", "zero", "full", "random", "urandom")
SHARED = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf")
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
NAME = "sandbox"
TERMINALS = 64
"""Terminals that a box may open; all of the machine share a few thousand."""
MASKED = (
    "acpi", "asound", "bus", "cmdline", "config.gz", "kcore", "keys", "latency_stats",
    "sched_debug", "scsi", "sys/kernel/random/boot_id", "timer_list",
)  # fmt: skip
"""What in ``/proc`` tells of the host and is empty inside, most of it as in containers."""
LAST_CHOICE = -999
"""Score with which the kernel kills a process for want of memory when there is no other."""

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND = 32, 4096
MNT_DETACH = 2
MOUNT_RDONLY, MOUNT_NOSUID, MOUNT_NODEV, MOUNT_NOEXEC, MOUNT_IDMAP = 1, 2, 4, 8, 1 << 20
CLONE_NEWUSER = 1 << 28
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
"""System calls, of one number on every architecture."""
KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219}
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = (
    1,
    4,
    24,
    28,
    38,
)
NOROOT_LOCKED = 0b1111
"""Secure bits: user 0 gains no capabilities, and neither does a change to another user."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    """Raise what a system call failed with."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _syscall(what: str, number: int, *arguments: Any) -> int:
    """Make a system call that the C library may not know."""
    full = [ctypes.c_long(a) if isinstance(a, int) else a for a in (number, *arguments)]
    return _check(_libc.syscall(*full), what)


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        os.fsencode(options) if options else None,
    )
    _check(result, f"mount of {kind or source} at {target}")


def _detach(target: str) -> None:
    """Take a mount out of sight; what uses it goes on to."""
    _check(_libc.umount2(os.fsencode(target), MNT_DETACH), f"umount of {target}")


def _clone(source: str, attributes: int, users: int | None = None) -> int:
    """Return a descriptor of a file or folder with all mounts below it, to be attached elsewhere.

    Args:
        source: What is shown.
        attributes: How, for instance read-only, down to the last mount.
        users: Descriptor of a user namespace that says whose its files are inside.
    """
    here, clone, recursive, empty = -100, 1 | os.O_CLOEXEC, 0x8000, 0x1000
    if users is not None:
        recursive, attributes = 0, attributes | MOUNT_IDMAP
    path = ctypes.c_char_p(os.fsencode(source))
    copy = _syscall(f"opening {source}", OPEN_TREE, here, path, clone | recursive)
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, users or 0)
    try:
        _syscall(f"attributes of {source}", MOUNT_SETATTR, copy, ctypes.c_char_p(b""),
                 empty | recursive, ctypes.byref(wanted), ctypes.sizeof(wanted))  # fmt: skip
    except OSError:
        os.close(copy)
        raise
    return copy


def _attach(copy: int, target: str) -> None:
    """Mount what a descriptor of :func:`_clone` holds, and close it."""
    try:
        _syscall(f"mount at {target}", MOVE_MOUNT, copy, ctypes.c_char_p(b""), -100,
                 ctypes.c_char_p(os.fsencode(target)), 4)  # fmt: skip
    finally:
        os.close(copy)


def _bind(source: str, target: str, attributes: int) -> None:
    """Show a file or folder at another place too."""
    _attach(_clone(source, attributes), target)


def _show(copy: int, folder: bool, target: str) -> None:
    """Attach a file or folder at a place that is made for it."""
    if folder:
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            _touch(target)
    _attach(copy, target)


def _show_system(path: str, attributes: int = MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV) -> None:
    """Show a file or folder of the host at the same place of the new root."""
    _show(_clone(path, attributes), os.path.isdir(path), NEW + path)


def _touch(path: str, content: str = "") -> None:
    with open(path, "w") as file:
        file.write(content)


def _skeleton(settings: dict[str, Any]) -> None:
    """Make the root with the system's programs, devices and a minimal ``/etc``."""
    os.chdir("/")  # nothing may stand in what is about to be covered
    _mount("agentgym", NEW, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,nr_inodes=4096,mode=755")
    for folder in ("proc", "dev", "etc", "tmp", "run", "var", EMPTY[1:]):
        os.mkdir(f"{NEW}/{folder}")
    _touch(NEW + NOTHING)
    _mount("proc", NEW + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in SYSTEM:
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name), f"{NEW}/{name}")
        elif os.path.isdir("/" + name):
            _show_system("/" + name)
    for name in DEVICES:
        _show_system("/dev/" + name, MOUNT_NOSUID | MOUNT_NOEXEC)
    os.mkdir(NEW + "/dev/pts")
    terminals = f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}"
    _mount("devpts", NEW + "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, terminals)
    os.symlink("pts/ptmx", NEW + "/dev/ptmx")
    for name, number in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink("/proc/self/fd" + number, f"{NEW}/dev/{name}")
    for name in SHARED:
        if os.path.exists("/etc/" + name):
            _show_system("/etc/" + name)
    users = f"root:x:0:0:root:{settings['home']}:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n"
    _touch(NEW + "/etc/passwd", users)
    _touch(NEW + "/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    _touch(NEW + "/etc/hosts", f"127.0.0.1 localhost {NAME}\n::1 localhost\n")
    _touch(NEW + "/etc/hostname", NAME + "\n")
    os.symlink("/tmp", NEW + "/var/tmp")


def _identify() -> None:
    """Give the box a name, and 127.0.0.1 for programs that serve and ask each other."""
    _check(_libc.sethostname(NAME.encode(), len(NAME)), "host name")
    inet, datagram, set_flags, up_running = 2, 2, 0x8914, 0x41
    connection = _check(_libc.socket(inet, datagram, 0), "loopback")
    request = b"lo".ljust(16, b"\0") + up_running.to_bytes(2, sys.byteorder) + bytes(22)
    try:
        _check(_libc.ioctl(connection, ctypes.c_ulong(set_flags), request), "loopback")
    finally:
        os.close(connection)


class Taken:
    """What a box shows of the host, as descriptors: taken before the root changes.

    It is put in place afterwards, when no link of a tree and no ``/proc/self/root`` in a path leads
    to the host any more.
    """

    def __init__(self, settings: dict[str, Any], owner: int) -> None:
        attributes = MOUNT_RDONLY | MOUNT_NOSUID | MOUNT_NODEV
        self.visible = [
            (_clone(source, attributes), os.path.isdir(source), place)
            for place, source in settings["visible"]
        ]
        self.tree, self.owned = None, False
        if settings["tree"] is not None:
            self.tree, self.owned = _take_tree(settings["tree"], owner, attributes)


def _places(settings: dict[str, Any], owner: int, taken: Taken) -> None:
    """Make the folders that commands write to, all on one file system of bounded size."""
    limits = settings["limits"]
    os.mkdir(DATA)
    _mount("agentgym", DATA, "tmpfs", MS_NOSUID | MS_NODEV, _size(limits))
    for name, place in (("upper", settings["workdir"]), *enumerate(settings["places"])):
        folder = f"{DATA}/{name}"
        os.mkdir(folder)
        os.chmod(folder, 0o1777 if place in ("/tmp", "/dev/shm") else 0o755)
        os.chown(folder, owner, owner)
        os.makedirs(place, exist_ok=True)
        if name != "upper":
            _bind(folder, place, MOUNT_NOSUID | MOUNT_NODEV)
    if taken.tree is None:
        _bind(DATA + "/upper", settings["workdir"], MOUNT_NOSUID | MOUNT_NODEV)
    else:
        _tree(settings, owner, taken.tree, taken.owned)
    _detach(DATA)
    for one in taken.visible:  # last, since it may lie below one of the places
        _show(*one)


def _size(limits: dict[str, int], size: int = 0, count: int = 0) -> str:
    """Return the options of a file system for what may be written, and some more."""
    return f"size={limits['disk'] + size},nr_inodes={limits['files'] + 64 + count},mode=755"


def _tree(settings: dict[str, Any], owner: int, tree: int, owned: bool) -> None:
    """Give the box its private copy of the tree."""
    target, upper = settings["workdir"], DATA + "/upper"
    _show(tree, True, LOWER)
    os.chmod(upper, os.stat(LOWER).st_mode & 0o777 | 0o700)
    if not (owned and settings["overlay"] and _overlay(target, upper, owner)):
        more = _size(settings["limits"], *_measured(LOWER))
        _mount("agentgym", DATA, "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV, more)
        _copy(LOWER, upper, owner)
        _bind(upper, target, MOUNT_NOSUID | MOUNT_NODEV)
    _detach(LOWER)


def _take_tree(tree: str, owner: int, attributes: int) -> tuple[int, bool]:
    """Return a descriptor of the pristine tree, and whether its files are the box's there."""
    found = os.stat(tree)
    if found.st_uid == owner or os.getuid() == owner:
        return _clone(tree, attributes), found.st_uid == owner
    users = _user_namespace(found.st_uid, found.st_gid, owner)
    try:
        return _clone(tree, attributes, users), True
    except OSError:  # a file system that does not translate users
        return _clone(tree, attributes), False
    finally:
        os.close(users)


def _user_namespace(uid: int, gid: int, owner: int) -> int:
    """Return a user namespace in which a user's and group's files are the box's."""
    parent, child = os.pipe()
    done, finish = os.pipe()
    pid = os.fork()
    if not pid:
        result = _libc.unshare(CLONE_NEWUSER)
        os.write(child, b"x" if result == 0 else b"-")
        os.close(finish)
        os.read(done, 1)
        os._exit(0)
    try:
        os.read(parent, 1)
        base = f"{NEW}/proc/{pid}"
        _touch(base + "/uid_map", f"{uid} {owner} 1")
        _touch(base + "/gid_map", f"{gid} {owner} 1")
        return os.open(base + "/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (parent, child, done, finish):
            os.close(descriptor)
        os.waitpid(pid, 0)


def _overlay(target: str, upper: str, owner: int) -> bool:
    """Lay a writable layer over the tree; return whether this kernel can."""
    work = DATA + "/work"
    os.mkdir(work)
    own = "index=off,metacopy=off"
    if os.getuid() == owner:
        own = "userxattr"
        try:
            os.setxattr(upper, "user.agentgym", b"1")
            os.removexattr(upper, "user.agentgym")
        except OSError:  # then it could not mark a folder that replaces another
            return False
    try:
        _mount("overlay", target, "overlay", MS_NOSUID | MS_NODEV,
               f"lowerdir={LOWER},upperdir={upper},workdir={work},{own}")  # fmt: skip
    except OSError:
        return False
    return True


def _measured(folder: str) -> tuple[int, int]:
    """Return the bytes, in whole pages, and the number of files below a folder."""
    size = count = 0
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            size += (os.lstat(os.path.join(parent, name)).st_size | 4095) + 1
            count += 1
    return size, count


def _copy(source: str, target: str, owner: int) -> None:
    """Copy a tree with its times, as the box's own files.

    Without ``shutil``, since the folder of Python's modules may not be in place yet.
    """
    times = []
    for parent, folders, files in os.walk(source):
        for name in (*folders, *files):
            old = os.path.join(parent, name)
            new, found = target + old[len(source) :], os.lstat(old)
            if stat.S_ISLNK(found.st_mode):
                os.symlink(os.readlink(old), new)
            elif stat.S_ISDIR(found.st_mode):
                os.mkdir(new)
            elif stat.S_ISREG(found.st_mode):
                with open(old, "rb") as data, open(new, "xb") as file:
                    while os.sendfile(file.fileno(), data.fileno(), None, 1 << 20):
                        pass
            else:
                continue
            os.chown(new, owner, owner, follow_symlinks=False)
            if not stat.S_ISLNK(found.st_mode):
                os.chmod(new, found.st_mode & 0o777)
            times.append((new, (found.st_atime_ns, found.st_mtime_ns)))
    for path, both in reversed(times):  # of a folder when nothing is written to it any more
        os.utime(path, ns=both, follow_symlinks=False)


def _enter() -> None:
    """Make the new root the root, and let go of the old one."""
    os.chdir(NEW)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _detach(".")
    os.chdir("/")


def _seal(settings: dict[str, Any]) -> int:
    """Cover what is hidden and let nobody change the root; return ``/proc`` as it can be written.

    To commands it is read-only: else they could choose whom the kernel kills for want of memory,
    and, where they have the user of process 1, change files of that and of the box's namespaces.
    """
    control = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    _bind("/proc", "/proc", MOUNT_RDONLY)
    for path in (*settings["hidden"], *(f"/proc/{name}" for name in MASKED)):
        if os.path.isdir(path):
            _bind(EMPTY, path, MOUNT_RDONLY)
        elif os.path.lexists(path):
            _bind(NOTHING, path, MOUNT_RDONLY)
    _mount("agentgym", "/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
    return control


def _set_control(control: int, name: str, value: str) -> None:
    """Write to a file of ``/proc``."""
    file = os.open(name, os.O_WRONLY, dir_fd=control)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)


def _give_up(owner: int, control: int) -> int:
    """Become a user that owns nothing of this, in a user namespace that owns nothing either.

    Returns:
        A descriptor of the file that says how gladly the kernel kills this process.
    """
    with suppress(OSError):  # who may not has the best that it may have
        _set_control(control, "self/oom_score_adj", str(LAST_CHOICE))
    if os.getuid() != owner:
        os.setgroups([])
        os.setresgid(owner, owner, owner)
        os.setresuid(owner, owner, owner)
        _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else its maps could not be written
    uid, gid = os.getuid(), os.getgid()
    _check(_libc.unshare(CLONE_NEWUSER), "a second user namespace")
    _set_control(control, "self/setgroups", "deny")
    _set_control(control, "self/uid_map", f"0 {uid} 1")
    _set_control(control, "self/gid_map", f"0 {gid} 1")
    _set_control(control, "sys/user/max_user_namespaces", "0")
    score = os.open("self/oom_score_adj", os.O_RDWR, dir_fd=control)
    os.close(control)
    _drop_privileges()
    return score


def _drop_privileges() -> None:
    """Give up every capability, and every way to a new one."""
    number = KEYCTL.get(os.uname().machine)
    if number is not None:  # a session of its own, without the keys of the host's
        _libc.syscall(ctypes.c_long(number), ctypes.c_long(1), None)
    _libc.prctl(PR_SET_SECUREBITS, NOROOT_LOCKED, 0, 0, 0)
    capability = 0
    while _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    version, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(ctypes.byref(version), ctypes.byref(nothing)), "giving up capabilities")
    seccomp.install(_libc)
    # End with unshare, as it asked for; the kernel forgot that with the change of the user.
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "the signal of its parent")


def main(arguments: list[str]) -> None:
    """Build the inside and serve.

    Args:
        arguments: Descriptors of the connection, of the process that owns the sandbox, and of the
            list of its cgroup's processes; -1 for one that there is not.
    """
    connection, owner_process, group = map(int, arguments)
    if group >= 0:
        os.write(group, b"0")  # this process joins
        os.close(group)
    wire = pid1.Wire(connection, connection)
    settings = wire.receive()
    owner = settings["uid"] if settings["uid"] is not None else os.getuid()
    try:
        os.umask(0o022)
        _skeleton(settings)
        _identify()
        taken = Taken(settings, owner)
        _enter()
        _places(settings, owner, taken)
        score = _give_up(owner, _seal(settings))
    except OSError as error:
        wire.send({"error": str(error), "errno": error.errno})
        return
    wire.send({})
    pid1.serve(connection, connection, owner_process if owner_process >= 0 else None, score)
