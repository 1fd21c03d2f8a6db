"""What is particular to sandboxes of namespaces: how they start and end, and what stops them."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import agentgym
from agentgym.errors import ConfigurationError
from agentgym.sandbox import served
from agentgym.sandbox.base import SandboxConfig, SandboxDied, SandboxLimits, SandboxUnavailable
from agentgym.sandbox.namespace import cgroup, forking, probe, seccomp
from agentgym.sandbox.namespace.box import NamespaceSandbox, _open_once
from tests.processes import alive
from tests.sandbox.conftest import usable
from tests.sandbox.test_safety import eventually, running


@pytest.fixture(autouse=True)
def _can_run(request: pytest.FixtureRequest) -> None:
    if "probe" not in request.node.name:
        usable("namespace")


def process_1(box: NamespaceSandbox) -> int:
    """Return the number that process 1 of a box has on the host."""
    assert box._process is not None
    children = Path(f"/proc/{box._process.pid}/task/{box._process.pid}/children")
    return int(children.read_text().split()[0])


@pytest.mark.parametrize("overlay", [True, False])
def test_a_tree_is_laid_under_or_copied(tree: Path, overlay: bool) -> None:
    limits = SandboxLimits(disk=1 << 20, files=30)
    config = SandboxConfig(tree=tree, limits=limits)
    with NamespaceSandbox(config, overlay=overlay) as box:
        assert ("overlay" in box.exec("stat -f -c %T .").text) == overlay
        assert box.changes() == {}
        assert box.exec("stat -c %Y a.py").text == f"{int((tree / 'a.py').stat().st_mtime)}\n"
        assert box.exec("echo x = 2 > a.py; rm -r pkg; mkdir pkg; ls -A pkg").text == ""
        assert box.changes() == {"a.py": b"x = 2\n", "pkg/c.py": None}


def test_a_copy_may_be_larger_than_what_may_be_written(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(4 << 20))
    config = SandboxConfig(tree=tmp_path, limits=SandboxLimits(disk=1 << 20, files=30))
    with NamespaceSandbox(config, overlay=False) as box:
        assert box.exec("stat -c %s large; echo new > new; cat new").text == f"{4 << 20}\nnew\n"
        assert "No space" in box.exec("head -c 3M /dev/zero > more").text


def test_a_box_whose_process_1_is_killed_says_so_and_can_be_reset() -> None:
    with NamespaceSandbox(SandboxConfig()) as box:
        os.kill(process_1(box), signal.SIGKILL)
        with pytest.raises(SandboxDied, match="reset the sandbox"):
            box.exec("true")
        with pytest.raises(SandboxDied):
            box.exec("true")
        box.reset()
        assert box.exec("echo on").text == "on\n"


def test_a_box_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    box = NamespaceSandbox(SandboxConfig()).start()
    monkeypatch.setattr(served, "PATIENCE", 0.5)
    monkeypatch.setattr("agentgym.sandbox.namespace.box.LAST_WAIT", 0.5)
    pid = process_1(box)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(SandboxDied, match="got nothing"):
        box.exec("true", timeout=0.5)
    box.close()
    assert eventually(lambda: not alive(pid))


def test_a_fork_can_neither_use_nor_end_a_box() -> None:
    with NamespaceSandbox(SandboxConfig()) as box:
        child = os.fork()
        if not child:
            try:
                box.exec("true")
            except SandboxDied:
                box.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert box.exec("echo on").text == "on\n"


FORKING_OWNER = """
import os, sys, time
from agentgym.sandbox import SandboxConfig, open_sandbox
box = open_sandbox(SandboxConfig(), "namespace").start()
if not os.fork():
    time.sleep(600)
