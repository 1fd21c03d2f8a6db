"""What hostile commands try, in every back end that keeps them apart from the host."""

from __future__ import annotations

import io
import os
import resource
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.sandbox.base import ExecResult, Sandbox, SandboxDied, SandboxLimits
from agentgym.sandbox.images.store import ImageStore
from tests.sandbox.conftest import IMAGE, WITH_PYTHON, OpenBox

MEGABYTE = 1 << 20
PATIENT = 300.0
"""Seconds that a command may take which would take one on a machine that does nothing else."""


def python(box: Sandbox, program: str, **options: float) -> str:
    """Run a program inside and return what it prints."""
    box.write("/tmp/program.py", program.encode())
    return box.exec("python3 /tmp/program.py", timeout=options.get("timeout", PATIENT)).text


def denied(box: Sandbox, command: str) -> bool:
    """Return whether a command fails by itself, and neither hangs nor ends the box."""
    result = box.exec(command, timeout=PATIENT)
    assert not result.timed_out
    return result.exit_code != 0


def of_image(box: Sandbox) -> bool:
    """Return whether commands may write to the whole root, which is a layer above an image."""
    return bool(box.config.image)


def answers(box: Sandbox) -> bool:
    """Return whether the next command works."""
    return box.exec("echo on", timeout=PATIENT).text == "on\n"


def run_out(box: Sandbox, command: str, begun: int = 1) -> ExecResult:
    """Give a command that does not end less time than it takes, but enough to begin.

    Args:
        box: Where it runs.
        command: The command.
        begun: Processes that it has begun by then on a machine which is not too busy for that.
    """
    for seconds in (0.5, 3.0, 15.0):
        result = box.exec(command, timeout=seconds)
        if not result.timed_out or result.killed >= begun:
            break
    return result


def eventually(condition: Callable[[], bool]) -> bool:
    """Wait until a condition holds."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def running(marker: str) -> list[str]:
    """Return the processes of this machine with a word in their command line."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                pids.append(path.parent.name)
        except OSError:
            continue
    return pids


# What may be used up


def test_a_fork_bomb_is_bounded_and_the_next_command_works(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(processes=64))
    output = box.exec(":(){ :|:& };: ; sleep 2; echo over", timeout=20).text
    assert "fork" in output and "unavailable" in output
    assert answers(box)
    grown = "import os,time\nn=0\ntry:\n  while n<1000:\n    if not os.fork(): time.sleep(99)\n"
    grown += "    n+=1\nexcept OSError: pass\nprint(n)"
    assert 1 <= int(python(box, grown)) <= 64
    assert answers(box)


def test_threads_count_as_processes(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(processes=64))
    grown = "import threading,time\nn=0\ntry:\n  while n<1000:\n"
    grown += "    threading.Thread(target=time.sleep,args=(99,),daemon=True).start(); n+=1\n"
    grown += "except RuntimeError: pass\nprint(n)"
    assert 1 <= int(python(box, grown)) <= 64


def test_one_process_cannot_take_more_memory_than_the_limit(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(memory=256 * MEGABYTE))
    assert denied(box, "python3 -c 'b = bytearray(600 << 20); print(len(b))'")
    assert answers(box)


def test_four_processes_together_cannot_either(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(memory=256 * MEGABYTE))
    if "memory" not in box.capabilities:
        pytest.skip("nothing bounds the memory of all processes together")
    child = "import time; b = bytearray(150 << 20); time.sleep(20); print('lived', flush=True)"
    box.write("/tmp/child.py", child.encode())
    # The first that ends was killed; without a bound it would have lived.
    first = "wait -n; echo first $?; kill $(jobs -p)"
    begin = "for i in 1 2 3 4; do python3 /tmp/child.py & done; "
    text = box.exec(begin + first, timeout=PATIENT).text
    assert "lived" not in text and "first 0" not in text
    assert answers(box)


