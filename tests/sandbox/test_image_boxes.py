"""Boxes of namespaces whose root is an image: what it says is done, and what it tries is not."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import SandboxConfig, SandboxLimits, SandboxUnavailable
from agentgym.sandbox.images.store import ImageStore
from agentgym.sandbox.namespace import cgroup
from agentgym.sandbox.namespace.box import NamespaceSandbox, own_store
from tests.sandbox.conftest import usable
from tests.sandbox.images import root_archive
from tests.sandbox.layouts import Fill, entry, folder, layer, write_saved

LINK = tarfile.SYMTYPE
SMALL = SandboxLimits(disk=32 << 20, files=2000)
TOOLS = ("bash", "cp", "find", "grep", "mv", "sort", "stat", "tail", "test", "wc", "chown", "tar")
Open = Callable[..., NamespaceSandbox]


@pytest.fixture(scope="module", autouse=True)
def _can_run() -> None:
    usable("namespace")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ImageStore:
    """A store with an image that holds a shell, and no Python."""
    return own_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def bottom() -> bytes:
    """The layer of a shell and some programs, without Python."""
    return root_archive({"etc/motd": b"welcome\n"}, python=False, tools=TOOLS)


@pytest.fixture
def opened(store: ImageStore, bottom: bytes, tmp_path: Path) -> Iterator[Open]:
    """Open a box of the bottom layer and further ones."""
    with ExitStack() as stack:

        def open_one(
            *fills: Fill,
            settings: dict[str, Any] | None = None,
            overlay: bool = True,
            **config: Any,
        ) -> NamespaceSandbox:
            layers = [bottom, *map(layer, fills)]
            name = f"tests/{tmp_path.name.lower().replace('_', '-').strip('-')}:1"
            store.load(write_saved(tmp_path / "image.tar", layers, settings or {}, name=name), name)
            merged = SandboxConfig(**{"image": name, "limits": SMALL, "workdir": "/work", **config})
            box = NamespaceSandbox(merged, overlay=overlay, store=store.folder, pull="never")
            stack.callback(box.close)
            return box.start()

        yield open_one


WRITE = """set -e
echo new > file.txt; mkdir -p a/b; echo deep > a/b/c; ln a/b/c a/hard; ln -s /etc/passwd a/soft
mkfifo a/pipe; echo changed >> /etc/motd; rm -rf /opt/gone; rm -rf /opt/again; mkdir /opt/again
echo x > /opt/again/only; chmod 600 /opt/mode; echo shared > /dev/shm/s; mv /bin/tail /bin/end
mkdir -p /root/deep/er; echo home > /root/deep/er/f
"""
LOOK = """cat file.txt a/b/c /etc/motd /dev/shm/s /root/deep/er/f
stat -c '%n %h %F %a' a/hard a/soft a/pipe /opt/mode; ls -A /opt /opt/again
ls /opt/gone /bin/tail /bin/end 2>&1; find / -xdev | sort | wc"""


def base(archive: tarfile.TarFile) -> None:
    """Add what `WRITE` changes."""
    for name in ("opt/gone/f", "opt/again/before", "opt/mode", "work/given"):
        entry(archive, name, b"of the image\n")


@pytest.mark.parametrize("overlay", [True, False])
def test_a_snapshot_holds_what_was_written_anywhere_in_the_root(
    opened: Open, overlay: bool
) -> None:
    box = opened(base, overlay=overlay)
    assert ("overlay" in box.exec("stat -f -c %T /").text) == overlay
    assert box.exec("command -v python3").exit_code  # and none is needed
    assert box.exec(WRITE).exit_code == 0
    listing, changes = box.exec(LOOK).text, box.changes()
    assert "No such file" in listing and "fifo" in listing
    assert changes == {"file.txt": b"new\n", "a/b/c": b"deep\n", "a/hard": b"deep\n"}
    state = box.snapshot()
    box.exec("rm -rf /work/* /etc/motd /root/*; touch later")
    box.restore(state)
    assert box.exec(LOOK).text == listing
    assert box.changes() == changes
    box.reset()
    assert (
        box.exec("cat /etc/motd given; ls /bin/tail").text == "welcome\nof the image\n/bin/tail\n"
    )
    assert box.changes() == {}


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("echo more >> given", {"given": b"of the image\nmore\n"}),
        ("rm given", {"given": None}),
        ("cp given other; touch given; chmod 600 given", {"other": b"of the image\n"}),
        ("cd /; rm -r work; mkdir work; echo 1 > work/new", {"given": None, "new": b"1\n"}),
        ("cd /; mv work moved; ln -s moved work", {"given": None}),
        ("rm given; mkdir given; echo 1 > given/in", {"given": None, "given/in": b"1\n"}),
        ("cp given x; rm given; mv x given", {}),
    ],
)
def test_changes_are_what_differs_from_the_image(
    opened: Open, command: str, changes: dict[str, bytes | None]
) -> None:
    box = opened(base)
    assert box.exec(command).exit_code == 0
    assert box.changes() == changes


def test_changes_are_not_compared_through_links_of_the_image(opened: Open) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        entry(archive, "elsewhere/f", b"same")
        entry(archive, "work/away", kind=LINK, link="/elsewhere")

    box = opened(fill)
    box.exec("rm away; mkdir away; printf same > away/f")
    assert box.changes() == {"away/f": b"same"}


def test_variables_user_and_folder_of_the_image_count(opened: Open) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        entry(
            archive, "etc/passwd", b"root:x:0:0::/root:/bin/sh\nmaker:x:33:34::/srv/maker:/bin/sh\n"
        )
        entry(archive, "etc/group", b"makers:x:35:\n")
        folder(archive, "srv/maker/")

    variables = ["A=of the image", "TZ=Europe/Berlin", "PATH=/opt/own:/bin"]
    box = opened(fill, settings={"Env": variables, "User": "maker"}, path=("/first",))
    output = box.exec("id -u; id -g; echo $HOME; touch $HOME/f; stat -c %u $HOME/f; env").text
    assert output.split("\n")[:4] == ["33", "34", "/srv/maker", "33"]
    assert {"A=of the image", "TZ=UTC", "PATH=/first:/opt/own:/bin"} <= set(output.split("\n"))
    assert opened(fill, settings={"User": "33:makers"}).exec("id -u; id -g").text == "33\n35\n"
    assert opened(fill, settings={"User": "4000"}).exec("id -u; id -g").text == "4000\n0\n"
    with pytest.raises(SandboxUnavailable, match="nobody-knows"):
        opened(fill, settings={"User": "nobody-knows"})


def test_changes_of_owners_do_nothing_and_succeed(opened: Open) -> None:
    box = opened(lambda archive: entry(archive, "work/theirs", b"1", uid=1000))
    command = "chown -R 1234:5678 . && echo 2 > theirs && tar cf /tmp/t . && tar xpf /tmp/t -C /tmp"
    assert box.exec(f"{command} && stat -c %u:%g theirs").text == "0:0\n"


def test_a_tree_stands_in_place_of_what_the_image_has_there(opened: Open, tree: Path) -> None:
    box = opened(base, tree=tree)
    assert "given" not in box.exec("ls").text and box.changes() == {}
    box.exec("echo x = 2 > a.py; rm b.py")
    assert box.changes() == {"a.py": b"x = 2\n", "b.py": None}
    assert (tree / "a.py").read_text() == "x = 1\n"


def test_a_folder_that_is_not_there_is_made_wherever_links_lead(opened: Open) -> None:
    box = opened(lambda archive: entry(archive, "srv", kind=LINK, link="tmp/x"), workdir="/srv/a/b")
    assert box.exec("pwd -P; stat -c %a /tmp").text == "/tmp/x/a/b\n1777\n"
    assert box.changes() == {} and len(box.snapshot()) == 10240
    with pytest.raises(ConfigurationError, match="got a file"):
        opened(workdir="/etc/motd")
    with pytest.raises(ConfigurationError, match="at most 40 links"):
        opened(lambda archive: entry(archive, "c", kind=LINK, link="c"), workdir="/c/d")


def test_what_is_not_in_the_image_is_a_result(opened: Open) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        for name in ("bash", "sh"):
            entry(archive, f"bin/.wh.{name}")

    result = opened(fill).exec("echo hello")
    assert result.exit_code == 126 and "cannot run the command" in result.text


def to_the_host(scratch: Path) -> Fill:
    """Return a layer whose folders are links to one of the host."""
    names = ("etc", "dev", "proc", "sys", "work")
    if scratch.parts[1] in names:
        pytest.skip(f"temporary files lie below /{scratch.parts[1]}, which would link to itself")

    def fill(archive: tarfile.TarFile) -> None:
        for name in names[:-1]:
            entry(archive, f".wh.{name}")
        for name in names:
            entry(archive, name, kind=LINK, link=str(scratch))

    return fill


def as_files(archive: tarfile.TarFile) -> None:
    """Fill a layer with files where folders are."""
    for name in ("dev", "proc", "sys", "etc"):
        entry(archive, f".wh.{name}")
        entry(archive, name, b"a file")


def poisoned(archive: tarfile.TarFile) -> None:
    """Fill a layer with what a Python or a C library may load."""
    code = b"import os\nos.kill(os.getpid(), 9)\n"
    names = ("tarfile", "shutil", "lzma", "pwd", "grp", "copy", "zlib", "encodings/idna", "json")
    lib = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    for place in (f"{sys.base_prefix.lstrip('/')}/{lib}", f"usr/{lib}", "work", "tmp", "."):
        for name in names:
            entry(archive, f"{place}/{name}.py", code)
    entry(archive, "etc/nsswitch.conf", b"passwd: evil\ngroup: evil\nhosts: evil\n")
    for name in ("usr/lib/x86_64-linux-gnu", "lib", "lib64"):
        entry(archive, f"{name}/libnss_evil.so.2", b"\x7fELF not a library")


FILLS = {"files": as_files, "poisoned": poisoned}


@pytest.mark.parametrize("kind", ["links", *FILLS])
def test_an_image_cannot_attack_what_builds_its_box(
    opened: Open, tmp_path: Path, kind: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    victim.chmod(0o777)
    (victim / "hosts").write_text("of the host")
    (victim / "null").write_text("of the host")
    fill = to_the_host(victim) if kind == "links" else FILLS[kind]
    box = opened(fill)
    assert box.exec("echo hello; cat /etc/hostname").text == "hello\nsandbox\n"
    box.write("sub/f.txt", b"1")
    assert box.read("sub/f.txt") == b"1" and box.changes() == {"sub/f.txt": b"1"}
    box.restore(box.snapshot())
    box.exec("kill -9 1; touch /etc/new /sys/new; mkdir -p /proc/x /dev/x")
    assert box.changes() == {"sub/f.txt": b"1"}
    assert {path.name: path.read_text() for path in victim.iterdir()} == {
        "hosts": "of the host", "null": "of the host",
    }  # fmt: skip


def test_an_image_that_is_not_there_says_how_to_bring_it(tmp_path: Path) -> None:
    config = SandboxConfig(image="swebench/missing:latest")
    with pytest.raises(SandboxUnavailable, match="agentgym images pull swebench/missing:latest"):
        NamespaceSandbox(config, store=tmp_path, pull="never").start()


def test_an_image_larger_than_the_memory_is_not_copied(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup.MemoryGroup, "make", classmethod(lambda cls, limit: None))
    with pytest.raises(SandboxUnavailable, match=r"Linux 6\.6 can"):
        opened(overlay=False, limits=SandboxLimits(memory=1 << 20))


def test_the_layers_stay_while_a_box_stands_on_them(opened: Open, store: ImageStore) -> None:
    box = opened(lambda archive: entry(archive, "work/given", os.urandom(64)))
    top = store.find(box.config.image).layers[-1]  # type: ignore[union-attr]
    assert store.remove(box.config.image) and store.find(box.config.image) is None
    assert top.is_dir() and box.exec("wc -c < given").text == "64\n"
    box.close()
    store.prune(1 << 40)
    assert not top.exists()