print("started", flush=True)
box.exec("sleep " + sys.argv[1], timeout=10000)
"""


def test_a_box_ends_with_its_owner_though_a_fork_holds_the_connection() -> None:
    marker = f"75310.{os.getpid()}"
    command = [sys.executable, "-c", FORKING_OWNER, marker]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert owner.stdout is not None
    with owner:
        try:
            assert owner.stdout.readline() == b"started\n"
            assert eventually(lambda: any(map(is_sleep, running(marker))))
            owner.kill()
            assert eventually(lambda: not any(map(is_sleep, running(marker))))
        finally:
            os.killpg(owner.pid, signal.SIGKILL)


def is_sleep(pid: str) -> bool:
    """Return whether a process is the command inside, not the owner or its fork."""
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    except OSError:
        return False


def test_many_boxes_start_and_run_at_once(tree: Path) -> None:
    texts = []

    def play(number: int) -> None:
        with NamespaceSandbox(SandboxConfig(tree=tree)) as box:
            box.exec(f"echo {number} > a.py")
            texts.append(box.exec("cat a.py").text)

    threads = [threading.Thread(target=play, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, texts)) == list(range(16))


def test_no_place_inside_leads_to_the_host(tmp_path: Path) -> None:
    visible_file, host, tree = tmp_path / "shown", tmp_path / "host", tmp_path / "tree"
    host.mkdir()
    tree.mkdir()
    visible_file.write_text("shown")
    (host / "shown").write_text("host")
    (tree / "link").symlink_to(host)
    (tmp_path / "link").symlink_to(tmp_path)  # what the tree has there leads elsewhere
    for workdir, visible in (
        (str(tmp_path), (tmp_path / "link" / "shown",)),
        ("/testbed", (Path(f"/proc/self/root{visible_file}"),)),
        (f"/proc/self/root{tmp_path}/made", ()),
    ):
        config = SandboxConfig(tree=tree, workdir=workdir, visible=visible)
        with suppress(SandboxUnavailable), NamespaceSandbox(config) as box:
            box.exec(f"echo changed > {visible_file}; echo changed > link/shown; echo > new")
        assert (visible_file.read_text(), (host / "shown").read_text()) == ("shown", "host")
        assert sorted(os.listdir(tmp_path)) == ["host", "link", "shown", "tree"]
        assert os.listdir(host) == ["shown"] and os.listdir(tree) == ["link"]


FORKS = """
import os, time
if SHARED: kept = b"x" * (100 << 20)
for _ in range(6):
    if not os.fork():
        if not SHARED: kept = b"x" * (100 << 20)
        time.sleep(3)
        os._exit(0)
