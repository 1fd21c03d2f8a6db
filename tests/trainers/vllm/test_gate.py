"""The warm start is validated on the engine that was chosen for the run."""

from __future__ import annotations

from pathlib import Path

from tests.trainers import toy_runs
from trainers.config.resolve import resolve
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.warm_start import ValidationGate, warm_start


def test_the_gate_plays_on_vllm_with_the_weights_of_the_moment(tmp_path: Path) -> None:
    changes = {"sft__max_steps": 20, "sft__eval_every": 10}
    config = toy_runs.config(tmp_path / "run", engine="vllm", **changes)
    plan, folder = resolve(config), RunFolder.open(tmp_path / "run", config)
    policy = warm_start(plan, folder, Display(quiet=True))
    records = [r for r in toy_runs.metrics(tmp_path / "run") if "success" in r]
    assert [record["step"] for record in records] == [10, 20]
    assert records[0]["score"] != records[1]["score"]
    gate = ValidationGate(
        plan, folder, policy
    )  # The engine of the warm start has made room for another.
    try:
        assert gate.engine.name == "vllm"
        gate(3)
        assert gate.engine.version == 3
    finally:
        gate.close()
