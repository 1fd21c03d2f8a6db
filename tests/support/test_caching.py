"""What is kept on disk is believed only when it is whole."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from agentgym.errors import DataError, EnvFailure
from agentgym.support import caching

DAMAGE = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "flipped": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "longer": lambda data: data + b"x",
    "garbage": lambda data: b"\xff\x00garbage",
    "deep": lambda data: b"[" * 100_000,
}


@pytest.fixture
def folder(tmp_path):
    """A stored folder of two files."""

    def fill(scratch: Path) -> None:
        (scratch / "a.txt").write_text("first")
        (scratch / "b.bin").write_bytes(bytes(range(256)))

    path = tmp_path / "kept" / "entry"
    assert caching.save_folder(path, fill)
    return path


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_back(tmp_path):
    path = tmp_path / "deeper" / "file"
    assert caching.load(path, "key") is None
    assert caching.save(path, "key", b"two\nlines")
    assert caching.load(path, "key") == b"two\nlines"
    assert caching.load(path, "another key") is None
    assert entries(path.parent) == ["file"]


def test_a_json_value_comes_back(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path))
    path = caching.entry_path("family", "index", "a name of any kind / \ud800")
    assert path.parent == tmp_path / "family" and path.name.startswith("index-")
    assert path != caching.entry_path("family", "index", "another name")
    value = {"rows": [1, 2.5, None, "\ud800"], "more": {}}
    assert caching.load_json(path, "key") is None
    assert caching.save_json(path, "key", value)
    assert caching.load_json(path, "key") == value
    assert caching.load_json(path, "another key") is None
    path.write_bytes(path.read_bytes()[:-2])
    assert caching.load_json(path, "key") is None


def test_a_bounded_cache_drops_what_is_oldest_and_little_of_it():
    cache = caching.BoundedCache(4)
    for number in range(4):
        assert cache.put(number, str(number)) == str(number)
    assert cache.refresh(0) == "0" and cache.refresh(9) is None
    cache.put(4, "4")
    assert list(cache) == [2, 3, 0, 4]
    alone = caching.BoundedCache(1)
    alone.put("a", 1)
    alone.put("b", 2)
    assert alone == {"b": 2}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_not_believed(tmp_path, damage):
    path = tmp_path / "file"
    caching.save(path, "key", b"content of the file")
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert caching.load(path, "key") is None


@pytest.mark.parametrize("name", ["a.txt", "b.bin", caching.MANIFEST])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_not_believed(folder, name, damage):
    caching.check_folder(folder)
    (folder / name).write_bytes(DAMAGE[damage]((folder / name).read_bytes()))
    with pytest.raises(DataError, match="remove the folder to rebuild it"):
        caching.check_folder(folder)


@pytest.mark.parametrize("name", ["a.txt", "b.bin", caching.MANIFEST])
def test_a_missing_file_is_noticed(folder, name):
    (folder / name).unlink()
    with pytest.raises(DataError, match="remove the folder to rebuild it"):
        caching.check_folder(folder)


def test_the_first_writer_wins(folder):
    assert caching.save_folder(folder, lambda scratch: None)
    caching.check_folder(folder)
    assert entries(folder.parent) == ["entry"]


def test_a_failed_writer_leaves_nothing(tmp_path):
    def fails(scratch: Path) -> None:
        (scratch / "a").write_text("part")
        raise OSError(errno.ENOSPC, "no space left")

    assert not caching.save_folder(tmp_path / "entry", fails)
    assert entries(tmp_path) == []


def test_what_dead_writers_left_is_swept(tmp_path):
    old = time.time() - 2 * caching.ABANDONED
    for name in ("dead-folder", "dead-file", "alive"):
        path = tmp_path / f"{caching.SCRATCH}{name}"
        if name == "dead-folder":
            path.mkdir()
            (path / "part").write_text("x")
        else:
            path.write_text("x")
        if name != "alive":
            os.utime(path, (old, old))
    caching.save(tmp_path / "file", "key", b"")
    assert entries(tmp_path) == [".new-alive", "file"]


def test_write_atomically_keeps_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "file"
    caching.write_atomically(path, b"old")

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="broken disk"):
        caching.write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert entries(tmp_path) == ["file"]


def test_a_file_is_rewritten_from_its_own_lines(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"1\n2\n3\n")
    with path.open("rb") as lines:
        caching.write_atomically(path, (line for line in lines if int(line) != 2))
    assert path.read_bytes() == b"1\n3\n"
    with path.open("rb") as lines, pytest.raises(ValueError, match="invalid literal"):
        caching.write_atomically(path, (b"%d\n" % int(line + b"x") for line in lines))
    assert path.read_bytes() == b"1\n3\n" and [*tmp_path.iterdir()] == [path]


def test_content_reaches_the_disk_before_the_name(tmp_path, monkeypatch):
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(os, "replace", lambda *a: (calls.append("replace"), replace(*a))[1])
    caching.write_atomically(tmp_path / "file", b"data")
    assert calls[:2] == ["fsync", "replace"]


def test_all_of_a_folder_reaches_the_disk_before_its_name(tmp_path, monkeypatch):
    scratch, target = tmp_path / "scratch", tmp_path / "target"
    (scratch / "deep").mkdir(parents=True)
    for name in ("one", "deep/two"):
        (scratch / name).write_text(name)
    forced: set[int] = set()
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (forced.add(os.fstat(fd).st_ino), fsync(fd))[1])
    expected = {path.stat().st_ino for path in (scratch, *scratch.rglob("*"))}
    seen_at_rename: list[set[int]] = []
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda *a: (seen_at_rename.append({*forced}), replace(*a)))
    caching.publish(scratch, target)
    assert seen_at_rename == [expected] and (target / "deep" / "two").read_text() == "deep/two"
    assert tmp_path.stat().st_ino in forced
    (scratch / "other").mkdir(parents=True)
    with pytest.raises(OSError, match="not empty"):
        caching.publish(scratch, target)
    assert (target / "one").exists()


@pytest.mark.parametrize("place", ["a file", "/proc"])
def test_an_unwritable_cache_is_no_error(tmp_path, place):
    parent = tmp_path / "file" if place == "a file" else Path("/proc/nowhere")
    if place == "a file":
        parent.write_text("in the way")
    elif not Path("/proc").is_dir():
        pytest.skip("needs a folder in which nobody can write")
    assert not caching.save(parent / "x" / "file", "key", b"data")
    assert not caching.save_folder(parent / "x" / "entry", lambda scratch: None)


def test_a_user_without_a_home_has_a_cache_of_their_own(tmp_path):
    code = """
import os, pwd
def nobody(uid):
    raise KeyError(uid)
pwd.getpwuid = nobody
for name in ("HOME", "XDG_CACHE_HOME", "AGENTGYM_CACHE"):
    os.environ.pop(name, None)
from agentgym.support.caching import cache_folder, load, save
folder = cache_folder()
assert save(folder / "file", "key", b"data") and load(folder / "file", "key") == b"data"
assert folder == cache_folder()
print(folder)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert Path(process.stdout.strip()).is_relative_to(tmp_path)


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    caching._homeless.cache_clear()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"agentgym-{os.getuid()}").symlink_to(elsewhere)
    try:
        assert caching._homeless().resolve() != elsewhere.resolve()
    finally:
        caching._homeless.cache_clear()


def test_a_process_that_may_open_no_more_files_is_told_so(folder, tmp_path) -> None:
    descriptors = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[1]), limits[1]))
    try:
        with suppress(OSError):
            while True:
                descriptors.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(EnvFailure, match="ulimit -n"):
            caching.check_folder(folder)
        with pytest.raises(EnvFailure, match="ulimit -n"):
            caching.save_folder(tmp_path / "new", lambda scratch: (scratch / "a").touch())
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    caching.check_folder(folder)
