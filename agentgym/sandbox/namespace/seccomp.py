"""The seccomp filter: system calls that commands must not make, although they need no privilege.

Namespaces do not cover all interfaces of the kernel: sockets to the hypervisor (``AF_VSOCK``),
keys, programs in the kernel (``bpf``), and ``io_uring``. Builds and tests do not need them, and
most kernel bugs that let a process escape are in them. Shared memory and queues of System V outlive
the processes that made them and escape their limits; anonymous files (``memfd_create``) are memory
that no limit of a process covers. These calls fail with "operation not permitted", as in
containers. Calls that make namespaces are blocked as well, although they need capabilities that no
process has here. Other calls are allowed only with some arguments: a command must not change
limits, priority or CPUs of process 1.

The filter is a classic BPF program (Linux, Documentation/userspace-api/seccomp_filter.rst), which
process 1 loads for itself and its descendants. It exists for the architectures in
:data:`ARCHITECTURES`; on others there is no filter. Like ``stage.py``, this needs only the standard
library.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Machine -> the kernel's name for its calls, and their column in the table below."""
FORBIDDEN: Mapping[str, tuple[int, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
"""Call -> its number on each architecture; None where there is no such call."""
SOCKETS = ((41, 198), (53, 199))
"""``socket`` and ``socketpair``."""
FAMILIES = (1, 2, 10, 16)
"""``AF_UNIX``, ``AF_INET``, ``AF_INET6``, ``AF_NETLINK``."""
NETLINK, ROUTES = 16, 0
"""``AF_NETLINK``, and its only allowed protocol, which lists addresses."""
FIRST, SECOND, THIRD = 16, 24, 32
"""Offsets of the arguments in the filter's input; the kernel reads only their lower halves."""
GUARDED: Mapping[str, tuple[tuple[int, int], tuple[tuple[int, tuple[int, ...], bool], ...]]] = {
    "ioprio_set": ((251, 30), ((FIRST, (1,), True), (SECOND, (1,), False))),
    "personality": ((135, 92), ((FIRST, (0, 0x40000, 0xFFFFFFFF), True),)),
    "prlimit64": ((302, 261), ((FIRST, (0,), True),)),
    "sched_setaffinity": ((203, 122), ((FIRST, (1,), False),)),
    "sched_setattr": ((314, 274), ((FIRST, (1,), False),)),
    "sched_setparam": ((142, 118), ((FIRST, (1,), False),)),
    "sched_setscheduler": ((144, 119), ((FIRST, (1,), False),)),
    "setpriority": ((141, 140), ((FIRST, (0,), True), (SECOND, (1,), False))),
}
"""Call -> its numbers, and checks of arguments: offset, values, and whether the argument must be
among the values or must not. Priorities may be set for a single process, but not for a group or
user, to which process 1 may belong. The personality may be queried, or set to disable address
randomization, as debuggers do."""
FAKED: Mapping[str, tuple[int, int | None]] = {
    "chown": (92, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "lchown": (94, None),
    "setfsgid": (123, 152),
    "setfsuid": (122, 151),
    "setgid": (106, 144),
    "setgroups": (116, 159),
    "setregid": (114, 143),
    "setresgid": (119, 149),
    "setresuid": (117, 147),
    "setreuid": (113, 145),
    "setuid": (105, 146),
}
"""Call -> its numbers. A sandbox has only one user, so these calls would fail, and with them builds
and package managers in images. In an image's sandbox they do nothing and report success."""
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE = 0, 4
"""Offsets in the filter's input (``struct seccomp_data``)."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NOTHING_DONE = FAIL
"""Skip the call and report success: error number 0."""
OTHER_ABI = 0x40000000
"""Bit in the call numbers of x32, the second ABI of x86-64."""
PR_SET_SECCOMP, MODE_FILTER = 22, 2


def program(machine: str, faked: bool = False) -> bytes:
    """Return the filter for a machine; empty if there is none.

    Args:
        machine: Name of the machine in ``uname``.
        faked: Whether the calls of :data:`FAKED` do nothing.
    """
    if machine not in ARCHITECTURES:
        return b""
    name, column = ARCHITECTURES[machine]
    denied = FAIL | errno.EPERM
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, name),
        (RETURN, 0, 0, denied),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, OTHER_ABI),
        (RETURN, 0, 0, denied),
    ]
    answers = [(FORBIDDEN, denied), *([(FAKED, NOTHING_DONE)] if faked else [])]
    for table, answer in answers:
        for numbers in table.values():
            number = numbers[column]
            steps += [] if number is None else [(EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]
    for pair, checks in GUARDED.values():
        steps += _guard(pair[column], checks, denied)
    for pair in SOCKETS:
        steps += [
            (EQUAL, 0, 6, pair[column]),
            (LOAD, 0, 0, FIRST),
            (EQUAL, 0, 3, NETLINK),
            (LOAD, 0, 0, THIRD),
            (EQUAL, 1, 0, ROUTES),
            (RETURN, 0, 0, FAIL | errno.EPROTONOSUPPORT),
            (LOAD, 0, 0, NUMBER),
        ]
        steps += _guard(pair[column], ((FIRST, FAMILIES, True),), FAIL | errno.EAFNOSUPPORT)
    steps.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _guard(
    number: int, checks: Iterable[tuple[int, tuple[int, ...], bool]], failure: int
) -> list[tuple[int, int, int, int]]:
    """Return the instructions that allow a call if its arguments pass the checks."""
    body: list[tuple[int, int, int, int]] = []
    for argument, values, must_match in checks:
        body.append((LOAD, 0, 0, argument))
        if must_match:  # an equal value jumps over the failure
            body += [(EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
            body.append((RETURN, 0, 0, failure))
        else:
            for value in values:
                body += [(EQUAL, 0, 1, value), (RETURN, 0, 0, failure)]
    body.append((RETURN, 0, 0, ALLOW))
    return [(EQUAL, 0, len(body), number), *body]


def install(libc: ctypes.CDLL, faked: bool = False) -> None:
    """Load the filter for this process and its descendants, if the kernel supports filters.

    Args:
        libc: The C library.
        faked: Whether the calls of :data:`FAKED` do nothing.
    """
    code = program(os.uname().machine, faked)
    if code:
        buffer = ctypes.create_string_buffer(code, len(code))
        head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
        libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(head), 0, 0)