for _ in range(6): os.wait()
print("lived")
"""


@pytest.mark.slow
def test_memory_is_bounded_without_a_cgroup_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup.MemoryGroup, "make", classmethod(lambda cls, limit: None))
    with NamespaceSandbox(SandboxConfig(limits=SandboxLimits(memory=256 << 20))) as box:
        for shared in (True, False):
            box.write("forks.py", FORKS.replace("SHARED", str(shared)).encode())
            result = box.exec("python3 forks.py; echo after", timeout=300)
            assert result.exhausted != shared and ("lived" in result.text) == shared
            assert result.killed or shared
        denied = "import os; os.memfd_create('x')"
        assert "not permitted" in box.exec(f'python3 -c "{denied}"').text
        assert box.exec("echo on").text == "on\n"


def test_a_command_that_a_cgroup_kills_says_so() -> None:
    limits = SandboxLimits(memory=128 << 20, disk=64 << 20)
    with NamespaceSandbox(SandboxConfig(limits=limits)) as box:
        if box._group is None:
            pytest.skip("no cgroup can be had")
        assert box.exec("python3 -c 'bytearray(300 << 20)'").exhausted
        assert not box.exec("true").exhausted


@pytest.mark.slow
def test_files_may_be_larger_than_memory_and_processes_not() -> None:
    limits = SandboxLimits(memory=128 << 20, disk=600 << 20, file_size=600 << 20)
    with NamespaceSandbox(SandboxConfig(limits=limits)) as box:
        result = box.exec("head -c 500000000 /dev/zero > big && wc -c < big", timeout=300)
        assert (result.text, result.exhausted) == ("500000000\n", False)
        hoard = "import time; kept = b'x' * (300 << 20); time.sleep(600)"
        assert box.exec(f'python3 -c "{hoard}"', timeout=300).exhausted
        assert box.exec("wc -c < big").text == "500000000\n"


def test_probe_promises_only_what_can_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    usable("namespace")
    built = NamespaceSandbox.probe.__func__  # what the machine can is known, what a box needs not
    monkeypatch.setattr(forking, "FOLDER", Path("/missing"))
    forking.forget_server()
    _open_once.cache_clear()
    assert "No module named 'fork_server'" in built(NamespaceSandbox)
    monkeypatch.undo()
    assert built(NamespaceSandbox) == ""


def test_a_fork_server_that_was_killed_is_started_again_and_boxes_go_on() -> None:
    with NamespaceSandbox(SandboxConfig()) as first:
        server = forking._servers[os.getpid()]
        server._process.kill()
        server._process.wait()
        assert first.exec("echo on").text == "on\n"
        with NamespaceSandbox(SandboxConfig()) as other_box:
            assert other_box.exec("echo on").text == "on\n"
        assert forking._servers[os.getpid()] is not server


def test_boxes_share_what_their_processes_load() -> None:
    with NamespaceSandbox(SandboxConfig()) as first, NamespaceSandbox(SandboxConfig()) as other_box:
        parents = {Path(f"/proc/{box._process.pid}/stat").read_text().split()[3]
                   for box in (first, other_box) if box._process is not None}  # fmt: skip
        assert parents == {str(forking._servers[os.getpid()]._process.pid)}


def test_a_box_that_took_a_snapshot_returns_to_it_in_a_fresh_one(tree: Path) -> None:
    with NamespaceSandbox(SandboxConfig(tree=tree)) as box:
        box.exec("echo x = 2 > a.py")
        state = box.snapshot()
        for number in range(3):
            spare = box._spare
            assert spare is not None
            fresh = spare._sandbox
            box.exec(f"echo {number} > later; touch /tmp/stray")
            box.restore(state)
            assert box._process is not None and box.changes() == {"a.py": b"x = 2\n"}
            assert box.exec("ls /tmp").text == "" and box._spare is not None
            assert eventually(lambda fresh=fresh: fresh._channel is None)  # the old one has ended
        spare, last = box._spare, box._process
    assert spare is not None and last is not None
    assert eventually(lambda: spare._sandbox._channel is None and not alive(last.pid))


def test_a_fork_has_no_use_of_a_spare_box() -> None:
    with NamespaceSandbox(SandboxConfig()) as box:
        box.snapshot()
        assert box._spare is not None
        child = os.fork()
        if not child:
            os._exit(7 if box._spare.take() is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


SERVED_OWNER = """
import os, time
from agentgym.sandbox import SandboxConfig, open_sandbox
from agentgym.sandbox.namespace import forking
box = open_sandbox(SandboxConfig(), "namespace").start()
box.snapshot()
print(forking._servers[os.getpid()]._process.pid, box._process.pid, flush=True)
time.sleep(600)
"""


def test_the_fork_server_ends_with_its_owner() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVED_OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        born = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(born) == 2
        owner.kill()
    assert eventually(lambda: not any(map(alive, born)))


FORKED_OWNER = """
import os
from agentgym.sandbox import SandboxConfig, open_sandbox
with open_sandbox(SandboxConfig(), "namespace") as box:
    child = os.fork()
    if not child:
        with open_sandbox(SandboxConfig(), "namespace") as own:
            print(own.exec("echo child").text, end="", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print(box.exec("echo parent").text, end="")
"""


def test_a_fork_opens_boxes_with_a_server_of_its_own() -> None:
    process = subprocess.run([sys.executable, "-c", FORKED_OWNER], capture_output=True, text=True)
    assert process.stdout == "child\nparent\n" and process.stderr == ""


HIDDEN = """
import ctypes, os, threading, time
os.fork()
kept = b"x" * (250 << 20)
ctypes.CDLL(None).prctl(4, 0)  # nobody may look into this process
threading.Thread(target=lambda: time.sleep(60)).start()
ctypes.CDLL(None).pthread_exit(None)  # and its first thread is gone
"""


def test_memory_cannot_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup.MemoryGroup, "make", classmethod(lambda cls, limit: None))
    with NamespaceSandbox(SandboxConfig(limits=SandboxLimits(memory=400 << 20))) as box:
        box.write("hidden.py", HIDDEN.encode())
        result = box.exec("python3 hidden.py; sleep 60", timeout=300)
        assert result.exhausted


NO_MORE = """
import os, resource, sys
from agentgym.sandbox import SandboxConfig, SandboxLost
from agentgym.sandbox.namespace.box import NamespaceSandbox
NamespaceSandbox(SandboxConfig()).start().close()
held = []
try:
    while True: held.append(os.open(os.devnull, os.O_RDONLY))
except OSError: os.close(held.pop())
try: NamespaceSandbox(SandboxConfig()).start()
except SandboxLost as error: print(error)
"""


def test_a_process_that_may_open_no_more_files_says_so() -> None:
    limit = [sys.executable, "-c", NO_MORE]
    process = subprocess.run(
        ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *limit], capture_output=True
    )
    assert b"Too many open files" in process.stdout, process.stderr


def test_doors_of_the_kernel_that_belong_to_no_namespace_are_closed() -> None:
    machine = platform.machine()
    if machine not in seccomp.ARCHITECTURES:
        pytest.skip(f"there is no filter for {machine}")
    column = seccomp.ARCHITECTURES[machine][1]
    column_numbers = (pair[column] for pair in seccomp.FORBIDDEN.values())
    numbers = sorted(number for number in column_numbers if number is not None)
    call = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    call += f"for n in {numbers}:\n  r = libc.syscall(ctypes.c_long(n), *[ctypes.c_long(-1)] * 6)\n"
    call += "  print(r, ctypes.get_errno())"
    sockets = "import socket\nfor f in (1, 2, 10, 16, 17, 29, 31, 38, 40, 44):\n  try:\n"
    sockets += "    socket.socket(f, 2 if f != 40 else 1); print('open')\n"
    sockets += "  except OSError as error: print(error.errno)\n"
    sockets += "for f in (1, 2, 10, 16, 17, 40):\n  try: socket.socketpair(f, 2); print('pair')\n"
    sockets += "  except OSError as error: print(error.errno)\n"
    sockets += "for n in (0, 4, 6, 9, 12, 15, 16):\n  try: socket.socket(16, 3, n); print('link')\n"
    sockets += "  except OSError as error: print(error.errno)\n"
    with NamespaceSandbox(SandboxConfig()) as box:
        box.write("call.py", call.encode())
        box.write("sockets.py", sockets.encode())
        assert "Seccomp:\t2" in box.exec("grep Seccomp: /proc/self/status").text
        assert set(box.exec("python3 call.py").text.splitlines()) == {"-1 1"}
        assert box.exec("python3 sockets.py").text.split() == (
            # A family that the filter lets pass says by itself that it has no pairs.
            [*["open"] * 4, *["97"] * 6, "pair", *["95"] * 3, *["97"] * 2, "link", *["93"] * 6]
        )


ON_PROCESS_1 = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    print(result if result >= 0 else -ctypes.get_errno(), end=" ")
buffer = ctypes.create_string_buffer(64)
zero = ctypes.addressof(buffer)
for pid in (1, 1 | 1 << 32, os.getpid()):
    for number in NUMBERS:
        call(number, pid, 0, zero)
for which, who in ((0, 1), (1, 0), (2, 0), (0, 0)):
    call(SETPRIORITY, which, who, 19)
for which, who in ((1, 1), (2, 0), (3, 0), (1, 0)):
    call(IOPRIO_SET, which, who, 0x6000)
for persona in (8, 0x400000, 0xFFFFFFFF, 0x40000):
    call(PERSONALITY, persona)
"""


def test_a_command_cannot_put_process_1_last() -> None:
    machine = platform.machine()
    if machine not in seccomp.ARCHITECTURES:
        pytest.skip(f"there is no filter for {machine}")
    column = seccomp.ARCHITECTURES[machine][1]
    numbers = {name: pair[column] for name, (pair, _) in seccomp.GUARDED.items()}
    program = ON_PROCESS_1.replace("NUMBERS", f"[{numbers['sched_setscheduler']}]")
    for name in ("setpriority", "ioprio_set", "personality"):
        program = program.replace(name.upper(), str(numbers[name]))
    with NamespaceSandbox(SandboxConfig()) as box:
        box.write("call.py", program.encode())
        codes = box.exec("python3 call.py").text.split()
    assert codes == ["-1", "-1", "0", *["-1"] * 3, "0", *["-1"] * 3, "0", "-1", "-1", "0", "0"]


def test_the_filter_is_one_that_the_kernel_takes() -> None:
    for machine in seccomp.ARCHITECTURES:
        code = seccomp.program(machine)
        assert len(code) % 8 == 0 and code.endswith(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
    assert seccomp.program("pdp11") == b""


def test_a_box_leaves_no_group_behind_even_if_its_owner_is_killed() -> None:
    parent = cgroup._parent()
    if parent is None:
        pytest.skip("no cgroup can be had")
    group = cgroup.MemoryGroup.make(1 << 30)
    assert group is not None and group.folder.is_dir()
    group.remove()
    assert not group.folder.exists()
    code = "from agentgym.sandbox.namespace.cgroup import MemoryGroup as G; print(G.make(1).folder)"
    leftover = Path(subprocess.check_output([sys.executable, "-c", code], text=True).strip())
    assert leftover.is_dir()
    cgroup._parent.cache_clear()
    assert cgroup._parent() == parent
    assert not leftover.exists()


def test_every_process_joins_the_group_of_its_box() -> None:
    with NamespaceSandbox(SandboxConfig()) as box:
        if box._group is None:
            pytest.skip("no cgroup can be had")
        assert "/agentgym-" in box.exec("cat /proc/self/cgroup").text


def test_what_is_visible_has_to_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="missing"):
        NamespaceSandbox(SandboxConfig(visible=(tmp_path / "missing",))).start()


@pytest.mark.parametrize("closed", ["0", "2", "0, 1, 2"])
def test_standard_streams_may_be_closed(tmp_path: Path, closed: str) -> None:
    script = f"""
import os
from agentgym.sandbox import SandboxConfig
from agentgym.sandbox.namespace.box import NamespaceSandbox
for stream in ({closed},):
    os.close(stream)
with NamespaceSandbox(SandboxConfig()) as box:
    open("told", "w").write(box.exec("cat; echo ran; echo here >&2").text)
"""
    root = str(Path(agentgym.__file__).parents[1])
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)])}
    command = [sys.executable, "-c", script]
    subprocess.run(command, cwd=tmp_path, env=paths, timeout=60, stdin=subprocess.DEVNULL)
    assert (tmp_path / "told").read_text() == "ran\nhere\n"