HOARD = """
import ctypes, mmap, os
try:
    open("/proc/self/oom_score_adj", "w").write("0")
except OSError:
    print("refused", flush=True)
held = []
while True:
    try:
        file = os.memfd_create("x")
        os.posix_fallocate(file, 0, 15 << 20)
    except OSError:  # then memory that belongs to no process once it is let go of
        file = mmap.mmap(-1, 64 << 20)
        for start in range(0, 64 << 20, 4096):
            file[start] = 1
        file.madvise(mmap.MADV_DONTNEED)
    held.append(file)
"""


def test_a_command_that_hoards_memory_is_killed_and_not_its_box(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(memory=256 * MEGABYTE))
    if box.isolation == "container":
        pytest.skip("the engine mounts /proc such that a command may change its score")
    box.write("/tmp/hoard.py", HOARD.encode())
    result = box.exec("python3 /tmp/hoard.py", timeout=PATIENT)
    assert "refused" in result.text and result.exit_code
    assert answers(box)


def test_a_flood_of_spinners_ends_at_the_time_out(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(processes=100))
    last = "import os\nfor call in (lambda: os.sched_setscheduler(1, os.SCHED_IDLE, "
    last += "os.sched_param(0)), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: "
    last += "os.setpriority(os.PRIO_USER, 0, 0), lambda: os.sched_setaffinity(1, {0})):\n  try:\n"
    last += "    call(); print('done', flush=True)\n  except OSError:\n    pass\n"
    box.write("/tmp/last.py", last.encode())
    # They begin together, when all are there: those that spin leave no time to start the others.
    spin = "import os\nread, write = os.pipe()\nfor _ in range(60):\n  if not os.fork():\n"
    spin += "    os.close(write)\n    os.read(read, 1)\n    while True: pass\n"
    spin += "os.close(write)\nos.wait()\n"
    box.write("/tmp/spin.py", spin.encode())
    output = box.exec("python3 /tmp/last.py", timeout=PATIENT).text
    if box.isolation != "container":
        assert output == ""
    result = run_out(box, "python3 /tmp/last.py; python3 /tmp/spin.py", 60)
    assert result.timed_out and result.killed >= 60
    assert result.text == output
    assert answers(box)


def test_the_disk_is_bounded(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(disk=16 * MEGABYTE, file_size=8 * MEGABYTE))
    if "disk" not in box.capabilities:
        pytest.skip("this back end does not bound the disk")
    result = box.exec("for i in 1 2 3 4 5 6 7 8; do head -c 7M /dev/zero > $i; done; du -sm .")
    assert "No space left" in result.text
    assert int(result.text.split()[-2]) <= 17
    assert "No space left" in box.exec("head -c 9M /dev/zero > /tmp/more").text
    with pytest.raises(OSError):
        box.write("more", b"x" * (4 * MEGABYTE))
    assert answers(box)


def test_the_size_of_one_file_is_bounded(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(file_size=MEGABYTE))
    assert denied(box, "head -c 2M /dev/zero > large")
    assert denied(box, "truncate -s 1T sparse")
    assert len(box.read("large", 4 * MEGABYTE)) <= MEGABYTE


def test_the_number_of_files_is_bounded(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(files=500))
    if "files" not in box.capabilities:
        pytest.skip("this back end does not bound the number of files")
    program = (
        "n=0\ntry:\n  while n<5000: open('f%d'%n,'w').close(); n+=1\nexcept OSError: pass\nprint(n)"
    )
    assert 1 <= int(python(box, program)) <= 600
    assert answers(box)


def test_open_files_are_bounded(open_safe: OpenBox) -> None:
    box = open_safe(limits=SandboxLimits(open_files=64))
    opened = (
        "import os\nn=0\ntry:\n  while n<5000: os.open('/dev/null',0); n+=1\nexcept OSError: pass"
    )
    assert 1 <= int(python(box, opened + "\nprint(n)")) <= 64


def test_a_gigabyte_of_output_costs_neither_side_memory(safe: Sandbox) -> None:
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = safe.exec("head -c 1G /dev/zero", timeout=PATIENT)
    assert result.flooded
    assert len(result.output) < safe.config.limits.kept_output + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before < 64 << 10
    assert answers(safe)


