"""``agentgym swe image``, ``prefetch`` and ``cache``, as a person calls them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.sandbox.docker.engine import find_engine
from agentgym.sandbox.images.reading import architecture
from tests.cli.test_commands import run, wide
from tests.envs.swe.official.sample_rows import swe_bench, swe_gym, swe_smith
from tests.sandbox.conftest import usable
from tests.sandbox.registry import Registry, registry

__all__ = ["wide"]


def rows(folder: Path, *entries: dict[str, object]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


def test_the_image_of_a_row(capsys, tmp_path):
    source = rows(tmp_path, swe_gym(), swe_gym(instance_id="a__b-2"))
    code, out, err = run(capsys, "swe", "image", "a__b-2", "--data", source)
    assert (code, out) == (0, "xingyaoww/sweb.eval.x86_64.a_s_b-2:latest\n")
    assert err == "rows of swe-gym, by their fields (--data-set says otherwise)\n"


def test_the_caller_says_which_set_it_is_and_where_images_come_from(capsys, tmp_path):
    source = rows(tmp_path, swe_gym())
    flags = ("--data-set", "swe-bench", "--image-mirror", "registry.example:5000/mine")
    code, out, err = run(capsys, "swe", "image", "Quiet__ledger-7", "--data", source, *flags)
    name = "registry.example:5000/mine/sweb.eval.x86_64.quiet_1776_ledger-7:latest"
    assert (code, out, err) == (0, f"{name}\n", "")


@pytest.mark.parametrize(
    ("name", "instance", "image"),
    [
        ("swe-gym", swe_gym()["instance_id"], "xingyaoww/sweb.eval.x86_64.quiet_s_ledger-7:latest"),
        (
            "SWE-bench/SWE-bench_Lite",
            swe_bench()["instance_id"],
            "swebench/sweb.eval.x86_64.quiet_1776_ledger-7:latest",
        ),
        (
            "swe-smith",
            swe_smith()["instance_id"],
            "jyangballin/swesmith.x86_64.quiet_1776_ledger.0123abcd:latest",
        ),
    ],
)
def test_the_image_of_an_id_by_the_rule_of_its_set(capsys, name, instance, image):
    assert run(capsys, "swe", "image", instance, "--data-set", name)[:2] == (0, f"{image}\n")


def test_what_cannot_be_answered(capsys, tmp_path):
    source = rows(tmp_path, swe_gym())
    code, _, err = run(capsys, "swe", "image", "x", "--data", source)
    assert code == 2 and "such as Quiet__ledger-7; got 'x'" in err
    code, _, err = run(capsys, "swe", "image", "x")
    assert code == 2 and "--data FILE with the row, or --data-set NAME" in err
    broken = rows(tmp_path, swe_gym(), swe_gym(instance_id="b", patch=None))
    code, _, err = run(capsys, "swe", "image", "x", "--data", broken)
    assert code == 2 and "expected text in patch, got None; in " in err and "line 2" in err
    argv = ("swe", "image", "Quiet__ledger-7", "--data", broken, "--skip-broken-rows")
    code, _, err = run(capsys, *argv)
    assert code == 0 and "1 row(s) left out; the first: expected text in patch" in err


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Registry]:
    """A registry; what was pulled from it is removed again."""
    usable("docker")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    # The image of this machine's own programs is ours, too; other tests may be using it.
    monkeypatch.setattr("agentgym.sandbox.docker.container_records.LABEL", "agentgym.nothing")
    api = find_engine().api
    with registry() as server:
        yield server
        address = server.address
    for image in api.images():
        for name in image.get("RepoTags") or ():
            if name.startswith(f"{address}/"):
                api.remove_image(name, force=True)


def hold_images(hub: Registry, *names: str) -> list[dict[str, object]]:
    """Hold an image for each name; return rows that name them, and images that nobody holds."""
    tag = uuid.uuid4().hex[:12]
    for name in names:
        if not name.startswith("no-"):
            content = {"file": f"{name}{tag}".encode() * 100_000}
            hub.hold(f"own/{name}:{tag}", content, architecture())
    return [
        swe_gym(instance_id=name, image_name=f"{hub.address}/own/{name}:{tag}") for name in names
    ]


def test_prefetch_pulls_what_is_missing_and_cache_shows_and_removes_it(capsys, tmp_path, hub):
    source = rows(tmp_path, *hold_images(hub, "first", "second", "third"))
    code, out, _ = run(capsys, "swe", "prefetch", "--data", source, "--max-images", "2")
    assert (code, out) == (0, "2 image(s) pulled, 0 already present, of 2\n")
    code, out, _ = run(capsys, "swe", "prefetch", "--data", source)
    assert (code, out) == (0, "1 image(s) pulled, 2 already present, of 3\n")
    code, out, _ = run(capsys, "swe", "cache")
    assert code == 0 and "/own/first:" in out and "/own/third:" in out
    code, out, _ = run(capsys, "swe", "cache", "--max-size", "0")
    assert code == 0 and out.count("removed 127.0.0.1:") == 3
    assert "/own/" not in run(capsys, "swe", "cache")[1]


def test_prefetch_without_a_daemon(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    with registry() as server:
        source = rows(tmp_path, *hold_images(server, "first", "second", "no-third"))
        argv = ("swe", "prefetch", "--data", source, "--sandbox", "namespace")
        code, out, _ = run(capsys, *argv, "--max-images", "1")
        assert (code, out) == (0, "1 image(s) pulled, 0 already present, of 1\n")
        code, out, _ = run(capsys, *argv)
        assert code == 1 and "1 image(s) pulled, 1 already present, of 3" in out
        assert "404" in out and "agentgym images load FILE" in out
        code, out, _ = run(capsys, "images", "list")
        assert code == 0 and "/own/first:" in out and "2 image(s) in" in out


def test_prefetch_continues_after_an_unavailable_image(capsys, tmp_path, hub):
    source = rows(tmp_path, *hold_images(hub, "first", "no-second", "third"))
    code, out, _ = run(capsys, "swe", "prefetch", "--data", source)
    assert code == 1
    assert out.startswith("2 image(s) pulled, 0 already present, of 3\nfailed: expected to ")
    assert "no-second" in out and "see that the name is right" in out


def test_prefetch_says_that_the_registry_limits_pulls(capsys, tmp_path, hub):
    source = rows(tmp_path, *hold_images(hub, "a", "b", "c", "d", "e"))
    hub.limited = True
    code, out, _ = run(capsys, "swe", "prefetch", "--data", source)
    assert code == 1 and out.count("the registry limits pulls: log in with `docker login`") == 3
    assert "2 not tried: 3 images one after the other could not be had; run the command" in out


def test_prefetch_keeps_to_a_budget(capsys, tmp_path, hub):
    source = rows(tmp_path, *hold_images(hub, "first", "second"))
    code, out, _ = run(capsys, "swe", "prefetch", "--data", source, "--max-size", "1MB")
    assert code == 0 and "1 image(s) pulled" in out
    assert "1 not tried: the budget for images is used up" in out
    code, _, err = run(capsys, "swe", "prefetch", "--data", source, "--max-size", "much")
    assert code == 2 and "such as 50GB" in err
