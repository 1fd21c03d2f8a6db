"""The server inside, as far as it can be looked at from outside."""

from __future__ import annotations

import ast
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.sandbox import pid1
from agentgym.sandbox.channel import Channel, SocketStream, unpacked
from agentgym.sandbox.pid1 import Output

PATH = os.environ.get("PATH", "/usr/bin:/bin")
SOURCE = Path(pid1.__file__).read_text()


def test_it_keeps_to_the_syntax_of_old_interpreters() -> None:
    ast.parse(SOURCE, feature_version=(3, 6))


def test_it_stands_alone() -> None:
    """An image holds no other file of ours, and no package."""
    imported = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        str(node.module).split(".")[0]
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names


WITHOUT_SPAWN = (
    "import os, runpy, sys; del os.posix_spawn; runpy.run_path(sys.argv.pop())['main']()"
)
"""Serves as on Python 3.6 and 3.7."""
INHERITED = """\
ls /proc/self/fd | wc -l
grep SigIgn: /proc/self/status | cut -f2
cat /proc/self/oom_score_adj; ulimit -c; pwd
[ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && cat /proc/$PPID/oom_score_adj
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux tells about processes")
@pytest.mark.parametrize("old", [False, True])
def test_what_a_command_inherits(old: bool, tmp_path: Path) -> None:
    program = ["-c", WITHOUT_SPAWN, pid1.__file__] if old else [pid1.__file__]
    near, far = socket.socketpair()
    channel = Channel(SocketStream(near))
    with far:
        server = subprocess.Popen(
            [sys.executable, "-I", "-S", *program], stdin=far.fileno(), stdout=far.fileno()
        )
    try:
        channel.call(
            "configure", workdir=str(tmp_path), places=[str(tmp_path)], environment={"PATH": PATH},
            rlimits={"CORE": 0}, memory=0, output=1 << 20, kept_output=1 << 16,
        )  # fmt: skip
        answer = channel.call("exec", command=INHERITED, timeout=60.0)
        score = Path("/proc/self/oom_score_adj").read_text().strip()
        opened, ignored, *attributes = unpacked(answer["output"]).decode().split()
        assert opened == "4"  # with that of the folder itself
        assert not int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
        assert attributes == ["1000", "0", str(tmp_path), score]  # process 1 keeps its score
        missing = channel.call("exec", command="true", timeout=60.0, cwd="missing")
        assert missing["exit_code"] == 126 and b"missing" in unpacked(missing["output"])
        long = channel.call("exec", command="x" * 300_000, timeout=60.0)
        assert long["exit_code"] == 126 and b"cannot run" in unpacked(long["output"])
    finally:
        channel.close()
        server.wait(60)


def test_it_ends_without_clients() -> None:
    command = [sys.executable, "-I", "-S", pid1.__file__]
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")


@given(st.lists(st.binary(max_size=40)), st.integers(0, 50))
def test_both_ends_of_the_output_are_kept(parts: list[bytes], limit: int) -> None:
    output, content = Output(limit), b"".join(parts)
    for part in parts:
        output.add(part)
    half = limit // 2
    assert output.total == len(content)
    if len(content) <= 2 * half:
        assert output.joined() == content and not output.left_out
    else:
        assert output.left_out == len(content) - 2 * half
        assert output.joined().startswith(content[:half])
        assert output.joined().endswith(content[len(content) - half :])
