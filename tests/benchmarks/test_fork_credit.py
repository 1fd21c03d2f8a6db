"""What is said of credit by forks: at equal tokens, and of the noise of its gradients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from agentgym.rewards.judge.question import make_question, read_prompt
from benchmarks.fork_noise import CRITIC, GRADIENTS, STILL, main, price, recorded, still
from benchmarks.scripted_judge import answer
from benchmarks.studies import fork_credit
from benchmarks.studies.runner.keys import settle
from benchmarks.studies.runner.study import Arm
from tests.benchmarks.test_measures import write
from tests.trainers import toy_runs
from tests.trainers.pictures import drawn
from trainers.phases.multirun.played import PlayedRun


def run(folder: Path, tokens: int, success: tuple[float, ...]) -> PlayedRun:
    """A run that sampled so many tokens in each step, validated before the first and after each."""
    steps = range(1, len(success))
    valid = [
        {"phase": "valid", "step": step, "turns_total": 10 * step, "success": value, "score": value}
        for step, value in enumerate(success)
    ]
    rl = [{"phase": "rl", "step": step, "tokens_total": tokens * step} for step in steps]
    write(folder / "metrics.jsonl", [*valid, *rl])
    return PlayedRun(folder, 0, folder.name)


def test_methods_are_compared_where_the_shortest_run_ends(tmp_path: Path) -> None:
    """By hand: the target lies halfway from .2 to 1; the shortest run ends after 200 tokens."""
    family = fork_credit.measure({
        "toy/turn-loo": [run(tmp_path / "house", 100, (0.2, 0.4, 0.8, 0.9))],
        "toy/fork-value": [run(tmp_path / "fork", 50, (0.2, 0.2, 0.4, 0.4, 0.5))],
    })["families"]["toy"]  # fmt: skip
    house, fork = family["methods"]["turn-loo"], family["methods"]["fork-value"]
    assert family["tokens"] == [200] and family["warm_start"]["mean"] == 0.2
    assert house["success_at_equal_tokens"]["mean"] == pytest.approx(0.8)
    assert fork["minus_turn_loo"]["mean"] == pytest.approx(0.5 - 0.8)
    assert house["tokens_to_target"] == [pytest.approx(150)] and fork["tokens_to_target"] == [None]


def test_a_price_is_tokens_times_variance_over_squared_mean() -> None:
    rng = np.random.default_rng(0)
    drawn_ones = rng.normal(1.0, 2.0, (4000, 5)).astype(np.float32)
    figures = price(drawn_ones, 10.0)
    assert figures["noise_to_signal"] == pytest.approx(4.0, rel=0.05)
    assert figures["tokens_for_noise_of_one"] == pytest.approx(40.0, rel=0.05)
    assert price(np.array([[1.0], [-1.0]]), 10.0)["noise_to_signal"] is None


def test_gradients_are_those_of_the_studys_warm_starts() -> None:
    for family in fork_credit.FAMILIES:
        arms = [make(family, m) for m in fork_credit.METHODS for make in (fork_credit.arm, resting)]
        assert len({settle(arm.settings).keys(0).start for arm in arms}) == 1


def test_what_was_not_played_is_not_in_the_result(tmp_path: Path, capsys: Any) -> None:
    assert main(["--collect", "--out", f"{tmp_path}", "--seeds", "1", "--only", "toy"]) == 1
    captured = capsys.readouterr()
    summary = json.loads(captured.out)
    assert "missing: toy/" in captured.err
    assert (summary["families"], summary["seeds"], summary["turns"]) == ({}, [0], 6000)


def resting(family: str, method: str) -> Arm:
    return still(family, method, 100)


@pytest.mark.slow
def test_gradients_are_taken_down_and_no_weight_moves(tmp_path: Path) -> None:
    out, small = tmp_path / "run", {"sft__max_steps": 4, "steps": 3, "eval__num_tasks": 2}
    once = {name: None for name in ("rl__learning_rate", "eval__every")}
    with drawn(False):
        ppo_flags = ("--preset=ppo", "--rl.minibatches=1", *STILL.split(), *CRITIC.split())
        assert recorded(toy_runs.arguments(out, *ppo_flags, **small, **once)) == 0
    loss_before, loss_after = (
        load_file(out / "checkpoints" / name / "model.safetensors")
        for name in ("warm-start", "trained")
    )
    assert all(loss_before[name].equal(loss_after[name]) for name in loss_before)
    gradients = np.load(out / GRADIENTS)
    steps = toy_runs.by_phase(out)["rl"]
    norms = np.linalg.norm(gradients, axis=1)
    assert gradients.shape == (3, sum(weight.numel() for weight in loss_after.values()))
    assert norms == pytest.approx([step["grad_norm"] for step in steps], rel=1e-3)


def test_the_scripted_judge_answers_what_the_hook_asks() -> None:
    question = make_question(read_prompt("episode"), "", [("action", "VERDICT 0a1b DECISION")])
    assert question.read(answer(question.messages[-1]["content"])) == 0.0