def test_a_place_that_cannot_be_made_is_told_with_its_reason() -> None:
    with pytest.raises(SandboxUnavailable, match="/usr/inside"):
        NamespaceSandbox(SandboxConfig(workdir="/usr/inside")).start()


def probed(monkeypatch: pytest.MonkeyPatch, error_text: str = "", **switches: str) -> str:
    """Probe a machine on which unshare fails and the kernel has these settings."""
    process = subprocess.CompletedProcess([], 1, "", f"unshare: {error_text}\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: process)
    monkeypatch.setattr(probe, "_switch", lambda name: switches.get(name.split("/")[1], ""))
    return probe.find_obstacle.__wrapped__()


def test_probe_names_the_restriction_of_apparmor(monkeypatch: pytest.MonkeyPatch) -> None:
    obstacle = probed(monkeypatch, "write failed", apparmor_restrict_unprivileged_userns="1")
    assert "write failed" in obstacle and "apparmor_restrict_unprivileged_userns=0" in obstacle


def test_probe_names_switches_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "userns_clone=1" in probed(monkeypatch, unprivileged_userns_clone="0")
    assert "max_user_namespaces=15000" in probed(monkeypatch, max_user_namespaces="0")


def test_probe_thinks_of_containers_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    obstacle = probed(monkeypatch, "Operation not permitted")
    assert "not permitted" in obstacle and "seccomp=unconfined" in obstacle and "docker" in obstacle


def test_probe_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "util-linux" in probe.find_obstacle.__wrapped__()
    monkeypatch.setattr(platform, "release", lambda: "5.4.0-90-generic")
    assert "5.4.0-90-generic" in probe.find_obstacle.__wrapped__()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "got darwin" in probe.find_obstacle.__wrapped__()
