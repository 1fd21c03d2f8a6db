"""Further folders that commands can write to, and commands that are interrupted."""

from __future__ import annotations

import threading
import time

import pytest

from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import SandboxConfig
from agentgym.sandbox.namespace import NamespaceSandbox
from agentgym.sandbox.remote.messages import read_config, write_config

needs_box = pytest.mark.skipif(bool(NamespaceSandbox.probe()), reason=NamespaceSandbox.probe())
CONFIG = SandboxConfig(writable=("/logs", "/srv/data"))


@needs_box
def test_commands_write_to_further_folders_that_snapshots_hold() -> None:
    with NamespaceSandbox(CONFIG) as box:
        assert box.exec("echo 1 > /logs/a; echo 2 > /srv/data/b; touch /srv/c").exit_code
        assert box.exec("cat /logs/a /srv/data/b").text == "1\n2\n"
        state = box.snapshot()
        box.exec("rm /logs/a")
        box.restore(state)
        assert box.exec("cat /logs/a").text == "1\n"
        box.reset()
        assert box.exec("ls /logs /srv/data").text.split() == ["/logs:", "/srv/data:"]


@needs_box
def test_a_command_is_interrupted_and_files_stay() -> None:
    with NamespaceSandbox(CONFIG) as box:
        results = []
        command = "echo begun > /logs/a; (setsid sleep 600 &) ; sleep 600"
        thread = threading.Thread(target=lambda: results.append(box.exec(command, timeout=600)))
        thread.start()
        end = time.monotonic() + 60
        while thread.is_alive() and time.monotonic() < end:
            time.sleep(0.2)
            box.interrupt()
        thread.join(1)
        assert results and results[0].exit_code == -9 and not results[0].timed_out
        assert box.exec("cat /logs/a").text == "begun\n"
        box.interrupt()
        assert box.exec("echo on").text == "on\n"


def test_further_folders_reach_a_server() -> None:
    assert read_config(write_config(CONFIG, ""), None).writable == CONFIG.writable


@pytest.mark.parametrize("place", ["logs", "/a/../b", "/a\0"])
def test_relative_places_are_refused(place: str) -> None:
    with pytest.raises(ConfigurationError, match="writable"):
        SandboxConfig(writable=(place,))
