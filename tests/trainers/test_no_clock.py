"""The default run is defined by steps and tokens: no clock decides anything in it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentgym.vector.backends import usual_workers
from tests.trainers import toy_runs
from trainers.cli import main

pytestmark = pytest.mark.slow

SHORTENED = (
    "--env-kwargs", "size=200", "--steps=2", "--rl.groups=2", "--rl.group-size=4",
    "--rl.turn-tokens=16", "--tiny.layers=1", "--tiny.hidden=16", "--tiny.intermediate=32",
    "--sft.demonstrations=32", "--sft.max-steps=20", "--sft.copy-steps=5", "--sft.gate-every=10",
    "--sft.gate-tasks=2", "--eval.every=1", "--eval.valid-tasks=2", "--eval.tasks=3",
)  # fmt: skip
"""The default run but for its sizes: its own expert, credit, rivals and turns."""
FAST = 400.0
"""How many times faster time passes beside the load, for those who look at a clock."""


def trained(out: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 32)
        assert main(["--env=webshop", *SHORTENED, f"--out={out}"]) == 0
    return out


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with processes that do nothing else, and yield to other tests."""
    count, spin = usual_workers("process"), "import os; os.nice(5)\nwhile True: pass"
    spinners = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(count)]
    try:
        yield
    finally:
        for each in spinners:
            each.kill()
            each.wait()


def figures(folder: Path) -> dict[str, Any]:
    """All that a run has recorded, and its rivals, without what the clock said."""
    rivals = {path.name: toy_runs.by_phase(path) for path in (folder / "rivals").iterdir()}
    return {"run": toy_runs.by_phase(folder), **rivals, "summary": toy_runs.summary(folder)}


def test_a_run_beside_a_load_is_the_run_of_a_quiet_machine_to_the_bit(tmp_path, monkeypatch):
    quiet = trained(tmp_path / "quiet")
    began = time.monotonic()
    clock = SimpleNamespace(
        monotonic=lambda: began + FAST * (time.monotonic() - began),
        process_time=time.process_time,
        sleep=time.sleep,
    )
    with busy_cores(), monkeypatch.context() as patch:
        patch.setattr("trainers.output.run_folder.time", clock)
        loaded = trained(tmp_path / "loaded")
    expected = figures(quiet)
    assert {"imitation", "successes"} < set(expected)
    assert figures(loaded) == expected
    weights = sorted(path.relative_to(quiet) for path in quiet.rglob("*.safetensors"))
    assert {"warm-start", "trained", "imitation", "successes"} <= {p.parent.name for p in weights}
    for path in weights:
        ours, theirs = load_file(loaded / path), load_file(quiet / path)
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs), path
