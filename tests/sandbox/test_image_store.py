"""Images on their way into the store: files, registries, locks, what a kill leaves, removal."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.cli import main
from agentgym.errors import DataError
from agentgym.sandbox.base import SandboxUnavailable
from agentgym.sandbox.images import pulling
from agentgym.sandbox.images.layers import Layers
from agentgym.sandbox.images.names import canonical, reference
from agentgym.sandbox.images.pulling import PulledImages, pull
from agentgym.sandbox.images.reading import architecture
from agentgym.sandbox.images.store import Image, ImageStore
from tests.sandbox.layouts import Fill, entry, layer, write_layout, write_saved
from tests.sandbox.registry import Registry, registry


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "store")


def holding(name: str, content: bytes = b"1") -> Fill:
    """Return what fills a layer with one file."""
    return lambda archive: entry(archive, name, content)


LAYERS = [layer(holding("low", b"low")), layer(holding("high", b"high"))]


def read(image: Image, path: str) -> bytes:
    """Return a file of an image."""
    return Layers(image.layers[::-1]).read(path, 1 << 20)


def tarred(folder: Path) -> Path:
    """Return a folder as a tar archive."""
    with tarfile.open(folder.with_suffix(".tar"), "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False)
    return folder.with_suffix(".tar")


@pytest.mark.parametrize("form", ["layout", "tar", "plain layers", "saved"])
def test_an_image_is_read_in_every_form(store: ImageStore, tmp_path: Path, form: str) -> None:
    settings = {"Env": ["A=1"], "User": "33", "WorkingDir": "/w"}
    source = {
        "layout": lambda: write_layout(tmp_path / "l", LAYERS, settings, name="a/b:1"),
        "tar": lambda: tarred(write_layout(tmp_path / "l", LAYERS, settings, name="a/b:1")),
        "plain layers": lambda: write_layout(
            tmp_path / "l", LAYERS, settings, name="a/b:1", packed=lambda data: data
        ),
        "saved": lambda: write_saved(tmp_path / "s.tar", LAYERS, settings),
    }[form]()
    image = store.load(source)
    assert (image.name, image.config) == ("a/b:1", settings)
    assert (read(image, "low"), read(image, "high"), image.size) == (b"low", b"high", 7)
    assert store.find("docker.io/a/b:1") == image and store.find("a/b") is None


def test_a_reference_that_is_no_image_is_refused_by_name(store: ImageStore, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no archive")
    packed = tmp_path / "saved.tar.gz"
    packed.write_bytes(gzip.compress(write_saved(tmp_path / "s.tar", LAYERS).read_bytes()))
    other_layout = write_layout(tmp_path / "other", LAYERS, architecture="pdp11")
    unnamed = write_layout(tmp_path / "unnamed", LAYERS, name="latest")
    short = write_layout(tmp_path / "short", LAYERS, rootfs={"type": "layers", "diff_ids": []})
    for source, words in (
        (tmp_path / "empty", r"an index\.json"), (tmp_path / "missing", "no such file"),
        (tmp_path / "text", "OCI layout or an archive"), (packed, "gunzip"),
        (other_layout, "linux/pdp11"), (unnamed, "expected a name"), (short, "a digest"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=words):
            store.load(source)
    assert store.images() == []


def test_of_several_images_one_has_to_be_named(store: ImageStore, tmp_path: Path) -> None:
    layout = write_layout(tmp_path / "l", LAYERS[:1], name="a/one:1")
    first = json.loads((layout / "index.json").read_text())["manifests"]
    write_layout(layout, LAYERS, name="a/two:1")
    manifests = json.loads((layout / "index.json").read_text())["manifests"] + first
    (layout / "index.json").write_text(json.dumps({"manifests": manifests}))
    with pytest.raises(DataError, match="a/two:1, a/one:1"):
        store.load(layout)
    assert len(store.load(layout, "a/one:1").layers) == 1
    assert len(store.load(layout, "a/two:1").layers) == 2


def test_too_many_layers_are_refused(store: ImageStore, tmp_path: Path) -> None:
    layout = write_layout(tmp_path / "l", [LAYERS[0]] * 128, name="a/b:1")
    with pytest.raises(DataError, match="at most 127 layers, got 128"):
        store.load(layout)


def test_layers_that_images_share_lie_there_once(store: ImageStore, tmp_path: Path) -> None:
    store.load(write_layout(tmp_path / "a", LAYERS[:1]), "a/a:1")
    store.load(write_layout(tmp_path / "b", LAYERS), "a/b:1")
    assert len(list((store.folder / "layers").iterdir())) == 2 and store.size() == 7
    assert store.remove("a/b:1") and not store.remove("a/b:1")
    assert len(list((store.folder / "layers").iterdir())) == 1
    assert read(store.images()[0], "low") == b"low"


def test_the_longest_unused_images_go_and_those_in_use_stay(
    store: ImageStore, tmp_path: Path
) -> None:
    for number, name in enumerate("abc"):
        source = write_layout(tmp_path / name, [layer(holding(name, bytes(1000)))])
        store.load(source, f"x/{name}:1")
        os.utime(store._record(f"x/{name}:1"), (number, number))
    descriptor = store.hold(store.images()[1])  # it becomes the newest
    pruned: list[Image] = []
    store.prune(2000, pruned.append)
    assert [image.name for image in pruned] == ["x/a:1"]
    top = store.images()[0].layers[-1]
    store.prune(0)
    assert store.images() == [] and [path.parent for path in store.folder.glob("layers/*/fs")] == [
        top.parent
    ]
    os.close(descriptor)
    store.prune(0)
    assert list((store.folder / "layers").iterdir()) == []


LOADING = """
import sys, time
from pathlib import Path
from agentgym.sandbox.images.store import ImageStore

