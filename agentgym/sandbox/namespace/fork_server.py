"""The fork server: a small Python process whose forks become sandboxes.

A fork takes a few milliseconds, because Python and the modules of process 1 are already loaded.
:mod:`.forking` starts the server with ``python -I -S``, once for each process that opens sandboxes;
it ends with that process. For each message, which carries the descriptors of a sandbox, it forks a
keeper. The keeper makes the namespaces and forks their process 1. If the keeper or process 1 ends,
so does the other.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys

TYPE_CHECKING = False  # as in pid1.py
if TYPE_CHECKING:
    from typing import NoReturn

    from agentgym.sandbox import pid1
    from agentgym.sandbox.namespace import mounts, stage
    from agentgym.sandbox.namespace.handover import CONNECTION, GROUP, OWNER, READY, USER
else:
    import mounts
    import pid1
    import stage
    from handover import CONNECTION, GROUP, OWNER, READY, USER

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 1 << 17, 1 << 25, 1 << 26, 1 << 27
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 1 << 28, 1 << 29, 1 << 30
NAMESPACES = (
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
)
PR_SET_PDEATHSIG, PIDFD_OPEN = 1, 434


def serve(connection: socket.socket, owner: int | None) -> NoReturn:
    """Fork keepers until the connection closes or the owner ends.

    Args:
        connection: Connection for messages, of a type that preserves message boundaries.
        owner: Descriptor of the process that owns the sandboxes.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers need no reaping
    gc.collect()
    gc.freeze()  # a collection in a fork would touch, and so copy, the shared pages
    poller = select.poll()
    poller.register(connection, select.POLLIN)
    if owner is not None:
        poller.register(owner, select.POLLIN)
    connection.sendall(READY)
    namespaces: dict[tuple[int, ...], int | None] = {}
    while True:
        if any(descriptor == owner for descriptor, _ in poller.poll()):
            os._exit(0)
        message, descriptors, _, _ = socket.recv_fds(connection, 64, 3)
        if not message:
            os._exit(0)
        letters, *ids = message.decode("ascii").split()
        users = _users(tuple(map(int, ids)), namespaces) if ids else None
        keeper = os.fork()
        if not keeper:
            connection.close()
            _keep(letters, descriptors, users)
        try:
            handle = mounts.syscall("a handle of the keeper", PIDFD_OPEN, keeper, 0)
        except OSError:  # the keeper has already ended, or there are too many open files
            connection.sendall(b"0")
        else:
            socket.send_fds(connection, [str(keeper).encode()], [handle])
            os.close(handle)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(letters: str, descriptors: list[int], users: int | None) -> None:
    """Make the namespaces, start process 1 in them, wait for its end, and end."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)  # only the fork server writes errors there
        by_letter = dict(zip(letters, descriptors, strict=False))
        connection = by_letter[CONNECTION]
        try:
            _unshare(USER in letters)
        except OSError as error:
            wire = pid1.Wire(connection, connection)
            wire.receive()
            wire.send({"error": str(error), "errno": error.errno})
            return
        child = os.fork()  # the first in its namespace
        if not child:
            mounts.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            stage.main(connection, by_letter.get(OWNER), by_letter.get(GROUP), users)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(child, 0)
    finally:
        os._exit(0)


def _users(ids: tuple[int, ...], namespaces: dict[tuple[int, ...], int | None]) -> int | None:
    """Return a user namespace that maps the files of a user and group to another user.

    Args:
        ids: The user, the group, and the user that they are mapped to.
        namespaces: Cache of the namespaces; it stays small, because trees have few owners.
    """
    if ids not in namespaces:
        try:
            namespaces[ids] = _user_namespace(*ids)
        except OSError:
            namespaces[ids] = None
    return namespaces[ids]


def _user_namespace(uid: int, gid: int, owner: int) -> int:
    """Make a user namespace that maps a user and group; return its descriptor."""
    parent, child = os.pipe()
    done_end, finish = os.pipe()
    pid = os.fork()
    if not pid:
        result = mounts.libc.unshare(CLONE_NEWUSER)
        os.write(child, b"x" if result == 0 else b"-")
        os.close(finish)
        # The namespace ends with its last process, unless a descriptor of it is open by then.
        os.read(done_end, 1)
        os._exit(0)
    try:
        os.read(parent, 1)
        mounts.touch(f"/proc/{pid}/uid_map", f"{uid} {owner} 1")
        mounts.touch(f"/proc/{pid}/gid_map", f"{gid} {owner} 1")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (parent, child, done_end, finish):
            os.close(descriptor)


def _unshare(user: bool) -> None:
    """Enter new namespaces; mounts in them are not visible outside."""
    uid, gid = os.geteuid(), os.getegid()
    flags = NAMESPACES | (CLONE_NEWUSER if user else 0)
    mounts.check(mounts.libc.unshare(flags), "making namespaces")
    if user:
        # Without privileges the kernel accepts a gid_map only after this.
        mounts.touch("/proc/self/setgroups", "deny")
        mounts.touch("/proc/self/uid_map", f"0 {uid} 1")
        mounts.touch("/proc/self/gid_map", f"0 {gid} 1")
    # Many systems share "/" with new namespaces: mounts would appear outside, too.
    mounts.mount("none", "/", None, mounts.MS_REC | mounts.MS_PRIVATE)


def main(arguments: list[str]) -> None:
    """Serve.

    Args:
        arguments: Descriptors of the connection and of the owner (-1: none).
    """
    connection, owner = map(int, arguments)
    serve(socket.socket(fileno=connection), owner if owner >= 0 else None)


if __name__ == "__main__":
    main(sys.argv[1:])
