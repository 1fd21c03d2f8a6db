"""Threads of torch: by the size of the model, the cores, and the variables of the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from trainers.models import threads
from trainers.models.threads import (
    LARGE,
    computing_threads,
    physical_cores,
    thread_count,
    thread_limit,
)


def described(root: Path, siblings: list[str], quota: str = "max 100000") -> Path:
    """A machine as Linux describes it, with the siblings of each logical processor."""
    for cpu, text in enumerate(siblings):
        folder = root / f"devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{text}\n")
    (root / "fs/cgroup").mkdir(parents=True)
    (root / "fs/cgroup/cpu.max").write_text(quota)
    return root


@pytest.mark.parametrize(
    ("affinity", "quota", "cores"),
    [
        ({0, 1, 2, 3}, "max 100000", 2),  # two cores of two threads each
        ({0, 2}, "max 100000", 1),  # both threads of one core
        ({0, 1}, "max 100000", 2),
        ({0, 1, 2, 3}, "100000 100000", 1),  # a container with one processor
        ({0, 1, 2, 3}, "50000 100000", 1),  # and with half of one
        ({0, 1, 2, 3, 9}, "max 100000", 3),  # one of which nothing is known
    ],
)
def test_threads_of_one_core_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, affinity: set[int], quota: str, cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: affinity, raising=False)
    assert physical_cores(described(tmp_path, ["0,2", "1,3", "0,2", "1,3"], quota)) == cores


def test_a_large_model_takes_the_cores_and_a_small_one_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "physical_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert (thread_count("auto", LARGE - 1), thread_count("auto", LARGE)) == (1, 8)
    assert thread_count(3, 1) == thread_count(3, LARGE) == 3
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")  # of a launch on this machine
    assert thread_count("auto", LARGE) == 2


@pytest.mark.parametrize(("variable", "limit"), [("2", 2), ("16", 8), ("0", 8), ("2,1", 8)])
def test_the_variable_of_openmp_is_a_limit(
    monkeypatch: pytest.MonkeyPatch, variable: str, limit: int
) -> None:
    monkeypatch.setattr(threads, "physical_cores", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert thread_limit() == limit


def test_the_number_holds_within_and_is_given_back_after_an_error() -> None:
    threads_before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), computing_threads(threads_before + 2):
        assert torch.get_num_threads() == threads_before + 2
        raise ZeroDivisionError
    assert torch.get_num_threads() == threads_before
    with computing_threads(None):
        assert torch.get_num_threads() == threads_before
