"""Run a command so that it can reach neither its judge nor the reward, in a container of anybody's.

It runs on the standard library of Python 3.10 and later, as part of an exported task. Two ways are
known, and both are taken where both can be had: another user, where the judge is root and may
change; and Landlock, since Linux 5.13, under which a process reads and writes only what it is
given, and looks into no process outside.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

NOBODY = 65534
"""User and group of commands, where there is a choice."""
LARGEST_OUTPUT = 20 << 20
"""Bytes that a command may print."""
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
_CREATE_RULESET, _ADD_RULE, _RESTRICT = 444, 445, 446  # of one number on every architecture
_EXECUTE, _READ_FILE, _READ_FOLDER = 1, 4, 8
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_FILE_RIGHTS = _EXECUTE | 2 | _READ_FILE | 1 << 14 | 1 << 15
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights that Landlock knows, from each version on."""
_SCOPES = 0b11
"""Abstract sockets and signals, which stay inside from version 6 on."""

_libc = ctypes.CDLL(None, use_errno=True)


class Ended(NamedTuple):
    """How a command ended: what is read of the result of a sandbox."""

    exit_code: int
    """Its exit status; minus the number of the signal that killed it."""
    text: str
    """What it printed."""
    timed_out: bool
    """Whether it was killed for taking too long."""
    seconds: float
    """Wall time that it took."""
    flooded: bool = False
    """Whether it printed more than it may."""
    truncated: int = 0
    """Bytes of the output that are left out: none."""


class Confinement:
    """Runs commands one after the other; nothing of one is left when it returns.

    Args:
        folder: Where they run; they cannot write there.
        scratch: A folder of their own.
        hidden: Folders of the root that they cannot read.
        environment: Variables that they see.

    Raises:
        OSError: Nothing keeps commands from the judge here.
    """

    def __init__(
        self, folder: Path, scratch: Path, hidden: tuple[str, ...], environment: Mapping[str, str]
    ) -> None:
        self._folder, self._scratch, self._hidden = folder, scratch, hidden
        self._environment = {**environment, "HOME": str(scratch), "TMPDIR": str(scratch)}
        self._landlock = _libc.syscall(_CREATE_RULESET, None, 0, 1)
        self._other_user = _can_change_user()
        if self._landlock < 1 and not self._other_user:
            raise OSError(
                "expected to be root, or a kernel with Landlock: without either the source under "
                "test could write its own reward"
            )
        if self._other_user:
            os.chown(scratch, NOBODY, NOBODY)
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)

    def exec(
        self, command: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None
    ) -> Ended:
        """Run a command line and wait for its end, as a sandbox does.

        Args:
            command: The command line.
            timeout: Seconds after which it is killed.
            env: Variables beyond those that all commands see.
        """
        printed = self._scratch.parent / "printed"
        user = NOBODY if self._other_user else None
        start = time.monotonic()
        with printed.open("wb") as output:
            process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={**self._environment, **(env or {})},
                user=user,
                group=user,
                extra_groups=[] if self._other_user else None,
                start_new_session=True,
                preexec_fn=self._confine,
            )
            try:
                process.wait(timeout)
                late = False
            except subprocess.TimeoutExpired:
                late = True
            _kill_all(process)
        flooded = printed.stat().st_size >= LARGEST_OUTPUT
        text = printed.read_bytes().decode("utf-8", "replace")
        seconds = time.monotonic() - start
        return Ended(process.returncode or 0, text, late, seconds, flooded)

    def _confine(self) -> None:
        """Give up, between fork and exec, what the command shall not have."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_OUTPUT, LARGEST_OUTPUT))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if self._landlock < 1:
            return
        rights = _RIGHTS[max(version for version in _RIGHTS if version <= self._landlock)]
        scopes = _SCOPES if self._landlock >= 6 else 0
        attributes = (ctypes.c_uint64 * 3)(rights, 0, scopes)
        size = 24 if self._landlock >= 6 else 8
        rules = _checked(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0))
        for name in sorted(os.listdir("/")):
            if name not in self._hidden:
                _allow(rules, f"/{name}", rights & _READ)
        for path in ("/dev", str(self._scratch)):
            _allow(rules, path, rights)
        _checked(_libc.syscall(_RESTRICT, rules, 0))
        os.close(rules)


class _Below(ctypes.Structure):
    """What a rule allows below a path."""

    _pack_, _layout_ = 1, "ms"  # without gaps, which Python 3.19 will want said by both
    _fields_ = (("rights", ctypes.c_uint64), ("path", ctypes.c_int32))


def _allow(rules: int, path: str, rights: int) -> None:
    """Allow something below a path."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rights &= -1 if os.path.isdir(path) else _FILE_RIGHTS
    below = _Below(rights, place)
    try:
        _checked(_libc.syscall(_ADD_RULE, rules, 1, ctypes.byref(below), 0))
    finally:
        os.close(place)


def _checked(result: int) -> int:
    """Raise what a system call failed with."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result


def _can_change_user() -> bool:
    """Return whether this process can start one of another user; some boxes only say so."""
    if os.geteuid() != 0:
        return False
    child = os.fork()
    if not child:
        with suppress(OSError):
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(os.getuid() != NOBODY)
        os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and everything that it started: orphans become children of this process."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while children := _children():
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def _children() -> list[int]:
    """Return the children of this process."""
    pid, children = str(os.getpid()), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            words = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            if words[1] == pid:
                children.append(int(folder.name))
    return children