def test_output_without_newline_and_of_no_encoding_is_bounded_too(safe: Sandbox) -> None:
    result = safe.exec(r"head -c 3M /dev/urandom; printf '\xff\xfe'", timeout=PATIENT)
    assert result.output.endswith(b"\xff\xfe") and result.truncated > 2 * MEGABYTE
    assert result.text


def test_deep_folders_end_neither_the_box_nor_its_answers(safe: Sandbox) -> None:
    deep = "import os\nfor _ in range(3000):\n  os.mkdir('d'); os.chdir('d')"
    python(safe, deep)
    safe.exec("echo x = 2 > a.py")
    assert safe.changes()["a.py"] == b"x = 2\n"
    assert answers(safe)


def test_what_is_too_large_to_be_a_change_is_left_out(safe: Sandbox) -> None:
    safe.exec("head -c 20M /dev/zero > large; echo x = 2 > a.py")
    assert safe.changes() == {"a.py": b"x = 2\n"}


# Who outlives what


@pytest.mark.parametrize(
    "escape",
    [
        "setsid sleep {0} & sleep {0}",
        "nohup sleep {0} > /dev/null 2>&1 & sleep {0}",
        "(setsid sh -c 'sleep {0} & sleep {0} &' &) ; sleep {0}",
        "trap '' TERM INT HUP; sleep {0} & sleep {0}",
    ],
)
def test_a_time_out_ends_what_tried_to_get_away(safe: Sandbox, escape: str) -> None:
    marker = "98765.4321"
    result = run_out(safe, escape.format(marker))
    assert result.timed_out and result.killed >= 1
    survivors = safe.exec(f"cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep {marker}'")
    assert survivors.text == "0\n"


def test_a_background_job_that_holds_the_output_does_not_hold_the_turn(safe: Sandbox) -> None:
    result = safe.exec("(while true; do echo noise; sleep 0.01; done) & echo done", timeout=PATIENT)
    assert not result.timed_out and result.killed >= 1 and "done\n" in result.text


def test_process_1_cannot_be_killed(safe: Sandbox) -> None:
    safe.exec("kill -9 1; kill -TERM 1; kill -STOP 1; kill -SEGV 1; kill -INT 1; kill -9 -1")
    assert answers(safe)


@pytest.mark.parametrize("limit", ["NPROC", "NOFILE", "FSIZE"])
def test_limits_of_process_1_cost_no_more_than_the_box(safe: Sandbox, limit: str) -> None:
    program = "import resource\ntry: resource.prlimit(1, resource.RLIMIT_%s, (0, 0))\n"
    try:
        python(safe, program % limit + "except OSError: print('denied')")
        usable = answers(safe)
        safe.changes()
    except SandboxDied:
        safe.reset()
    else:
        if not usable and safe.isolation == "container":  # no filter of system calls denies it
            safe.reset()
    assert answers(safe)


def test_a_path_that_is_too_deep_is_an_error_like_any_other(safe: Sandbox) -> None:
    with pytest.raises(OSError):
        safe.write("d/" * 5000 + "x", b"")
    assert answers(safe)


def test_special_files_and_impossible_times_spoil_no_snapshot(safe: Sandbox) -> None:
    if "snapshot" not in safe.capabilities:
        pytest.skip("it takes no snapshots")
    safe.exec("mknod /tmp/device c 0 0; echo kept > /tmp/kept; mkfifo /tmp/pipe; echo x > late")
    safe.exec("touch -d @9223372036854775807 late; touch -d @-9223372036854775808 /tmp/kept")
    state = safe.snapshot()
    safe.restore(state)
    assert safe.exec("cat /tmp/kept late; test -p /tmp/pipe && echo pipe").text == "kept\nx\npipe\n"


