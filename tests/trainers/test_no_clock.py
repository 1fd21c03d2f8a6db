"""The default run is defined by steps and tokens: no clock decides anything in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.cli import main

pytestmark = pytest.mark.slow

SHORTENED = (
    "--env-kwargs", "size=200", "--steps=2", "--rl.groups=2", "--rl.num-generations=4",
    "--rl.turn-tokens=16", "--tiny.layers=1", "--tiny.hidden=16", "--tiny.intermediate=32",
    "--sft.demonstrations=12", "--sft.max-steps=8", "--sft.copy-steps=5", "--sft.eval-every=4",
    "--sft.eval-tasks=2", "--eval.every=1", "--eval.valid-tasks=2", "--eval.num-tasks=3",
)  # fmt: skip
"""The default run but for its sizes: its own expert, credit, baselines and turns."""
CLOCKS = ("monotonic", "perf_counter", "time", "thread_time")
FAST = 400.0
"""How many times faster time passes on the busy machine, for those who look at a clock."""


def trained(out: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trainers.phases.warm_start.VOCABULARY_EPISODES", 12)
        assert main(["--env=webshop", *SHORTENED, f"--out={out}"]) == 0
    return out


def hurried(clock: Callable[[], float]) -> Callable[[], float]:
    """A clock on which everything takes many times as long."""
    start = clock()
    return lambda: start + FAST * (clock() - start)


def seconds(folder: Path) -> float:
    """What a run believes to have taken."""
    return float(json.loads((folder / "summary.json").read_text())["wall_s"])


def figures(folder: Path) -> dict[str, Any]:
    """All that a run has recorded, and the baselines, without what the clock said."""
    baselines = {path.name: toy_runs.by_phase(path) for path in (folder / "baselines").iterdir()}
    return {"run": toy_runs.by_phase(folder), **baselines, "summary": toy_runs.summary(folder)}


def test_a_run_on_a_busy_machine_is_the_run_of_a_quiet_one_to_the_bit(tmp_path, monkeypatch):
    """What a load does to a run is that more time has passed whenever it looks at a clock."""
    quiet = trained(tmp_path / "quiet")
    with monkeypatch.context() as patch:
        for name in CLOCKS:
            patch.setattr(time, name, hurried(getattr(time, name)))
        loaded = trained(tmp_path / "loaded")
    assert seconds(loaded) > 10 * seconds(quiet)
    expected = figures(quiet)
    assert {"bc", "filtered-bc"} < set(expected)
    assert figures(loaded) == expected
    weights = sorted(path.relative_to(quiet) for path in quiet.rglob("*.safetensors"))
    assert {"warm-start", "trained", "bc", "filtered-bc"} <= {p.parent.name for p in weights}
    for path in weights:
        tensors, reference = load_file(loaded / path), load_file(quiet / path)
        assert all(torch.equal(tensors[name], reference[name]) for name in reference), path
