"""Memory of a process, by what the kernel's files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.support import process_memory
from agentgym.support.process_memory import available_bytes, peak_bytes, resident_bytes

GIB = 2**30


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel that says what a test writes, of a machine with 8 GiB available."""
    for name in ("PROC", "CGROUPS"):
        monkeypatch.setattr(process_memory, name, tmp_path / name)
    write(tmp_path / "PROC/meminfo", f"MemTotal: 1 kB\nMemAvailable: {8 * 2**20} kB\n")
    return tmp_path


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_without_a_limit_all_that_the_machine_has_is_available(kernel):
    assert available_bytes() == 8 * GIB
    write(kernel / "PROC/self/cgroup", "0::/")
    write(kernel / "CGROUPS/memory.max", "max")
    assert available_bytes() == 8 * GIB


@pytest.mark.parametrize("place", ["/job/step", "/a/path/of/the/host"])
def test_a_control_group_or_one_above_it_limits_what_is_available(kernel, place):
    """Files in memory that nobody uses are dropped before a process is killed."""
    write(kernel / "PROC/self/cgroup", f"0::{place}")
    write(kernel / "CGROUPS/memory.max", 4 * GIB)
    write(kernel / "CGROUPS/memory.current", 3 * GIB)
    write(kernel / "CGROUPS/memory.stat", f"anon 1\ninactive_file {GIB}")
    assert available_bytes() == 2 * GIB
    write(kernel / "CGROUPS/job/step/memory.max", GIB)
    write(kernel / "CGROUPS/job/step/memory.current", GIB // 2)
    assert available_bytes() == (GIB // 2 if place == "/job/step" else 2 * GIB)


def test_version_1_of_control_groups_is_read_as_well(kernel):
    write(kernel / "PROC/self/cgroup", "7:cpu:/x\n4:memory:/job")
    write(kernel / "CGROUPS/memory/job/memory.limit_in_bytes", 3 * GIB)
    write(kernel / "CGROUPS/memory/job/memory.usage_in_bytes", GIB)
    assert available_bytes() == 2 * GIB


def test_a_system_without_these_files_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(process_memory, "PROC", tmp_path)
    assert available_bytes() is None and resident_bytes() is None
    assert peak_bytes() > 0


def test_this_process_holds_what_it_allocates():
    if (memory_before := resident_bytes()) is None:
        pytest.skip("the kernel has no /proc")
    block = bytes(64 * 2**20).replace(b"\0", b"x")
    assert resident_bytes() - memory_before > len(block) // 2
    assert peak_bytes() >= resident_bytes() - 2**20
