"""What a step is spent on is told by environments that play the same game."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from tests.toy import TOY_ID

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, which finds its neighbours as it does where it is run."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("core_overhead")


def test_environments_with_fewer_parts_play_the_same_game(benchmark: Any) -> None:
    envs = [benchmark.PlainToy(), *map(gymnasium.make, (benchmark.SILENT_ID, TOY_ID))]
    answers = set[str]()
    for seed in range(20):
        transcripts = [[env.reset(seed=seed)[0]] for env in envs]
        for turn in range(8):
            action = benchmark.ACTIONS[turn & 3] if turn < 7 else "open"
            steps = [env.step(action) for env in envs]
            for turns, step in zip(transcripts, steps, strict=True):
                turns.append(step[:4])
            if steps[-1][2]:
                break
        assert transcripts[0] == transcripts[1] == transcripts[2]
        answers |= {turn[0].partition(" ")[0] for turn in transcripts[0][1:]}
    assert answers == {"click", "nothing", "the", "invalid:"}


def test_the_parts_of_a_step_add_up(benchmark: Any) -> None:
    parts = benchmark.step_parts(1)
    total = parts.pop("whole")
    assert len(parts) == 4 and sum(parts.values()) == pytest.approx(total, abs=0.01)
