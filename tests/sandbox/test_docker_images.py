"""Images: pulled from a registry as the policy says, and removed when a budget says so."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from agentgym.errors import ConfigurationError
from agentgym.sandbox.base import SandboxUnavailable
from agentgym.sandbox.docker.container_records import ImageRecords
from agentgym.sandbox.docker.engine import DockerEngine, find_engine
from agentgym.sandbox.docker.host import LABEL, host_image
from agentgym.sandbox.docker.images import Images, mirrored
from agentgym.support.sizes import parse_size
from tests.sandbox.conftest import usable
from tests.sandbox.registry import Registry, registry


@pytest.fixture
def engine() -> DockerEngine:
    usable("docker")
    return find_engine()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))


@pytest.fixture
def hub(engine: DockerEngine) -> Iterator[Registry]:
    """A registry; what was pulled from it is removed again."""
    with registry() as server:
        yield server
    for image in engine.api.images():
        names = [*(image.get("RepoTags") or ()), *(image.get("RepoDigests") or ())]
        if any(name.startswith((server.address, "own/project")) for name in names):
            engine.api.remove_image(image["Id"], force=True)


def fresh(hub: Registry, name: str = "own/project") -> str:
    """Hold an image that no engine has seen; returns its name without the registry."""
    tag = uuid.uuid4().hex[:12]
    hub.hold(f"{name}:{tag}", {"file": tag.encode() * 10_000})
    return f"{name}:{tag}"


def test_a_missing_image_is_pulled_once(engine: DockerEngine, hub: Registry) -> None:
    name = f"{hub.address}/{fresh(hub)}"
    images = Images(engine)
    pulled = images.ensure(name)
    pulls = len(hub.pulls)
    assert images.ensure(name) == pulled and Images(engine).ensure(name) == pulled
    assert pulled == images.find(name) and len(hub.pulls) == pulls > 0
    assert [
        image["name"] for image in images.records.list_images() if image["id"] == pulled.id
    ] == [name]


def test_many_boxes_pull_an_image_once(engine: DockerEngine, hub: Registry) -> None:
    name = f"{hub.address}/{fresh(hub)}"
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(Images(engine).ensure(name).id))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8 and len(set(ids)) == 1


def test_an_image_that_must_not_be_pulled_is_an_error(engine: DockerEngine, hub: Registry) -> None:
    name = f"{hub.address}/{fresh(hub)}"
    with pytest.raises(SandboxUnavailable, match=r"docker pull .* or set pull to 'missing'"):
        Images(engine, pull="never").ensure(name)
    assert not hub.pulls


def test_always_pulls_again_in_a_new_process(engine: DockerEngine, hub: Registry) -> None:
    name = fresh(hub)
    first = Images(engine).ensure(f"{hub.address}/{name}")
    hub.hold(name, {"file": b"newer"})
    from agentgym.sandbox.docker import images

    images._pulled.clear()  # as in a new process
    assert Images(engine).ensure(f"{hub.address}/{name}") == first
    images._pulled.clear()
    newer = Images(engine, pull="always").ensure(f"{hub.address}/{name}")
    assert newer.id != first.id
    pulls = len(hub.pulls)
    assert Images(engine, pull="always").ensure(f"{hub.address}/{name}") == newer
    assert len(hub.pulls) == pulls


@pytest.mark.parametrize(
    ("limited", "remedy"), [(True, "docker login.*mirror="), (False, "the name is right")]
)
def test_a_pull_that_fails_says_what_to_do(
    engine: DockerEngine, hub: Registry, limited: bool, remedy: str
) -> None:
    hub.limited = limited
    with pytest.raises(SandboxUnavailable, match=remedy):
        Images(engine).ensure(f"{hub.address}/own/missing:429-{uuid.uuid4().hex[:12]}")


def test_a_registry_that_is_not_there_says_what_to_do(engine: DockerEngine) -> None:
    with pytest.raises(SandboxUnavailable, match=r"reaches the registry.*mirror="):
        Images(engine).ensure("127.0.0.1:9/own/project:1")


def test_a_mirror_stands_for_the_hub(engine: DockerEngine, hub: Registry) -> None:
    name = fresh(hub, "cache/own/project").removeprefix("cache/")
    images = Images(engine, mirror=f"{hub.address}/cache")
    pulled = images.ensure(name)
    names = engine.api.inspect_image(pulled.id)["RepoTags"]
    assert names == [name]  # under its own name, and no other
    assert [
        image["name"] for image in images.records.list_images() if image["id"] == pulled.id
    ] == [name]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("python:3.11", "m.org/hub/library/python:3.11"),
        ("swebench/x:latest", "m.org/hub/swebench/x:latest"),
        ("docker.io/own/x", "m.org/hub/own/x"),
        ("docker.io/library/python", "m.org/hub/library/python"),
        ("ghcr.io/own/x:1", "ghcr.io/own/x:1"),
        ("localhost:5000/x", "localhost:5000/x"),
    ],
)
def test_which_images_come_from_a_mirror(name: str, source: str) -> None:
    assert mirrored(name, "m.org/hub") == source
    assert mirrored(name, "") == name


def test_a_budget_removes_the_longest_unused_of_our_images_only(
    engine: DockerEngine, hub: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = f"{hub.address}/{fresh(hub)}"
    engine.api.pull(*foreign.rsplit(":", 1))
    clock = SimpleNamespace(time=map(float, range(1_000, 100_000, 100)).__next__)
    monkeypatch.setattr("agentgym.sandbox.docker.container_records.time", clock)
    images = Images(engine)
    names = [f"{hub.address}/{fresh(hub)}" for _ in range(3)]
    for name in names:
        images.ensure(name)
    assert images.ensure(foreign)  # used, and still not ours
    images.ensure(names[0])  # now the oldest is the second
    host_image(engine)
    sizes = {image["name"]: image["size"] for image in images.records.list_images()}
    total = sum(sizes.values())
    removed = images.records.prune(total - 1)
    assert [image["name"] for image in removed] == [names[1]]
    assert images.find(names[1]) is None and images.find(names[0]) and images.find(foreign)
    assert [image["name"] for image in images.records.prune(0)] == [names[2], names[0]]
    assert images.find(foreign) is not None
    assert engine.api.images(filters={"label": LABEL})  # ours too, and in use by anybody


def test_a_pull_keeps_to_the_budget_and_images_in_use_stay(
    engine: DockerEngine, hub: Registry
) -> None:
    used, unused, last = (f"{hub.address}/{fresh(hub)}" for _ in range(3))
    images = Images(engine, budget=1)
    container = engine.api.create_container(images.ensure(used).id, ["/file"])["Id"]
    try:
        images.ensure(unused)
        images.ensure(last)
        assert images.find(used) is not None and images.find(unused) is None
        assert images.find(last) is not None  # just pulled, so it is to be used
    finally:
        engine.api.remove_container(container)


def test_records_that_cannot_be_read_hold_nothing(engine: DockerEngine, tmp_path: object) -> None:
    records = ImageRecords(engine)
    records.pulled("sha256:none", "gone")
    file = records._file
    for damage in ("", "[]", "{", '{"x": 1}'):
        file.write_text(damage)
        assert records._entries() == {}
        records.used("sha256:none")
    records.pulled("sha256:none", "gone")
    assert records._entries()["sha256:none"]["name"] == "gone"


@pytest.mark.parametrize(("text", "size"), [("50GB", 50 * 10**9), ("1.5MB", 1_500_000), (7, 7),
                                            ("12", 12), (" 2kB ", 2000)])  # fmt: skip
def test_sizes_are_read(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "5 gallons", "-1", -1, True, "nanGB", "1e9TB", None])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="50GB"):
        parse_size(text)


@pytest.mark.parametrize("options", [{"pull": "sometimes"}, {"budget": "much"}, {"mirror": 5}])
def test_options_are_checked(engine: DockerEngine, options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        Images(engine, **options)  # type: ignore[arg-type]
