"""vLLM generates in a thread while the policy trains beside it."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np

from tests.trainers import toy_runs
from tests.trainers.vllm.policy import prompts
from trainers.cli import main
from trainers.rollouts.engines.base import Sampling, generate
from trainers.rollouts.engines.parity import FP32_TOLERANCE

AHEAD: dict[str, Any] = {
    "engine": "vllm", "async_rollouts__staleness": 1, "steps": 3, "sft__max_steps": 5,
    "eval__every": 0, "eval__num_tasks": 8,
}  # fmt: skip


def drawn() -> list[float]:
    """Numbers of all global generators."""
    import torch

    return [random.random(), float(np.random.random()), float(torch.rand(()))]


def seeded() -> None:
    import torch

    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def test_generation_and_training_draw_nothing_from_each_other(engine: Any) -> None:
    """What is drawn while a thread generates is what would be drawn without it."""
    states = random.getstate(), np.random.get_state()
    import torch

    with torch.random.fork_rng(devices=[]):
        seeded()
        expected = [drawn() for _ in range(20)]
        seeded()
        finished, alone = [], generate(engine, prompts(), Sampling(max_tokens=24))
        thread = threading.Thread(
            target=lambda: finished.append(generate(engine, prompts(), Sampling(max_tokens=24)))
        )
        thread.start()
        draws = []
        while thread.is_alive() or len(draws) < len(expected):
            if len(draws) < len(expected):
                draws.append(drawn())
            thread.join(0.01)
    random.setstate(states[0])
    np.random.set_state(states[1])
    assert draws == expected
    assert finished == [alone]


def test_a_run_generates_ahead_in_its_own_process(tmp_path: Path) -> None:
    assert main(toy_runs.arguments(tmp_path / "run", **AHEAD)) == 0
    records = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert [record["staleness"] for record in records] == [0.0, 1.0, 1.0]
    assert any(record["grad_norm"] > 0 for record in records)
    gaps = [r["probe_gap"] for r in toy_runs.metrics(tmp_path / "run") if "probe_gap" in r]
    assert gaps and max(gaps) <= FP32_TOLERANCE