def test_dead_processes_are_reaped(safe: Sandbox) -> None:
    # A process may go between the listing and the look at it: neither may complain.
    reaped = "[ $(grep -ls 'State:.Z' /proc/[0-9]*/status | wc -l) = 0 ]"
    few_pids = "set -- /proc/[0-9]* && [ $# -lt 10 ]"
    begin = "for i in $(seq 30); do (sleep 0 &) ; done; "
    wait = f"for i in $(seq 600); do {reaped} && {few_pids} && echo reaped && break; sleep .1; done"
    assert safe.exec(begin + wait, timeout=PATIENT).text == "reaped\n"


OWNER = """
import sys, time
from pathlib import Path
from agentgym.sandbox import SandboxConfig, open_sandbox
name, image, options = sys.argv[1], "", {}
if sys.argv[4:]:
    image, options = sys.argv[4], {"store": Path(sys.argv[5])}
box = open_sandbox(SandboxConfig(tree=Path(sys.argv[2]), image=image), name, **options).start()
print("started", flush=True)
box.exec("setsid sleep " + sys.argv[3] + " & sleep " + sys.argv[3], timeout=10000)
"""


def test_nothing_outlives_the_owner_whatever_ends_it(
    isolating: str, tree: Path, request: pytest.FixtureRequest
) -> None:
    if isolating == "remote":
        pytest.skip("its boxes belong to the server")
    marker = f"86420.{os.getpid()}"
    arguments = [isolating, str(tree), marker]
    if isolating == IMAGE:
        store: ImageStore = request.getfixturevalue("image_store")
        arguments = ["namespace", str(tree), marker, WITH_PYTHON, str(store.folder)]
    owner = subprocess.Popen([sys.executable, "-c", OWNER, *arguments], stdout=subprocess.PIPE)
    assert owner.stdout is not None
    with owner:
        assert owner.stdout.readline() == b"started\n"
        assert eventually(lambda: len(running(marker)) >= 3)
        owner.kill()
    assert eventually(lambda: not running(marker))


# What may not be seen


def test_variables_of_the_host_are_not_inside(
    open_safe: OpenBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "do-not-show")
    box = open_safe()
    output = box.exec("env; cat /proc/*/environ 2>/dev/null; cat /proc/*/cmdline").text
    assert "do-not-show" not in output and "SECRET" not in output
    names = {line.partition("=")[0] for line in box.exec("env").text.splitlines()}
    allowed = {"PATH", "HOME", "LANG", "TZ", "PWD", "SHLVL", "_", "OLDPWD", "HOSTNAME"}
    assert names <= allowed | {"PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE"}


def test_no_descriptor_is_inherited_whatever_its_number(open_safe: OpenBox) -> None:
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(300)]
    try:
        box = open_safe()
        listed = "import os\nfor n in sorted(map(int, os.listdir('/proc/self/fd'))):\n"
        listed += "  try: print(n, os.readlink(f'/proc/self/fd/{n}'))\n  except OSError: pass"
        lines = python(box, listed).splitlines()
        assert [line.split()[0] for line in lines] == ["0", "1", "2"]
        assert not any("socket" in line or "pidfd" in line for line in lines)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def test_a_terminal_a_name_and_a_loopback_of_its_own(safe: Sandbox) -> None:
    if safe.isolation == "container":
        pytest.skip("the engine gives them")
    assert safe.exec("hostname; uname -n").text == "sandbox\n" * 2
    terminal = "import pty\nraise SystemExit(pty.spawn(['tty']))"
    assert "/dev/pts/" in python(safe, terminal)
    served = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
    served += "socket.create_connection(server.getsockname()); print('reached')"
    assert python(safe, served) == "reached\n"


def test_what_tells_of_the_host_is_empty(safe: Sandbox) -> None:
    if safe.isolation == "container":
        pytest.skip("engines show it")
    for name in ("cmdline", "sys/kernel/random/boot_id"):
        assert safe.exec(f"cat /proc/{name}").output == b""


