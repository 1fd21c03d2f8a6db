"""Where libraries come from."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile

import pytest

from agentgym.envs.swe.making import library_sources as sources
from agentgym.envs.swe.making.library_sources import obtain, unpack
from agentgym.errors import ConfigurationError, DataError


def archive(path, members):
    """Write a source distribution; a member without content is a link to the outside."""
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                entry.size = len(content)
            file.addfile(entry, io.BytesIO(content or b""))
    return path


def test_a_folder_is_taken_as_it_is(tmp_path):
    assert obtain(str(tmp_path), tmp_path / "work") == tmp_path


def test_a_source_distribution_is_unpacked_once(tmp_path):
    file = archive(tmp_path / "lib-1.2.tar.gz", {"lib-1.2/lib/a.py": b"x = 1\n", "lib-1.2/R": b""})
    folder = obtain(str(file), tmp_path / "work")
    assert folder.name == "lib-1.2" and (folder / "lib/a.py").read_bytes() == b"x = 1\n"
    (folder / "mine").write_text("kept")
    assert obtain(str(file), tmp_path / "work") == folder and (folder / "mine").exists()


def test_nothing_is_written_outside_and_no_link_is_made(tmp_path):
    members = {"l/a.py": b"1", "l/../../evil": b"2", "/l/abs": b"3", "l/link": None, "top": b"4"}
    folder = unpack(archive(tmp_path / "l.tar.gz", members), tmp_path / "work")
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    assert paths in (["a.py", "l", "l/abs"], ["a.py", "abs"])
    assert not (tmp_path / "evil").exists() and not (tmp_path / "work" / "evil").exists()


def test_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "lib-1.zip", "w") as file:
        file.writestr("lib-1/a.py", "x")
    assert (unpack(tmp_path / "lib-1.zip", tmp_path / "work") / "a.py").read_text() == "x"


def test_damage_is_said(tmp_path, monkeypatch):
    (tmp_path / "a.tar.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="expected a source distribution"):
        obtain(str(tmp_path / "a.tar.gz"), tmp_path / "work")
    with pytest.raises(ConfigurationError, match="got no file"):
        obtain(str(tmp_path / "b.tar.gz"), tmp_path / "work")
    monkeypatch.setattr(sources, "MOST_BYTES", 3)
    with pytest.raises(DataError, match="usual size"):
        unpack(archive(tmp_path / "c.tar.gz", {"c/1": b"12", "c/2": b"34"}), tmp_path / "work")


@pytest.mark.parametrize("text", ["--index-url=http://x", "a b", "", "-r file", "../none"])
def test_what_is_no_requirement_never_reaches_pip(tmp_path, monkeypatch, text):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: pytest.fail("pip was called"))
    with pytest.raises(ConfigurationError, match="expected a"):
        obtain(text, tmp_path / "work") if text else obtain("-", tmp_path / "work")


def test_a_requirement_is_downloaded_by_pip_once(tmp_path, monkeypatch):
    calls = []

    def run(command, **options):
        calls.append(command)
        target = command[command.index("--dest") + 1]
        archive(f"{target}/lib-1.2.tar.gz", {"lib-1.2/a.py": b"x"})
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        assert obtain("lib==1.2", tmp_path / "work").name == "lib-1.2"
    [command] = calls
    assert command[1:4] == ["-m", "pip", "download"] and command[-1] == "lib==1.2"
    assert "--no-deps" in command and ":all:" in command


def test_what_pip_says_is_passed_on(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: No matching distribution\n")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(DataError, match="No matching distribution"):
        obtain("lib==9", tmp_path / "work")


def test_an_installed_library_is_copied(tmp_path):
    folder = obtain("installed:packaging", tmp_path / "work")
    assert folder.name.startswith("packaging-")
    assert (folder / "packaging" / "version.py").is_file()
    assert not list(folder.rglob("*.dist-info"))
    with pytest.raises(ConfigurationError, match="pip list"):
        obtain("installed:no-such-thing", tmp_path / "work")
