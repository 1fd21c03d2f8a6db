"""Which system calls commands may not make, although they need no privilege for them.

A namespace keeps apart what it knows of. Some doors of the kernel belong to none: sockets to the
hypervisor (``AF_VSOCK``), keys, programs in the kernel (``bpf``), rings of requests. No build and
no test needs them, and most of the kernel's faults that let a process out lie behind them. Memory
and queues of System V outlive the processes that made them, whose limits they are not counted in.
They fail with "operation not permitted", as in containers. The calls that build namespaces, which
need capabilities that nobody has here, are closed as well.

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
    from collections.abc import Mapping

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Machine -> the kernel's name for its calls, and their column in the table below."""
SOCKET = (41, 198)
PRLIMIT = (302, 261)
FAMILIES = (1, 2, 10, 16)
"""``AF_UNIX``, ``AF_INET``, ``AF_INET6``, ``AF_NETLINK``."""
FORBIDDEN: Mapping[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
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
"""Call -> its number on each architecture."""
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in what a filter sees of a call."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
OTHER_ABI = 0x40000000
"""Bit of the numbers of x86-64's second set of calls, x32."""
PR_SET_SECCOMP, MODE_FILTER = 22, 2


def program(machine: str) -> bytes:
    """Return the filter for a machine; empty if there is none."""
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
    for numbers in FORBIDDEN.values():
        steps += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, denied)]
    # The limits of another process, of process 1 too, are not one's own to change.
    steps += [(EQUAL, 0, 4, PRLIMIT[column]), (LOAD, 0, 0, FIRST_ARGUMENT)]
    steps += [(EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, denied)]
    steps += [(EQUAL, 1, 0, SOCKET[column]), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST_ARGUMENT)]
    for family in FAMILIES:
        steps += [(EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, FAIL | errno.EAFNOSUPPORT))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def install(libc: ctypes.CDLL) -> None:
    """Load the filter for this process and all that it starts, where the kernel has filters.

    Args:
        libc: The C library.
    """
    code = program(os.uname().machine)
    if code:
        buffer = ctypes.create_string_buffer(code, len(code))
        head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
        libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(head), 0, 0)