def test_nothing_in_proc_can_be_written_to(safe: Sandbox) -> None:
    if safe.isolation == "container":
        pytest.skip("the engine mounts it")
    for name in ("1/oom_score_adj", "1/comm", "self/oom_score_adj", "sys/kernel/shmmax"):
        assert denied(safe, f"echo 1000 > /proc/{name}"), name
    command = "find /proc/1 /proc/self/ /proc/sys -type f -writable 2> /dev/null"
    assert safe.exec(command, timeout=PATIENT).text == ""


def test_processes_of_the_host_are_not_inside(safe: Sandbox) -> None:
    output = safe.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo; echo $$").text
    assert str(os.getpid()) not in os.listdir("/proc") or "pytest" not in output
    assert int(output.split()[-1]) < 1000
    assert denied(safe, f"kill -0 {os.getpid()}") or os.getpid() < 1000


def test_files_of_the_host_are_not_inside(safe: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("do-not-show")
    for path in (tmp_path / "secret", f"../../../..{tmp_path}/secret", Path(__file__)):
        assert denied(safe, f"cat '{path}'")
        with pytest.raises(FileNotFoundError):
            safe.read(str(path))
    assert denied(safe, "cat /etc/shadow")
    assert denied(safe, "ls /root/* /home/agent/../*/.ssh")


def test_links_lead_nowhere_outside(safe: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do-not-show")
    safe.exec(f"ln -s {secret} soft; ln -s / root; ln {secret} hard; ln /etc/passwd hard2")
    for path in ("soft", f"root{secret}", "hard"):
        with pytest.raises(FileNotFoundError):
            safe.read(path)
    assert set(safe.changes()) <= {"hard2"}
    with pytest.raises((OSError, AgentGymError)):
        safe.write("soft", b"overwritten")
    assert secret.read_text() == "do-not-show"


def test_hidden_places_are_empty_although_what_holds_them_is_visible(
    isolating: str, open_safe: OpenBox, tmp_path: Path
) -> None:
    if isolating == IMAGE:
        with pytest.raises(ConfigurationError, match="nothing of the host"):
            open_safe(visible=(tmp_path,))
        return
    visible_folder = tmp_path / "shown"
    (visible_folder / "private").mkdir(parents=True)
    (visible_folder / "private" / "solution.py").write_text("gold")
    (visible_folder / "file.py").write_text("gold")
    (visible_folder / "public.py").write_text("public")
    hidden = (visible_folder / "private", visible_folder / "file.py", visible_folder / "missing")
    box = open_safe(visible=(visible_folder,), hidden=hidden)
    assert box.exec(f"cat {visible_folder}/public.py").text == "public"
    assert box.exec(f"ls -A {visible_folder}/private; cat {visible_folder}/file.py").text == ""
    assert denied(box, f"echo 1 > {visible_folder}/public.py")
    assert denied(box, f"rm -rf {visible_folder}/public.py {visible_folder}/private")
    assert denied(box, f"umount {visible_folder}/private")
    assert (visible_folder / "public.py").read_text() == "public"


def test_the_packages_of_the_host_are_not_inside(safe: Sandbox) -> None:
    assert denied(safe, "python3 -c 'import agentgym'")
    assert denied(safe, "python3 -c 'import gymnasium'")


def test_process_1_shows_nothing_of_itself(safe: Sandbox) -> None:
    for name in ("environ", "maps", "mem", "root/etc/passwd", "cwd/a.py", "fd/0", "fd/3", "exe"):
        assert denied(safe, f"head -c 1 /proc/1/{name}"), name
    for path in ("/proc/1/environ", "/proc/self/environ", "/proc/self/maps", "/proc/self/mem"):
        with pytest.raises(FileNotFoundError):
            safe.read(path)
    trace = "import ctypes\nlibc = ctypes.CDLL(None)\n"
    trace += "print([libc.ptrace(n, 1, 0, 0) for n in (16, 0x4206)])"
    assert python(safe, trace) == "[-1, -1]\n"


def test_two_boxes_do_not_meet(open_safe: OpenBox, tree: Path) -> None:
    limits = SandboxLimits(processes=80)
    first, other_box = open_safe(tree=tree, limits=limits), open_safe(tree=tree, limits=limits)
    first.exec("echo secret > /tmp/meeting; echo secret > meeting; echo secret > /dev/shm/meeting")
    assert denied(other_box, "cat /tmp/meeting || cat meeting || cat /dev/shm/meeting")
    command = "for i in $(seq 60); do sleep 2 & done; ls -d /proc/[0-9]* | wc -l; wait; echo fine"
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda b=box: texts.append(b.exec(command, timeout=PATIENT).text))
        for box in (first, other_box)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [text.split()[-1] for text in texts] == ["fine", "fine"]
    assert all(int(text.split()[0]) < 80 for text in texts)


# What may not be reached or changed


@pytest.mark.parametrize("name", ["visible", "hidden"])
def test_a_path_with_two_dots_is_refused(open_safe: OpenBox, tmp_path: Path, name: str) -> None:
    (tmp_path / "shown").mkdir()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for path in (tmp_path / "shown" / ".." / "victim", Path("/..") / victim.relative_to("/")):
        with pytest.raises(ConfigurationError, match=r"without '\.\.'"):
            open_safe(**{name: (path,)})
    assert victim.read_text() == "precious"


CONNECT = """
import socket, sys
for family, address in (
    (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET6, ("2606:4700:4700::1111", 53)),
    (socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), (socket.AF_UNIX, "\\0" + sys.argv[2]),
):
    try:
        with socket.socket(family) as connection:
            connection.settimeout(5)
            connection.connect(address)
        print("connected to", address)
    except OSError as error:
        print("failed")
try:
    print("resolved", socket.getaddrinfo("example.org", 80))
except OSError:
    print("failed")
"""


def test_there_is_no_network(safe: Sandbox) -> None:
    name = f"agentgym-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind("\0" + name)
        local.listen()
        safe.write("/tmp/connect.py", CONNECT.encode())
        port = server.getsockname()[1]
        output = safe.exec(f"python3 /tmp/connect.py {port} {name}", timeout=PATIENT).text
    assert output == "failed\n" * 5


@pytest.mark.parametrize("place", ["/usr/bin", "/usr", "/etc", "/", "/lib", "/proc", "/sys"])
def test_the_system_cannot_be_written_to(safe: Sandbox, place: str) -> None:
    if of_image(safe):
        writable = place not in ("/proc", "/dev")
        assert denied(safe, f"touch {place}/new") != writable
        assert denied(safe, "touch /dev/new || touch /proc/new || touch /dev/null/new")
        safe.exec("echo x >> /etc/passwd; rm -f /usr/bin/env /bin/sh")
        safe.reset()
        assert denied(safe, f"test -e {place}/new")
        assert (
            safe.exec("grep -c x:0:0 /etc/passwd; test -e /bin/sh && echo there").text
            == "1\nthere\n"
        )
        return
    assert denied(safe, f"touch {place}/new")
    assert denied(safe, "echo x >> /etc/passwd")
    assert denied(safe, "rm -f /usr/bin/env /bin/sh")
    with pytest.raises(OSError):
        safe.write(f"{place}/new", b"")


@pytest.mark.parametrize(
    "command",
    [
        "mount -t tmpfs none /tmp",
        "mount --bind /tmp /etc",
        "mount -o remount,rw /",
        "mount -o remount,rw /usr",
        "umount /usr || umount -l /usr || umount /proc",
        "unshare -r true",
        "unshare -U true",
        "unshare -n true",
        "unshare -m true",
        "chroot / true",
        "mknod /tmp/disk b 8 0",
        "mknod /tmp/mem c 1 1",
        "mount -t proc none /tmp",
        "mount -t cgroup none /tmp || mount -t cgroup2 none /tmp",
        "hostname other",
        "nsenter -t 1 -m true",
        "echo 1 > /proc/sys/user/max_user_namespaces",
        "echo x > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "chown 1:1 a.py",
        "head -c 1 /dev/kmsg || head -c 1 /dev/mem || head -c 1 /proc/kcore",
        "ls /dev/sda || ls /dev/vda || ls /dev/nvme0n1",
        "renice -n -5 $$",
    ],
)
def test_no_privilege_is_left(safe: Sandbox, command: str) -> None:
    if of_image(safe) and command.startswith("chown"):  # it does nothing and succeeds
        assert safe.exec(f"{command} && stat -c %u:%g a.py").text == "0:0\n"
        return
    assert denied(safe, command)


def test_no_capability_is_left_and_none_comes_back(safe: Sandbox) -> None:
    show = "grep -E 'Cap|NoNewPrivs' /proc/self/status"
    fields = dict(line.split() for line in safe.exec(show).text.splitlines())
    assert fields.pop("NoNewPrivs:") == "1"
    assert {int(value, 16) for value in fields.values()} == {0}


def test_programs_that_change_the_user_do_not(safe: Sandbox) -> None:
    if of_image(safe):  # asked for another user, the kernel does nothing
        become = "import os; os.setuid(65534); os.setgid(65534); print(os.getresuid())"
        assert python(safe, become) == "(0, 0, 0)\n"
    else:
        assert denied(safe, "su nobody -s /bin/sh -c true < /dev/null")
    safe.exec("cp $(command -v id) ./id; chmod 6777 ./id")
    ids_before, ids_after = safe.exec("id -u; id -g").text, safe.exec("./id -u; ./id -g").text
    assert ids_before == ids_after


def test_system_calls_that_reach_around_are_denied(safe: Sandbox) -> None:
    calls = "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
    calls += (
        "print([libc.unshare(1 << 28), libc.setns(0, 0), libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0)"
    )
    calls += ", libc.pivot_root(b'.', b'.'), libc.sethostname(b'x', 1), libc.swapon(b'/tmp/x', 0)"
    calls += ", libc.umount2(b'/usr', 2)])\nprint(libc.setuid(12345), os.getuid())"
    first, second = python(safe, calls).splitlines()
    assert set(first.strip("[]").split(", ")) == {"-1"}
    assert second == ("0 0" if of_image(safe) else f"-1 {safe.exec('id -u').text.strip()}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("0/../../../etc/escaped", tarfile.REGTYPE),
        ("/etc/escaped", tarfile.REGTYPE),
        ("../escaped", tarfile.REGTYPE),
        ("9/escaped", tarfile.REGTYPE),
        ("0/device", tarfile.CHRTYPE),
        ("0/device", tarfile.BLKTYPE),
    ],
)
def test_a_forged_snapshot_is_refused(safe: Sandbox, name: str, kind: bytes) -> None:
    if "snapshot" not in safe.capabilities:
        pytest.skip("it takes no snapshots")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type = kind
        archive.addfile(member)
    with pytest.raises((OSError, AgentGymError)):
        safe.restore(buffer.getvalue())
    assert answers(safe)


def test_a_snapshot_writes_through_no_link_of_its_own(safe: Sandbox, tmp_path: Path) -> None:
    if "snapshot" not in safe.capabilities:
        pytest.skip("it takes no snapshots")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("0/out")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("0/out/escaped"))
    with pytest.raises((OSError, AgentGymError)):
        safe.restore(buffer.getvalue())
    assert not (tmp_path / "escaped").exists()


@pytest.mark.slow
def test_the_tree_is_the_same_after_a_hundred_episodes(safe: Sandbox, tree: Path) -> None:
    def state() -> list[tuple[str, int, int, bytes]]:
        return [
            (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns, path.read_bytes())
            for path in sorted(tree.rglob("*"))
            if path.is_file()
        ]

    state_before = state()
    for number in range(100):
        safe.exec(f"echo {number} > a.py; rm -rf pkg .git; chmod 000 b.py; touch n{number}")
        if number % 5 == 4:  # the expensive half of an episode
            safe.reset()
            assert safe.changes() == {}
    assert state() == state_before