def watch(said, done, total):
    print(said, flush=True)
    if said.startswith("layer 2"):
        time.sleep(600)

ImageStore(Path(sys.argv[1])).load(Path(sys.argv[2]), "a/b:1", watch)
"""


def test_what_was_unpacked_before_a_kill_is_not_unpacked_again(
    store: ImageStore, tmp_path: Path
) -> None:
    source = write_layout(tmp_path / "l", LAYERS)
    command = [sys.executable, "-c", LOADING, str(store.folder), str(source)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as loading:
        assert loading.stdout is not None
        while not loading.stdout.readline().startswith("layer 2"):
            assert loading.poll() is None
        loading.send_signal(signal.SIGKILL)
    assert len(list((store.folder / "layers").iterdir())) == 2  # one of them half
    labels: list[str] = []
    image = store.load(source, "a/b:1", lambda label, done, total: labels.append(label))
    assert set(labels) == {"layer 2 of 2"} and read(image, "high") == b"high"
    assert len(list((store.folder / "layers").iterdir())) == 2


def test_several_may_load_at_once(store: ImageStore, tmp_path: Path) -> None:
    source = write_layout(tmp_path / "l", LAYERS)
    threads = [threading.Thread(target=store.load, args=(source, "a/b:1")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [image.name for image in store.images()] == ["a/b:1"] and store.size() == 7


@pytest.mark.parametrize(
    ("name", "full_name", "place"),
    [
        ("python", "python:latest", ("registry-1.docker.io", "library/python", "latest")),
        ("docker.io/library/a:1", "a:1", ("registry-1.docker.io", "library/a", "1")),
        ("swebench/sweb.a_1776_b-1:latest", "swebench/sweb.a_1776_b-1:latest",
         ("registry-1.docker.io", "swebench/sweb.a_1776_b-1", "latest")),
        ("localhost:5000/a/b", "localhost:5000/a/b:latest", ("localhost:5000", "a/b", "latest")),
        ("ghcr.io/a/b@sha256:" + "0" * 64, "ghcr.io/a/b@sha256:" + "0" * 64,
         ("ghcr.io", "a/b", "sha256:" + "0" * 64)),
    ],
)  # fmt: skip
def test_names_have_one_form(name: str, full_name: str, place: tuple[str, str, str]) -> None:
    assert canonical(name) == full_name == canonical(full_name)
    assert tuple(reference(name)) == place


@given(st.text(max_size=40))
def test_a_name_is_refused_or_kept_as_a_file_of_the_store(name: str) -> None:
    store = ImageStore(Path("/nowhere"))
    try:
        full_name = canonical(name)
    except DataError:
        assert store.find(name) is None
        return
    assert canonical(full_name) == full_name
    assert store._record(full_name).parent == Path("/nowhere/images")


@pytest.fixture
def hub() -> Iterator[Registry]:
    with registry() as server:
        files = {"etc/motd": b"hello", "large": os.urandom(200_000)}
        server.hold("a/b:1", files, architecture())
        yield server


def test_an_image_is_pulled_with_a_token_and_goes_on_where_it_broke_off(
    store: ImageStore, hub: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "LONGEST_WAIT", 0.01)
    hub.token, hub.busy, hub.cut = "secret", 1, 150_000
    reports: list[tuple[str, int, int]] = []
    image = pull(f"{hub.address}/a/b:1", store, watch=lambda *report: reports.append(report))
    assert read(image, "etc/motd") == b"hello"
    assert "bytes=150000-" in {request[2] for request in hub.requests}
    assert any(label == "download" and n_done == total for label, n_done, total in reports)
    assert not list(store.folder.glob("downloads/*/"))
    hub.list_of("a/b:all", {"pdp11": "a/b:1", architecture(): "a/b:1"})
    requests_before = len(hub.requests)
    assert pull(f"{hub.address}/a/b:all", store).layers == image.layers
    layers = [path for path, _, _ in hub.requests[requests_before:] if "/blobs/" in path]
    assert len(layers) == 1  # the config; the layer is here


def test_a_token_does_not_go_where_blobs_are_kept(store: ImageStore, hub: Registry) -> None:
    with registry() as other_hub:
        other_hub.blobs = hub.blobs
        hub.token, hub.elsewhere = "secret", f"http://{other_hub.address}"
        assert read(pull(f"{hub.address}/a/b:1", store), "etc/motd") == b"hello"
        assert {authorization for _, authorization, _ in other_hub.requests} == {""}


def test_what_a_registry_refuses_or_changes_is_told(
    store: ImageStore, hub: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulling, "LONGEST_WAIT", 0.01)
    with pytest.raises(SandboxUnavailable, match=r"404.*the name is right"):
        pull(f"{hub.address}/a/missing:1", store)
    hub.limited = True
    with pytest.raises(SandboxUnavailable, match=r"429.*name a mirror"):
        pull(f"{hub.address}/a/b:1", store)
    hub.limited = False
    largest = max(hub.blobs, key=lambda name: len(hub.blobs[name]))
    hub.blobs[largest] = hub.blobs[largest][:-1] + b"x"
    with pytest.raises(DataError, match="got other bytes"):
        pull(f"{hub.address}/a/b:1", store)
    assert store.images() == []
    with pytest.raises(SandboxUnavailable, match=r"reach the registry.*docker save.*images load"):
        PulledImages(ImageStore(store.folder.parent / "other")).ensure("127.0.0.1:9/a/b:1")


def test_a_mirror_stands_in_for_the_hub(store: ImageStore, hub: Registry) -> None:
    hub.hold("hub/library/python:3", {"f": b"1"}, architecture())
    image = pull("python:3", store, mirror=f"{hub.address}/hub")
    assert image.name == "python:3" and store.find("docker.io/library/python:3") == image


def test_the_command_loads_lists_pulls_and_removes(
    hub: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    saved = write_saved(tmp_path / "s.tar", LAYERS, name="own/image:1")
    assert main(["images", "load", str(saved)]) == 0
    assert main(["images", "pull", f"{hub.address}/a/b:1", f"{hub.address}/a/missing:1"]) == 1
    assert main(["images", "list"]) == 0
    output = capsys.readouterr().out
    assert "loaded own/image:1: 2 layer(s)" in output and "404" in output
    assert f"pulled {hub.address}/a/b:1" in output and "2 image(s) in" in output
    assert main(["images", "prune", "own/image:1", "own/missing:1"]) == 1
    assert main(["images", "prune", "--max-size", "0GB"]) == 0
    assert "0.00 GB are left" in capsys.readouterr().out
    assert main(["images", "prune"]) == 2
    assert main(["images", "load", str(tmp_path / "missing")]) == 2
