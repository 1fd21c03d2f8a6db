"""What is particular to commands without isolation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.sandbox import Sandbox, SandboxConfig, SandboxLimits, open_sandbox
from tests.sandbox.test_safety import eventually, running


@pytest.fixture
def plain_box(tree: Path) -> Sandbox:
    with pytest.warns(RuntimeWarning, match="without any isolation"):
        return open_sandbox(SandboxConfig(tree=tree, trusted=True), "subprocess")


def test_its_folders_are_gone_when_it_is_closed(plain_box: Sandbox) -> None:
    with plain_box:
        folder = Path(plain_box.exec("pwd").text.strip()).parent
        assert plain_box.exec("echo 1 > $TMPDIR/file; ls $TMPDIR").text == "file\n"
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.slow
def test_a_command_in_another_session_is_killed_too(plain_box: Sandbox) -> None:
    marker = "64208.1357"
    with plain_box:
        result = plain_box.exec(f"setsid sleep {marker} & sleep {marker}", timeout=2)
        assert result.timed_out and result.killed >= 1
        assert eventually(lambda: not running(marker))


def test_programs_that_change_the_user_do_not(plain_box: Sandbox) -> None:
    with plain_box:
        assert "NoNewPrivs:\t1" in plain_box.exec("grep NoNewPrivs /proc/self/status").text


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only")
def test_what_does_not_fit_into_memory_is_an_error() -> None:
    """The server is bound by the limits of commands, which inherit them from it."""
    config = SandboxConfig(trusted=True, limits=SandboxLimits(memory=96 << 20))
    with pytest.warns(RuntimeWarning), open_sandbox(config, "subprocess") as box:
        box.exec("head -c 60M /dev/zero > large")
        with pytest.raises(FileNotFoundError, match="MemoryError"):
            box.read("large", 60 << 20)
        assert box.exec("echo on").text == "on\n"


def test_the_folders_of_a_killed_owner_are_removed_at_the_next_start(plain_box: Sandbox) -> None:
    code = (
        "import os, signal; from agentgym.sandbox import *\n"
        "box = open_sandbox(SandboxConfig(trusted=True), 'subprocess').start()\n"
        "print(box.exec('pwd').text, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True
    )
    folder = Path(process.stdout.strip()).parent
    assert folder.is_dir()
    with plain_box:
        assert not folder.exists()


def test_an_unclosed_box_is_closed_at_exit(tmp_path: Path) -> None:
    code = (
        "from agentgym.sandbox import *\n"
        "box = open_sandbox(SandboxConfig(trusted=True), 'subprocess').start()\n"
        "print(box.exec('pwd').text)"
    )
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True
    )
    assert process.returncode == 0
    assert not Path(process.stdout.strip()).parent.exists()
