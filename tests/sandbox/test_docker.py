"""Containers beyond the contract: images with and without Python, and what is left behind."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentgym.errors import NotSupported
from agentgym.sandbox import owners
from agentgym.sandbox.base import SandboxConfig, SandboxDied, SandboxLimits, SandboxUnavailable
from agentgym.sandbox.docker import orphans
from agentgym.sandbox.docker.container import DockerSandbox
from agentgym.sandbox.docker.engine import DockerEngine, find_engine, probe_engine
from agentgym.sandbox.registry import open_sandbox
from tests.sandbox.conftest import usable
from tests.sandbox.images import import_image

REPOSITORY = {
    "testbed/a.py": b"x = 1\n", "testbed/pkg/c.py": b"z = 1\n", "testbed/.git/HEAD": b"ref\n",
    "testbed/run.sh": b"echo ran\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine() -> DockerEngine:
    usable("docker")
    return find_engine()


@pytest.fixture(scope="module", params=[True, False], ids=["python", "no-python"])
def image(engine: DockerEngine, request: pytest.FixtureRequest) -> Iterator[str]:
    """An image that holds a repository, with and without a Python."""
    name = f"agentgym-test/{'with' if request.param else 'without'}:{uuid.uuid4().hex[:12]}"
    yield import_image(engine, name, REPOSITORY, python=request.param, changes=["ENV SET=yes"])
    engine.api.remove_image(name, force=True)


@pytest.fixture
def open_image(image: str) -> Iterator[Callable[..., DockerSandbox]]:
    """Open a box of the image."""
    boxes: list[DockerSandbox] = []

    def open_one(**config: object) -> DockerSandbox:
        sandbox = open_sandbox(SandboxConfig(image=image, **config), "docker")  # type: ignore[arg-type]
        assert isinstance(sandbox, DockerSandbox)
        boxes.append(sandbox)
        return sandbox.start()

    yield open_one
    for box in boxes:
        box.close()


@pytest.fixture
def box(open_image: Callable[..., DockerSandbox]) -> DockerSandbox:
    """A box of the image."""
    return open_image()


def containers(engine: DockerEngine) -> set[str]:
    """Return the containers of this process."""
    filters = {"label": f"{orphans.OWNER}={owners.this_process()}"}
    return {container["Id"] for container in engine.api.containers(all=True, filters=filters)}


def eventually(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_an_image_brings_its_files_and_variables(box: DockerSandbox) -> None:
    result = box.exec("cat a.py; echo $SET $HOME $TZ; exit 3")
    assert (result.exit_code, result.text) == (3, "x = 1\nyes /root UTC\n")
    assert box.exec("cat c.py", cwd="pkg").text == "z = 1\n"
    assert box.exec("echo $A", env={"A": "1 2"}).text == "1 2\n"
    assert box.exec("echo out; echo err >&2; kill -KILL $$").text.startswith("out\nerr\n")


def test_files_of_an_image_are_read_and_written(box: DockerSandbox) -> None:
    assert box.read("a.py", 3) == b"x ="
    box.write("new/er/file", b"\x00\xff", 0o755)
    assert box.read("/testbed/new/er/file") == b"\x00\xff"
    assert box.exec("ls -l new/er/file").text.startswith("-rwxr-xr-x")
    box.exec("mkfifo pipe")
    for path in ("missing", "pkg", "pipe"):
        with pytest.raises(FileNotFoundError):
            box.read(path)


def test_changes_to_an_image_are_found(box: DockerSandbox) -> None:
    assert box.changes() == {}
    box.exec("echo x = 2 > a.py; rm -r pkg; mkdir new; echo n > new/n; echo r > .git/HEAD")
    box.exec("ln -s /etc/passwd link; mkdir empty; echo elsewhere > /tmp/file")
    assert box.changes() == {"a.py": b"x = 2\n", "new/n": b"n\n", "pkg/c.py": None}
    box.reset()
    assert box.changes() == {} and box.exec("cat a.py; ls /tmp").text == "x = 1\n"


def test_a_tree_takes_the_place_of_what_the_image_holds(
    open_image: Callable[..., DockerSandbox], tree: Path
) -> None:
    box = open_image(tree=tree)
    assert box.exec("ls; ./run.sh").text == "a.py\nb.py\nlink.py\npkg\nrun.sh\nran\n"
    assert box.changes() == {}
    box.exec("echo x = 2 > a.py; rm b.py; rm pkg/c.py; echo n > n")
    assert box.changes() == {"a.py": b"x = 2\n", "b.py": None, "n": b"n\n", "pkg/c.py": None}
    assert (tree / "a.py").read_text() == "x = 1\n"


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(box: DockerSandbox) -> None:
    begin = time.monotonic()
    result = box.exec("sleep 4321 & (sleep 4321 &) ; echo before; sleep 4321", timeout=1.0)
    assert result.timed_out and result.exit_code < 0 and result.text == "before\n"
    assert time.monotonic() - begin < 60
    assert "4321" not in box.exec("cat /proc/[0-9]*/cmdline").text


def test_a_background_job_does_not_hold_the_turn(box: DockerSandbox) -> None:
    result = box.exec("sleep 4321 & echo done", timeout=300.0)
    assert (result.text, result.exit_code, result.timed_out) == ("done\n", 0, False)
    assert "4321" not in box.exec("cat /proc/[0-9]*/cmdline").text


def test_output_is_bounded(open_image: Callable[..., DockerSandbox]) -> None:
    box = open_image(limits=SandboxLimits(output=1 << 20, kept_output=1000))
    flooded = box.exec("yes")
    assert flooded.flooded and flooded.truncated > 1 << 19 and len(flooded.output) < 1100
    result = box.exec("seq 10000")
    lines = result.text.splitlines()
    assert (lines[0], lines[-1], result.flooded) == ("1", "10000", False)


def test_a_fork_bomb_is_contained(open_image: Callable[..., DockerSandbox]) -> None:
    box = open_image(limits=SandboxLimits(processes=40))
    box.exec("f() { f | f & }; f; sleep 3", timeout=10.0)
    try:
        assert box.exec("echo alive").text == "alive\n"
    except SandboxDied:
        assert "snapshot" not in box.capabilities  # without a server, process 1 may starve
        box.reset()
        assert box.exec("echo alive").text == "alive\n"


def test_capabilities_say_what_an_image_does_not_get(box: DockerSandbox, image: str) -> None:
    assert {"network", "memory", "processes"} <= box.capabilities
    assert not {"disk", "files"} & box.capabilities
    assert ("snapshot" in box.capabilities) == ("/with:" in image)


def test_a_snapshot_holds_all_changes_or_is_refused(box: DockerSandbox) -> None:
    if "snapshot" not in box.capabilities:
        with pytest.raises(NotSupported, match="python3"):
            box.snapshot()
        return
    box.exec("echo x = 2 > a.py; rm -r pkg; echo 1 > /tmp/file; echo 2 > $HOME/file")
    state = box.snapshot()
    box.reset()
    box.restore(state)
    assert box.exec("cat a.py /tmp/file $HOME/file").text == "x = 2\n1\n2\n"
    assert box.changes() == {"a.py": b"x = 2\n", "pkg/c.py": None}
    box.exec("echo 3 > /etc/elsewhere")
    with pytest.raises(NotSupported, match="/etc/elsewhere"):
        box.snapshot()


def test_an_image_without_python_is_named_once(
    open_image: Callable[..., DockerSandbox], image: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "agentgym.sandbox.docker.container"):
        box = open_image()
        box.reset()
    assert len(caplog.records) <= 1  # none if an earlier test has opened it
    assert all("python3" in record.message and image in record.message for record in caplog.records)


def test_an_image_whose_python_is_unfit_is_treated_as_without(
    engine: DockerEngine, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"agentgym-test/unfit:{uuid.uuid4().hex[:12]}"
    broken = b"#!/bin/sh\necho no such module >&2\nexit 1\n"
    import_image(engine, name, {**REPOSITORY, "usr/bin/python3": broken}, python=False)
    try:
        with open_sandbox(SandboxConfig(image=name), "docker") as box:
            assert box.exec("cat a.py").text == "x = 1\n"
            assert "snapshot" not in box.capabilities
    finally:
        engine.api.remove_image(name, force=True)
    assert "no such module" in caplog.text


def test_an_image_without_a_shell_is_an_error(engine: DockerEngine) -> None:
    name = f"agentgym-test/bare:{uuid.uuid4().hex[:12]}"
    engine.api.import_image_from_data(_bare(), repository=name.split(":")[0], tag=name[-12:])
    try:
        with pytest.raises(SandboxUnavailable, match="/bin/sh"):
            open_sandbox(SandboxConfig(image=name), "docker").start()
    finally:
        engine.api.remove_image(name, force=True)


def _bare() -> bytes:
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("file"))
    return buffer.getvalue()


def test_nothing_is_left_after_resets_and_the_end(engine: DockerEngine, tree: Path) -> None:
    containers_before = containers(engine)
    with open_sandbox(SandboxConfig(tree=tree), "docker") as box:
        for _ in range(10):
            box.exec("setsid sleep 1000 & echo x > new")
            box.reset()
        assert len(containers(engine) - containers_before) == 1
    assert containers(engine) == containers_before


def test_a_box_that_was_dropped_ends(engine: DockerEngine) -> None:
    containers_before = containers(engine)
    box = open_sandbox(SandboxConfig(), "docker").start()
    [container] = containers(engine) - containers_before
    engine.api.kill(container)
    with pytest.raises(SandboxDied):
        box.exec("true")
    box.reset()
    assert box.exec("echo on").text == "on\n"
    del box
    assert eventually(lambda: containers(engine) == containers_before)


OWNER = """
import time
from agentgym.sandbox import SandboxConfig, open_sandbox
from agentgym.sandbox import owners
box = open_sandbox(SandboxConfig(), "docker").start()
print(owners.this_process(), flush=True)
time.sleep(1000)
"""


def test_a_container_ends_with_a_client_that_is_killed(engine: DockerEngine) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    with owner:
        name = owner.stdout.readline().strip()
        filters = {"label": f"{orphans.OWNER}={name}"}
        assert len(engine.api.containers(all=True, filters=filters)) == 1
        owner.kill()
    assert eventually(lambda: not engine.api.containers(all=True, filters=filters))
    assert owners.is_gone(name)


def test_the_sweep_takes_the_containers_of_the_dead_alone(engine: DockerEngine) -> None:
    own_process, elsewhere = owners.this_process(), "another-boot/1/1/1"
    dead = "/".join([*own_process.split("/")[:2], str(os.getpid()), "1"])
    with open_sandbox(SandboxConfig(), "docker") as box:
        [running] = containers(engine)
        ids = {}
        image = engine.api.inspect_container(running)["Image"]
        for owner in (dead, elsewhere):
            config = {"labels": {orphans.OWNER: owner}}
            ids[owner] = engine.api.create_container(image, ["/bin/sleep", "9"], **config)["Id"]
        try:
            # Tests that run beside this one may leave containers of dead owners too.
            assert {running, *ids.values()} & set(orphans.sweep(engine)) == {ids[dead]}
            assert not {running, *ids.values()} & set(orphans.sweep(engine))
            assert box.exec("echo on").text == "on\n"
        finally:
            for container in ids.values():
                orphans.remove(engine, container)


@pytest.mark.parametrize(
    ("address", "remedy"),
    [
        ("unix:///nowhere/docker.sock", "DOCKER_HOST"),
        ("tcp://127.0.0.1:9", "start the engine"),
    ],
)
def test_an_engine_that_does_not_answer_says_why(address: str, remedy: str) -> None:
    reason = probe_engine(address)
    assert address in reason and remedy in reason
    with pytest.raises(SandboxUnavailable):
        open_sandbox(SandboxConfig(), "docker", engine=address)


def test_where_there_is_no_socket_the_places_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr("agentgym.sandbox.docker.engine.PLACES", ("/nowhere/docker.sock",))
    reason = DockerSandbox.probe()
    assert "/nowhere/docker.sock" in reason and "apt-get install docker.io" in reason


def test_a_fork_lets_the_container_of_its_parent_live(engine: DockerEngine) -> None:
    with open_sandbox(SandboxConfig(), "docker") as box:
        child = os.fork()
        if not child:
            code = 1
            try:
                box.exec("true")
            except SandboxDied:
                box.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert box.exec("echo on").text == "on\n"
