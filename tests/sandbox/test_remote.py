"""Remote sandboxes beyond the contract: who may ask, what breaks, and what a server holds."""

from __future__ import annotations

import http.client
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agentgym.errors import ConfigurationError, DataError
from agentgym.sandbox.archives import pack_tree, unpack_tree
from agentgym.sandbox.base import (
    ExecResult,
    Sandbox,
    SandboxConfig,
    SandboxDied,
    SandboxLimits,
    SandboxLost,
    SandboxUnavailable,
)
from agentgym.sandbox.registry import open_sandbox, probe
from agentgym.sandbox.remote import client
from agentgym.sandbox.remote.client import RemoteSandbox
from agentgym.sandbox.remote.leased_boxes import LeaseBounds, LeasedBoxes
from agentgym.sandbox.remote.leases import Renewals
from agentgym.sandbox.remote.messages import TOKEN as TOKEN_VARIABLE
from agentgym.sandbox.remote.messages import decode, encode, read_config, write_config
from agentgym.sandbox.remote.server import check_backend, make_app, serve
from agentgym.support.http_client import Reply, Unanswered
from tests.sandbox.prepared import TOKEN, served


class Counting(Sandbox):
    """Pretends to run commands, and counts them."""

    isolation = "container"
    instances: ClassVar[list[Counting]] = []

    def __init__(self, config: SandboxConfig) -> None:
        super().__init__(config)
        self.ran: list[str] = []
        self.closed = False
        self.proceed = threading.Event()
        Counting.instances.append(self)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"network"})

    def start(self) -> Counting:
        return self

    def exec(self, command: str, **options: Any) -> ExecResult:
        self.ran.append(command)
        if command == "wait":
            assert self.proceed.wait(30)
        if command == "die":
            raise SandboxDied("expected it to live, but it died")
        if command == "break":
            raise KeyError("a fault of the back end")
        return ExecResult(0, command.encode(), 0, False, False, 0, 0.1)

    def read(self, path: str, max_bytes: int = 1 << 20) -> bytes:
        raise FileNotFoundError(path)

    def write(self, path: str, content: bytes, mode: int = 0o644) -> None:
        raise OSError(28, "No space left on device")

    def changes(self) -> dict[str, bytes | None]:
        return {"a": b"1\x00", "gone": None, "empty": b"", "z": b"26"}

    def reset(self) -> None:
        self.ran.clear()

    def snapshot(self) -> bytes:
        return b"state"

    def restore(self, state: bytes) -> None:
        self.ran.append(f"restore {state!r}")

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers make boxes that only count."""
    Counting.instances.clear()
    monkeypatch.setattr("tests.sandbox.prepared.open_sandbox", lambda config, _: Counting(config))
    monkeypatch.setattr(client, "PAUSE", 0.01)


@pytest.fixture
def server() -> Iterator[tuple[str, LeasedBoxes]]:
    with served(max_boxes=3) as (url, boxes):
        yield url, boxes


@pytest.fixture
def box(server: tuple[str, LeasedBoxes]) -> Iterator[RemoteSandbox]:
    with open_remote(server[0]) as sandbox:
        yield sandbox


def open_remote(url: str, **options: Any) -> RemoteSandbox:
    sandbox = open_sandbox(SandboxConfig(), "remote", **{"url": url, "token": TOKEN, **options})
    assert isinstance(sandbox, RemoteSandbox)
    return sandbox


def post(url: str, path: str, body: bytes, token: str = TOKEN) -> tuple[int, bytes]:
    link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        link.request("POST", path, body, {"Authorization": f"Bearer {token}"})
        response = link.getresponse()
        return response.status, response.read()
    finally:
        link.close()


def eventually(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def broken_after(real: Any, breaks: Sequence[int]) -> Any:
    """Return what sends a request, and loses some of the answers."""
    count = iter(range(1_000_000))

    def send(*arguments: Any) -> Reply:
        reply: Reply = real(*arguments)
        if next(count) in breaks:
            raise Unanswered("the connection broke")
        return reply

    return send


@pytest.mark.parametrize("path", ["/boxes", "/trees", "/leases", f"/boxes/{'a' * 32}/exec"])
@pytest.mark.parametrize("token", ["", "another", TOKEN[:-1], TOKEN + "x", "\u00e4"])
def test_requests_without_the_token_are_refused(
    server: tuple[str, LeasedBoxes], path: str, token: str
) -> None:
    status, body = post(server[0], path, encode({}), token)
    assert status == 401 and b"token" in body and not Counting.instances


def test_a_client_with_a_wrong_token_or_none_is_told(
    server: tuple[str, LeasedBoxes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SandboxUnavailable, match=r"401.*AGENTGYM_SANDBOX_TOKEN"):
        open_remote(server[0], token="x" * 20).start()
    for variable in ("AGENTGYM_SANDBOX_URL", TOKEN_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match="no token"):
        open_sandbox(SandboxConfig(), "remote", url=server[0])
    with pytest.raises(ConfigurationError, match="no address"):
        open_sandbox(SandboxConfig(), "remote")
    assert "no address" in probe("remote")
    monkeypatch.setenv("AGENTGYM_SANDBOX_URL", server[0])
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    assert probe("remote") == ""
    monkeypatch.setenv("AGENTGYM_SANDBOX_URL", "http://127.0.0.1:9")
    assert "agentgym serve sandbox" in probe("remote")


def test_every_operation_arrives(box: RemoteSandbox) -> None:
    assert box.exec("a", timeout=3, cwd="x", env={"A": "1"}) == ExecResult(
        0, b"a", 0, False, False, 0, 0.1
    )
    assert box.changes() == {"a": b"1\x00", "gone": None, "empty": b"", "z": b"26"}
    assert box.snapshot() == b"state" and box.capabilities == {"network"}
    box.restore(b"\xff")
    assert Counting.instances[0].ran == ["a", "restore b'\\xff'"]
    with pytest.raises(FileNotFoundError):
        box.read("missing")
    with pytest.raises(OSError, match="No space left") as raised:
        box.write("file", b"")
    assert raised.value.errno == 28
    with pytest.raises(SandboxDied, match="it died") as died:
        box.exec("die")
    assert not isinstance(died.value, SandboxLost)  # its commands ended it
    with pytest.raises(SandboxLost, match="KeyError"):
        box.exec("break")
    assert box.exec("b").text == "b"


@pytest.mark.parametrize("retries", [1, 3])
def test_an_answer_that_was_lost_comes_again_and_nothing_runs_twice(
    box: RemoteSandbox, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    box.retries = retries
    monkeypatch.setattr(client, "_post", broken_after(client._post, range(0, 9, 2)))
    for command in "abc":
        assert box.exec(command).text == command
    assert Counting.instances[0].ran == ["a", "b", "c"]


def test_a_command_that_still_runs_is_waited_for_and_not_started_again(
    box: RemoteSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = client._connections[("http", box.url.removeprefix("http://"))].request

    def impatient(*arguments: Any) -> Reply:
        if len(Counting.instances[0].ran) == 0:
            threading.Timer(0.5, Counting.instances[0].proceed.set).start()
            return real(*arguments[:-1], 0.1)  # gives up while the command runs
        return real(*arguments)

    monkeypatch.setattr(
        client._connections[("http", box.url.removeprefix("http://"))], "request", impatient
    )
    assert box.exec("wait").text == "wait"
    assert Counting.instances[0].ran == ["wait"]


def test_a_box_is_started_once_although_the_answer_was_lost(
    server: tuple[str, LeasedBoxes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_post", broken_after(client._post, [0]))
    with open_remote(server[0]):
        assert len(Counting.instances) == len(server[1]) == 1


def test_a_server_that_is_gone_costs_one_episode_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served() as (url, _):
        box = open_remote(url, retries=1).start()
        assert box.exec("a").text == "a"
    with pytest.raises(SandboxLost, match="2 attempts"):
        box.exec("b")
    with pytest.raises(SandboxLost, match="start or reset"):
        box.exec("c")
    with pytest.raises(SandboxUnavailable, match="agentgym serve sandbox"):
        box.reset()
    box.close()


def test_a_box_that_the_server_closed_is_made_again_by_reset(
    server: tuple[str, LeasedBoxes], box: RemoteSandbox
) -> None:
    [name] = server[1]._boxes
    server[1]._close(name, server[1]._boxes[name])
    with pytest.raises(SandboxLost, match="has closed"):
        box.exec("a")
    box.reset()
    assert box.exec("a").text == "a" and len(Counting.instances) == 2


def test_the_number_of_boxes_is_bounded(server: tuple[str, LeasedBoxes]) -> None:
    boxes = [open_remote(server[0]).start() for _ in range(3)]
    with pytest.raises(SandboxUnavailable, match=r"at most 3 .*--max-sandboxes"):
        open_remote(server[0]).start()
    boxes[0].close()
    with open_remote(server[0]) as replacement:
        assert replacement.exec("a").text == "a"
    for box in boxes:
        box.close()
    assert len(server[1]) == 0 and all(sandbox.closed for sandbox in Counting.instances)


@pytest.mark.slow
def test_boxes_of_a_client_that_fell_silent_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with served(lease=2.0) as (url, boxes), open_remote(url) as box:
        time.sleep(2.5)  # a client that lives keeps its box without asking anything of it
        assert box.exec("a").text == "a"
        box._release()  # type: ignore[misc]  # as if the client had died
        assert eventually(lambda: len(boxes) == 0 and Counting.instances[0].closed)
        with pytest.raises(SandboxDied):
            box.exec("b")


def test_a_box_that_was_dropped_is_closed() -> None:
    with served(lease=0.4) as (url, boxes):
        box = open_remote(url).start()
        assert len(boxes) == 1
        del box
        assert eventually(lambda: len(boxes) == 0)


@pytest.mark.slow
def test_a_running_command_keeps_its_box() -> None:
    with served(lease=0.3) as (url, boxes), open_remote(url) as box:
        box._release()  # type: ignore[misc]
        threading.Timer(1.5, Counting.instances[0].proceed.set).start()
        assert box.exec("wait").text == "wait"
        assert eventually(lambda: len(boxes) == 0)


def test_closing_a_busy_box_repeatedly_does_not_stop_others(
    server: tuple[str, LeasedBoxes],
) -> None:
    busy, other_box = open_remote(server[0]).start(), open_remote(server[0]).start()
    path = f"/boxes/{busy._box}/close"
    with ThreadPoolExecutor(20) as threads:
        threads.submit(busy.exec, "wait")
        assert eventually(lambda: Counting.instances[0].ran)
        for _ in range(12):
            threads.submit(post, server[0], path, encode({}))
        assert eventually(lambda: server[1]._boxes[busy._box]._end is not None)
        time.sleep(0.5)  # until all have been heard
        status, _ = post(
            server[0],
            f"/boxes/{other_box._box}/read",
            encode({"number": 1, "path": "a", "max_bytes": 1}),
        )
        Counting.instances[0].proceed.set()
    assert status == 200
    other_box.close()


def test_a_fork_leaves_the_box_of_its_parent_alone(box: RemoteSandbox) -> None:
    child = os.fork()
    if not child:
        code = 1
        try:
            box.exec("a")
        except SandboxDied:
            box.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert box.exec("b").text == "b" and Counting.instances[0].ran == ["b"]


def test_a_fork_may_come_while_leases_are_renewed() -> None:
    leases, locked, released = Renewals(lambda boxes: None), threading.Event(), threading.Event()

    def hold() -> None:
        with leases._changed:
            locked.set()
            released.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert locked.wait(20)
    child = os.fork()
    if not child:
        signal.alarm(5)  # ends a child that waits for the lock
        leases.drop("a")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    released.set()
    thread.join()
    assert status == 0


def test_a_tree_is_sent_once(server: tuple[str, LeasedBoxes], tree: Path) -> None:
    paths = []
    real = server[1].trees.add
    server[1].trees.add = lambda archive: paths.append(len(archive)) or real(archive)  # type: ignore[func-returns-value,method-assign]
    for _ in range(3):
        with open_sandbox(SandboxConfig(tree=tree), "remote", url=server[0], token=TOKEN):
            pass
    assert len(paths) == 1
    folder = Counting.instances[0].config.tree
    assert folder is not None and (folder / "pkg" / "c.py").read_text() == "z = 1\n"
    assert os.access(folder / "run.sh", os.X_OK) and os.readlink(folder / "link.py") == "a.py"
    assert {sandbox.config.tree for sandbox in Counting.instances} == {folder}


def test_unused_trees_are_evicted(
    server: tuple[str, LeasedBoxes], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.sandbox.remote.trees.MOST", 1)
    first = pack_tree(tree)
    (tree / "new").write_text("1")
    digests = [server[1].trees.add(archive) for archive in (first, pack_tree(tree))]
    assert server[1].trees.hold(digests[0]) is None
    folder = server[1].trees.hold(digests[1])
    server[1].trees.add(first)
    assert folder is not None and (folder / "new").exists()


def test_only_released_folders_are_shown(server: tuple[str, LeasedBoxes], tmp_path: Path) -> None:
    def open_with(*visible: Path) -> None:
        config = SandboxConfig(visible=visible)
        open_sandbox(config, "remote", url=server[0], token=TOKEN).start().close()

    open_with(tmp_path)
    (tmp_path / "out").symlink_to("/etc")
    for path in (Path("/etc"), tmp_path / "out"):
        with pytest.raises(ConfigurationError, match="--visible"):
            open_with(path)
    with pytest.raises(ConfigurationError, match="copy it there"):
        open_with(tmp_path / "missing")


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "{tmp}/x/../../{name}/shown", "{tmp}/../{name}/shown"]
)
def test_no_path_of_a_client_goes_up(
    server: tuple[str, LeasedBoxes], tmp_path: Path, path: str
) -> None:
    (tmp_path / "shown").write_text("kept")
    visible_path = path.format(tmp=tmp_path, name=tmp_path.name)
    config = {**write_config(SandboxConfig(), ""), "visible": [visible_path]}
    request = encode({"id": "a" * 16, "config": config})
    answer, _ = decode(post(server[0], "/boxes", request)[1])
    assert answer["raised"] == "ConfigurationError" and "without '..'" in answer["text"]
    assert (tmp_path / "shown").read_text() == "kept" and not Counting.instances


@pytest.mark.parametrize(
    ("name", "limit"),
    [("memory", 1 << 60), ("processes", 10**6), ("disk", 1 << 40), ("files", 10**9),
     ("kept_output", 1 << 40), ("open_files", 1 << 40)],
)  # fmt: skip
def test_clients_do_not_set_limits_without_bound(
    server: tuple[str, LeasedBoxes], name: str, limit: int
) -> None:
    config = SandboxConfig(limits=replace(SandboxLimits(), **{name: limit}))
    with pytest.raises(ConfigurationError, match=f"at most .* for {name}"):
        open_sandbox(config, "remote", url=server[0], token=TOKEN).start()
    assert not Counting.instances


@pytest.mark.parametrize("timeout", [float("nan"), float("inf"), -1, 0, 3601, 1e9, True, "5"])
def test_a_time_out_that_is_none_is_refused_and_the_box_lives(
    server: tuple[str, LeasedBoxes], box: RemoteSandbox, timeout: Any
) -> None:
    with pytest.raises(ConfigurationError, match="timeout"):
        box.exec("true", timeout=timeout)
    message = {"number": 1, "command": "true", "cwd": None, "env": {}, "timeout": timeout}
    data = json.dumps(message).encode()
    status, answer = post(server[0], f"/boxes/{box._box}/exec", struct.pack(">I", len(data)) + data)
    if isinstance(timeout, float) and not math.isfinite(timeout):  # is not JSON
        assert status == 400 and b"no number of JSON" in answer
    else:
        reply, _ = decode(answer)
        assert reply["raised"] == "ConfigurationError" and "timeout" in reply["text"]
    assert Counting.instances[0].ran == [] and not Counting.instances[0].closed


def test_a_configuration_arrives_and_is_never_trusted(tmp_path: Path) -> None:
    config = SandboxConfig(
        tree=tmp_path, workdir="/w", image="i", visible=(tmp_path,), hidden=(tmp_path / "h",),
        mounts={"/m": tmp_path}, path=("/p",), environment={"A": "1"},
        limits=SandboxLimits(memory=5), trusted=True,
    )  # fmt: skip
    assert read_config(write_config(config, "digest"), tmp_path) == replace(config, trusted=False)


@pytest.mark.parametrize(
    "change",
    [{"workdir": 5}, {"limits": {"memory": 1}}, {"visible": [5]}, {"environment": {"A": 1}},
     {"path": None}, {"limits": None}],
)  # fmt: skip
def test_a_damaged_configuration_is_refused(change: dict[str, Any]) -> None:
    good = write_config(SandboxConfig(), "")
    with pytest.raises(ConfigurationError, match="configuration"):
        read_config({**good, **change}, None)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/boxes", b"", 400),
        ("/boxes", b"\xff\xff\xff\xff{}", 400),
        ("/boxes", encode({})[:-1], 400),
        ("/boxes", encode({"id": "short", "config": {}}), 400),
        ("/boxes", encode({"id": "../../../../../etc", "config": {}}), 400),
        ("/leases", encode({"boxes": [5]}), 400),
        ("/leases", encode({"boxes": 5}), 400),
        ("/leases", encode({}), 400),
        ("/trees", encode({}, b"no archive"), 400),
        ("/nothing", encode({}), 404),
    ],
)
def test_bad_requests_are_answered(
    server: tuple[str, LeasedBoxes], path: str, body: bytes, status: int
) -> None:
    response_status, answer = post(server[0], path, body)
    assert response_status == status and b"expected" in answer and not Counting.instances


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("format", {"number": 1}),
        ("exec", {"number": 5}),
        ("exec", {"number": True}),
        ("exec", {}),
        ("exec", {"number": 1, "command": "a"}),
        ("exec", {"number": 1, "command": "a", "timeout": 1e99, "cwd": None, "env": {}}),
        ("read", {"number": 1, "path": "a", "max_bytes": "many"}),
    ],
)
def test_bad_operations_run_nothing(
    server: tuple[str, LeasedBoxes], box: RemoteSandbox, operation: str, message: dict[str, Any]
) -> None:
    status, data = post(server[0], f"/boxes/{box._box}/{operation}", encode(message))
    assert status == 200 and "raised" in decode(data)[0] and Counting.instances[0].ran == []


def test_archives_travel_and_bad_ones_are_refused(tree: Path, tmp_path: Path) -> None:
    import io
    import tarfile

    data = pack_tree(tree)
    copy = tmp_path / "copy"
    copy.mkdir()
    unpack_tree(data, copy)
    assert pack_tree(copy) == data
    for name, kind in [("../out", tarfile.REGTYPE), ("/out", tarfile.REGTYPE),
                       ("device", tarfile.CHRTYPE), ("hard", tarfile.LNKTYPE)]:  # fmt: skip
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
        with pytest.raises(DataError):
            unpack_tree(buffer.getvalue(), tmp_path / "elsewhere")
    assert not (tmp_path / "out").exists()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        holes = tarfile.TarInfo("holes")
        holes.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 29)}
        archive.addfile(holes)
    with pytest.raises(DataError, match="holes"):
        unpack_tree(buffer.getvalue(), tmp_path / "elsewhere")


@pytest.mark.parametrize("backend", ["subprocess", "remote"])
def test_a_server_does_not_hand_out_this_machine(backend: str) -> None:
    with pytest.raises(SandboxUnavailable, match="namespace or docker"):
        check_backend(backend)
    with pytest.raises(SandboxUnavailable):
        serve(sandbox=backend)


def test_a_short_token_and_other_arguments_are_refused(server: tuple[str, LeasedBoxes]) -> None:
    with pytest.raises(ConfigurationError, match="16 characters"):
        make_app(server[1], "short")
    with pytest.raises(ConfigurationError, match="max_sandboxes"):
        serve(max_sandboxes=0)
    with pytest.raises(ConfigurationError, match="sandbox server"):
        open_remote("ftp://x")


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["", "a token of one's own"])
def test_the_command_serves_until_it_is_stopped(tmp_path: Path, preset: str) -> None:
    variables = {**os.environ, TOKEN_VARIABLE: preset, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "agentgym", "serve", "sandbox", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process:
        line = process.stdout.readline().strip()
        url, _, notice = line.removeprefix("sandboxes are at ").partition("; token: ")
        assert (notice == f"the one in {TOKEN_VARIABLE}") == bool(preset) and "own" not in notice
        token = preset or notice
        link = open_remote(url, token=token)
        assert decode(post(url, "/leases", encode({"boxes": []}), token)[1])[0] == {"gone": []}
        link.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    assert list(tmp_path.glob("agentgym-trees-*")) == []


def test_the_command_warns_of_other_machines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgym.cli import main

    monkeypatch.setattr("agentgym.sandbox.remote.server.serve", lambda **settings: None)
    assert main(["serve", "sandbox", "--host", "0.0.0.0"]) == 0
    assert "warning" in capsys.readouterr().out
    assert main(["serve", "sandbox"]) == 0
    assert "warning" not in capsys.readouterr().out


def test_the_command_takes_what_clients_may_ask_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentgym.cli import main

    bounds: list[Any] = []
    monkeypatch.setattr(
        "agentgym.sandbox.remote.server.serve", lambda **settings: bounds.append(settings["bounds"])
    )
    flags = ["--max-memory", "0.5", "--max-processes", "7", "--max-disk", "2", "--max-files", "9"]
    assert main(["serve", "sandbox", *flags, "--max-seconds", "30"]) == 0
    assert bounds == [LeaseBounds(1 << 29, 7, 2 << 30, 9, 30.0)]
    for flag in ("--max-memory", "--max-processes", "--max-seconds"):
        assert main(["serve", "sandbox", flag, "0"]) == 2
    assert main(["serve", "sandbox", "--max-disk", "nan"]) == 2
    assert "--max-disk" in capsys.readouterr().err
