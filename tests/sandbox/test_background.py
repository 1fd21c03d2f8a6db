"""Sandboxes whose processes live between commands, as services do in containers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from agentgym.errors import NotSupported
from agentgym.sandbox import SandboxConfig, SandboxLimits
from agentgym.sandbox.base import Sandbox
from agentgym.sandbox.namespace import NamespaceSandbox, cgroup
from tests.sandbox.conftest import OpenBox, usable

TICK = """python3 -c "
import time
while True:
    open('ticks', 'w').write(str(time.time_ns()))
    time.sleep(0.02)
" """
"""A service that starts no processes."""
PRINT = """python3 -u -c "
import time
for n in range(1, 7):
    time.sleep(0.1)
    print(n)
    open('last', 'w').write(str(n))
" &"""


@pytest.fixture
def box(open_box: OpenBox) -> Sandbox:
    return open_box(background=True)


def ticks(box: Sandbox) -> bool:
    """Return whether the service runs; a busy machine may let it wait for seconds."""
    text_before = box.exec("cat ticks").text
    return any(box.exec("sleep 0.1; cat ticks").text != text_before for _ in range(100))


@pytest.mark.parametrize("ending", ["&", "> log 2>&1 &", "& disown; exit 3"])
def test_what_a_command_leaves_behind_goes_on(box: Sandbox, ending: str) -> None:
    started = box.exec(f"({TICK}) {ending}", timeout=60)
    assert (started.timed_out, started.killed) == (False, 0) and started.running > 0
    assert started.exit_code == (3 if "exit" in ending else 0)
    assert ticks(box) and ticks(box)
    box.write("other", b"x")
    assert box.read("other") == b"x" and ticks(box)


def test_services_end_with_a_reset(box: Sandbox) -> None:
    box.exec(f"({TICK}) &")
    box.reset()
    assert box.exec("ls").text == "" and box.exec("true").running == 0


def test_a_command_that_takes_too_long_is_killed_alone(box: Sandbox) -> None:
    box.exec(f"({TICK}) &")
    late = box.exec("sleep 1000 & echo begun; sleep 1000", timeout=0.5)
    assert late.timed_out and late.text == "begun\n" and late.exit_code == -9 and late.killed >= 1
    assert ticks(box)
    assert box.exec("echo on").text == "on\n"


def test_output_of_services_is_not_shown_and_does_not_block(box: Sandbox) -> None:
    box.exec("(while :; do printf '%1000s' x; done) &")
    assert [box.exec("sleep 0.1; echo on").text for _ in range(3)] == ["on\n"] * 3
    box.exec(PRINT)
    for _ in range(100):
        if box.exec("sleep 0.1; cat last").text == "6":  # no broken pipe ended it
            return
    pytest.fail("the service died of what it printed")


def test_a_snapshot_that_would_lose_services_is_refused(box: Sandbox) -> None:
    box.exec("echo kept > file; sleep 1000 & echo $! > service")
    with pytest.raises(NotSupported, match="in the background"):
        box.snapshot()
    box.exec("kill $(cat service)")  # by number: a box that isolates nothing sees the machine's
    assert eventually(lambda: box.exec("true").running == 0)
    state = box.snapshot()
    box.exec("rm file")
    box.restore(state)
    assert box.exec("cat file").text == "kept\n"


def test_a_service_answers_over_the_loopback(box: Sandbox) -> None:
    box.write("page", b"hello")
    box.exec("nohup python3 -m http.server 8907 --bind 127.0.0.1 > log 2>&1 &")
    ask = (
        "import time, urllib.request as u\n"
        "for n in range(200):\n"
        "    try: print(u.urlopen('http://127.0.0.1:8907/page').read().decode()); break\n"
        "    except OSError: time.sleep(0.05)\n"
    )
    box.write("ask.py", ask.encode())
    assert box.exec("python3 ask.py").text == "hello\n"


def eventually(condition: Callable[[], bool]) -> bool:
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_an_interrupt_spares_services() -> None:
    usable("namespace")
    with NamespaceSandbox(SandboxConfig(background=True)) as box:
        box.exec(f"({TICK}) &")
        box.interrupt()  # with nothing to interrupt
        results = []
        thread = threading.Thread(target=lambda: results.append(box.exec("sleep 600")))
        thread.start()
        while thread.is_alive():
            box.interrupt()
            thread.join(0.1)
        assert results[0].exit_code == -9 and not results[0].timed_out
        assert ticks(box)


def test_services_that_hoard_memory_end_between_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    usable("namespace")
    monkeypatch.setattr(cgroup.MemoryGroup, "make", classmethod(lambda cls, limit: None))
    config = SandboxConfig(background=True, limits=SandboxLimits(memory=256 << 20))
    hoard = "import time; time.sleep(0.5); kept = b'x' * (100 << 20); time.sleep(600)"
    with NamespaceSandbox(config) as box:
        for _ in range(4):
            box.exec(f'python3 -c "{hoard}" > log 2>&1 &')
        time.sleep(0.5)
        assert eventually(lambda: box.exec("true").running < 4)
        assert box.exec("echo on").text == "on\n"


def test_a_fork_bomb_takes_services_with_it_at_worst() -> None:
    usable("namespace")
    limits = SandboxLimits(processes=60)
    with NamespaceSandbox(SandboxConfig(background=True, limits=limits)) as box:
        box.exec(f"({TICK}) &")
        box.exec("bomb() { bomb | bomb & }; bomb; sleep 600", timeout=1)
        assert box.exec("echo on").text == "on\n"
