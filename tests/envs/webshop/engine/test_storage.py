"""Built worlds on disk: believed only if they are what was written, and never needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentgym.envs.webshop.engine.product_storage import open_or_build
from agentgym.envs.webshop.engine.shop import Shop
from agentgym.support.caching import check_folder

NOBODY = 65534
QUERIES = ("running shoes", "table lamps", "feature 7: breathable navy", "model 3", "zzz")


def facts(shop: Shop) -> list[Any]:
    """Return all that can be asked of a shop."""
    asins = shop.products.asins
    return [
        [shop.search(query) for query in QUERIES],
        [shop.plan(asin) for asin in asins],
        [shop.products[asin].to_record() for asin in asins],
        list(shop.goals),
    ]


def flip(place: float) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * (len(data) - 1))] ^= 0x15
        path.write_bytes(data)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "halved": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a byte near the head": flip(0.1),
    "a byte in the middle": flip(0.5),
    "deleted": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(b"\x93NUMPY\x01\x00\x04\x00{][}" * 9),
}


@pytest.fixture
def stored(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the tiny shop in a cache of its own."""
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    open_or_build(Shop, "key", lambda: shop)
    (folder,) = (tmp_path / "webshop").iterdir()
    return folder


@pytest.mark.parametrize("how", DAMAGES)
def test_every_damaged_file_is_noticed_and_mended(how: str, shop: Shop, stored: Path) -> None:
    expected, pristine = facts(shop), stored.with_name("pristine")
    shutil.copytree(stored, pristine)
    names = sorted(path.name for path in pristine.iterdir())
    assert {"bm25.terms.npy", "plans.npy", "products.npy", "goals.npy", "manifest.json"} <= set(
        names
    )
    for name in names:
        DAMAGES[how](stored / name)
        assert facts(open_or_build(Shop, "key", lambda: shop)) == expected, name
        check_folder(stored)
        opened = open_or_build(Shop, "key", lambda: pytest.fail("built again though it is sound"))
        assert facts(opened) == expected


def test_a_stored_world_is_the_built_world(shop: Shop, stored: Path) -> None:
    assert facts(Shop.open(stored)) == facts(shop)


def test_concurrent_writers_do_not_disturb_each_other(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        builds = list(pool.map(lambda _: open_or_build(Shop, "key", lambda: shop), range(8)))
    assert {len(build.products) for build in builds} == {24}
    (folder,) = (tmp_path / "webshop").iterdir()
    assert not folder.name.startswith(".")


@contextmanager
def read_only(folder: Path, mode: int = 0o555) -> Iterator[None]:
    """Let nobody write to a folder, not even the superuser, who always may."""
    user = os.geteuid()
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(mode)
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield
    finally:
        os.seteuid(user)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


@pytest.mark.parametrize("state", ["empty", "sound", "damaged"])
def test_a_read_only_cache_gives_the_same_shop(
    state: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(tempfile.mkdtemp())  # pytest's own folders cannot be read by others
    monkeypatch.setenv("AGENTGYM_CACHE", str(root))
    try:
        if state != "empty":
            open_or_build(Shop, "key", lambda: shop)
            (folder,) = (root / "webshop").iterdir()
            if state == "damaged":
                flip(0.5)(folder / "bm25.terms.npy")
        with read_only(root):
            opened = open_or_build(Shop, "key", lambda: shop)
            assert (opened is shop) == (state != "sound")
            assert facts(opened) == facts(shop)
    finally:
        shutil.rmtree(root)


def test_a_cache_that_cannot_be_entered_is_none(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(tempfile.mkdtemp())
    monkeypatch.setenv("AGENTGYM_CACHE", str(root / "hidden"))
    try:
        with read_only(root, 0):
            assert open_or_build(Shop, "key", lambda: shop) is shop
    finally:
        shutil.rmtree(root)


def test_without_a_writable_cache_the_world_stays_in_memory(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("AGENTGYM_CACHE", str(blocked))
    assert open_or_build(Shop, "key", lambda: shop) is shop


FULL = """
import gymnasium, agentgym
from tests.disk import limit_file_size
limit_file_size(2_000)
env = gymnasium.make("agentgym/WebShop-v0", size=60, difficulty="easy")
_, info = env.reset(seed=0)
while not info["stop_reason"]:
    info = env.step(env.unwrapped.demonstrator_action())[4]
print(info["success"])
"""


def test_a_full_disk_costs_nothing_but_the_cache(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", FULL],
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.stdout.strip() == "True", process.stderr
    assert list((tmp_path / "webshop").iterdir()) == []
