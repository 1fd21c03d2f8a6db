"""Find out whether this machine can make namespaces, and if not, why and the remedy."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from agentgym.support.text_lines import last_line, split_lines

OLDEST = (5, 12)
"""First version of Linux that can make mounts recursively read-only in a user namespace."""
CAP_SYS_ADMIN = 21
ELSEWHERE = "use sandbox='docker'"


@cache
def privileged() -> bool:
    """Return whether this process may mount, and can become another user for commands."""
    try:
        status = Path("/proc/self/status").read_text()
        users = Path("/proc/self/uid_map").read_text().split()
    except OSError:
        return False
    capabilities = next(line for line in split_lines(status) if line.startswith("CapEff")).split()[
        1
    ]
    # Root of a user namespace, as in a rootless container, is not root for the kernel.
    initial = users[:2] == ["0", "0"] and int(users[2]) > 1 << 16
    return os.geteuid() == 0 and initial and bool(int(capabilities, 16) >> CAP_SYS_ADMIN & 1)


def unshare() -> list[str]:
    """Return the command prefix that runs a command as process 1 of new namespaces."""
    user = [] if privileged() else ["--user", "--map-root-user"]
    kinds = ["--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup"]
    return [shutil.which("unshare") or "unshare", *user, *kinds, "--fork", "--kill-child=KILL"]


@cache
def find_obstacle() -> str:
    """Return why namespaces cannot be made here, and the remedy; empty if they can."""
    if not sys.platform.startswith("linux"):
        return f"expected Linux for sandboxes of namespaces, got {sys.platform}; {ELSEWHERE}"
    release = platform.release()
    version = tuple(int(part) for part in release.split(".")[:2] if part.isdigit())
    if version < OLDEST:
        return f"expected Linux 5.12 or newer, got {release}; {ELSEWHERE}"
    if shutil.which("unshare") is None:
        return "expected the program unshare, got none; install the package util-linux"
    return _attempt()


def _attempt() -> str:
    """Try to make the namespaces; return the system's error and the remedy, or empty."""
    command = [*unshare(), "mount", "-t", "proc", "proc", "/proc"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"expected unshare to make namespaces, got: {error}; {ELSEWHERE}"
    if not process.returncode:
        return ""
    message = last_line(process.stderr) or f"status {process.returncode}"
    return f"expected to make namespaces, got {message!r}; {_remedy()}"


def _remedy() -> str:
    """Return the remedy, from the kernel settings by which systems forbid user namespaces."""
    if _switch("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            "AppArmor forbids user namespaces to programs without a profile: run sudo sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0, or give unshare a profile, or "
            f"{ELSEWHERE}"
        )
    if _switch("kernel/unprivileged_userns_clone") == "0":
        return f"run sudo sysctl -w kernel.unprivileged_userns_clone=1, or {ELSEWHERE}"
    if _switch("user/max_user_namespaces") == "0":
        return f"run sudo sysctl -w user.max_user_namespaces=15000, or {ELSEWHERE}"
    return (
        "a container may forbid it: start it with --security-opt seccomp=unconfined --security-opt "
        f"apparmor=unconfined --security-opt systempaths=unconfined, or {ELSEWHERE}"
    )


def _switch(name: str) -> str:
    """Return the value of a kernel setting; empty if there is none."""
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
