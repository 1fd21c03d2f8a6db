"""Which system calls commands may not make, although they need no privilege for them.

A namespace keeps apart what it knows of. Some doors of the kernel belong to none: sockets to the
hypervisor (``AF_VSOCK``), keys, programs in the kernel (``bpf``), rings of requests. No build and
no test needs them, and most of the kernel's faults that let a process out lie behind them. Memory
and queues of System V outlive the processes that made them, whose limits they are not counted in;
files without a name (``memfd_create``) are memory that no limit of a process sees.
They fail with "operation not permitted", as in containers. The calls that build namespaces, which
need capabilities that nobody has here, are closed as well. Others may be made with some arguments
only: no command sets limits, priority or processors of process 1.

The filter is a program of the classic BPF (Linux, Documentation/userspace-api/seccomp_filter.rst),
which process 1 loads for itself and all that it starts. It is made for the architectures of
:data:`ARCHITECTURES`; on others there is none. As ``stage.py``, this stands alone.
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
"""Of the families of ``AF_NETLINK`` the one that lists addresses."""
FIRST, SECOND, THIRD = 16, 24, 32
"""Offsets of the arguments, whose lower halves are all that the kernel reads of these."""
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
"""Call -> its numbers, and what it may be made with: an argument, values, and whether it has to be
among them or may not be. Priorities are set of one process, not of a group or user, which process 1
may belong to; the personality only asked for, or to lay out addresses as debuggers want them."""
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
"""Call -> its numbers. With the one user of a box they could only fail, and with them the builds
and package managers of images. In boxes of images they do nothing and say that all is well."""
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE = 0, 4
"""Offsets in what a filter sees of a call."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
NOTHING_DONE = FAIL
"""The call is left out, and its caller told that it went well."""
OTHER_ABI = 0x40000000
"""Bit of the numbers of x86-64's second set of calls, x32."""
PR_SET_SECCOMP, MODE_FILTER = 22, 2


def program(machine: str, faked: bool = False) -> bytes:
    """Return the filter for a machine; empty if there is none.

    Args:
        machine: The machine, as ``uname`` calls it.
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
    """Return the steps that let a call pass whose arguments are as they have to be."""
    body: list[tuple[int, int, int, int]] = []
    for argument, values, must_match in checks:
        body.append((LOAD, 0, 0, argument))
        if must_match:  # whatever is equal jumps over the failure
            body += [(EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
            body.append((RETURN, 0, 0, failure))
        else:
            for value in values:
                body += [(EQUAL, 0, 1, value), (RETURN, 0, 0, failure)]
    body.append((RETURN, 0, 0, ALLOW))
    return [(EQUAL, 0, len(body), number), *body]


def install(libc: ctypes.CDLL, faked: bool = False) -> None:
    """Load the filter for this process and all that it starts, where the kernel has filters.

    Args:
        libc: The C library.
        faked: Whether the calls of :data:`FAKED` do nothing.
    """
    code = program(os.uname().machine, faked)
    if code:
        buffer = ctypes.create_string_buffer(code, len(code))
        head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
        libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(head), 0, 0)
