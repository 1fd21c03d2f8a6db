"""The arm that imitates further, through whole runs on the toy environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from trainers.phases.imitation import PREFIX, VALIDATIONS, steps_as_long

from agentgym.errors import ConfigurationError
from tests.trainers import toy_runs
from tests.trainers.phases.test_resume import LOG, Killed, die_after
from trainers.config.resolve import resolve
from trainers.output.display import Display
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.phases.learning_clock import LearningClock
from trainers.run import train

pytestmark = pytest.mark.slow

SHORT = {
    "steps": 2, "horizon_every": 1, "horizon": 5, "eval__imitation": 100, "eval__tasks": 10,
    "eval__valid_tasks": 8,
}  # fmt: skip
"""So long that it learns; it validates and may be resumed every 10 steps."""


def config(out: Path, *flags: str, **changes: Any) -> Any:
    return toy_runs.config(out, *flags, **{**SHORT, **changes})


@pytest.fixture(scope="module")
def imitated(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("imitation") / "run"
    train(config(folder), Display(quiet=True))
    return folder


def of_phase(folder: Path, *keys: str) -> list[dict[str, Any]]:
    records = toy_runs.by_phase(folder)["imitation"]
    return [record for record in records if all(key in record for key in keys)]


def test_the_best_by_validation_is_kept_and_compared(imitated):
    validated = of_phase(imitated, "success")
    assert [record["step"] for record in validated] == [0, *range(10, 101, 100 // VALIDATIONS)]
    best = max(validated, key=lambda r: (r["success"], r["score"], -r["step"]))
    summary = toy_runs.summary(imitated)
    assert summary["imitation"] == {
        "steps": 100, "chosen": best["step"], "valid_success": best["success"],
    }  # fmt: skip
    assert summary["names"]["imitation"] == "imitation"
    paired = summary["paired"]["rl_minus_imitation"]
    arms = summary["eval"]
    assert paired["success_mean"] == pytest.approx(
        arms["rl"]["success"] - arms["imitation"]["success"]
    )
    assert "rl_minus_imitation" in summary["greedy"]
    assert "trained minus imitation is" in summary["verdict"]
    assert (imitated / "eval_episodes" / "imitation.jsonl").exists()
    assert (imitated / "checkpoints" / PREFIX / COMPLETE).exists()
    assert not list((imitated / "checkpoints").glob(f"{PREFIX}-*"))
    page = (imitated / "report.html").read_text()
    assert "minus imitation" in page and "100 further steps on the demonstrations" in page


def test_it_learns_from_the_policy_that_reinforcement_began_with(imitated):
    losses = [record["loss"] for record in of_phase(imitated, "loss")]
    warm = [r["loss"] for r in toy_runs.by_phase(imitated)["sft"] if "loss" in r]
    assert losses[0] < warm[0] and losses[-1] < warm[-1]


@pytest.mark.parametrize("call", [{"step": 30, "success": ...}, {"step": 60, "loss": ...}])
def test_a_run_that_is_killed_while_it_imitates_ends_as_if_nothing_had_happened(
    imitated, tmp_path, monkeypatch, call
):
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        die_after(patch, LOG, {"phase": "imitation", **call})
        with pytest.raises(Killed):
            train(config(folder), Display(quiet=True))
    assert RunFolder(folder).latest_checkpoint(PREFIX) is not None
    train(config(folder, "--resume"), Display(quiet=True))
    resumed, whole = toy_runs.by_phase(folder), toy_runs.by_phase(imitated)
    assert resumed == whole
    assert toy_runs.summary(folder) == toy_runs.summary(imitated)
    weights = [
        load_file(path / "checkpoints" / PREFIX / "model.safetensors")
        for path in (folder, imitated)
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_by_default_it_lasts_as_long_as_reinforcement_learning(tmp_path):
    folder = tmp_path / "run"
    train(config(folder, eval__imitation=None, eval__tasks=4), Display(quiet=True))
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = steps_as_long(records)
    assert steps > 0
    summary = toy_runs.summary(folder)
    assert summary["imitation"]["steps"] == steps
    assert any("as long as reinforcement learning" in remark for remark in summary["remarks"])


def test_steps_as_long_leave_validations_out():
    warm = [{"phase": "sft", "step": 10 * k, "loss": 1.0, "seconds": 2.0} for k in (1, 2)]
    gate = [{"phase": "sft", "step": 20, "success": 0.1}]
    times = {"generation": 5.0, "update": 6.0, "validation": 100.0}
    learnt = [{"phase": "rl", "step": k, "time": times} for k in (1, 2)]
    assert steps_as_long([*warm, *gate, *learnt]) == 110  # 22 s at .2 s a step
    assert steps_as_long(learnt) == 0


def test_a_longer_run_makes_the_comparison_anew(imitated, tmp_path):
    folder = tmp_path / "run"
    train(config(folder, eval__imitation=10), Display(quiet=True))
    first = toy_runs.summary(folder)
    train(config(folder, "--resume", eval__imitation=10, steps=3), Display(quiet=True))
    longer = toy_runs.summary(folder)
    assert (first["steps"], longer["steps"]) == (2, 3)
    assert first["imitation"] == longer["imitation"]
    assert first["eval"]["imitation"] == longer["eval"]["imitation"]
    arms = [r["arm"] for r in toy_runs.metrics(folder) if r["phase"] == "eval"]
    assert arms.count("imitation") == 1


def test_the_time_that_is_left_is_divided_between_the_two(tmp_path):
    def deadline(**changes: Any) -> float:
        made = resolve(toy_runs.config(tmp_path / "run", minutes=10, **changes))
        folder = RunFolder(tmp_path / "run")
        folder.path.mkdir(exist_ok=True)
        (folder.path / "state.json").write_text('{"seconds": 200, "rl_began": 200}')
        return LearningClock(made, folder).deadline

    assert deadline(eval__imitation="as-long") == 400
    assert deadline(eval__imitation=50) == deadline(eval__imitation=0) == 600


def test_random_actions_can_be_imitated_where_there_is_no_expert(tmp_path):
    folder = tmp_path / "run"
    settings = {"sft__demonstrator": "random", "eval__imitation": None, "eval__tasks": 6}
    train(config(folder, env=toy_runs.NO_EXPERT_ID, **settings), Display(quiet=True))
    summary = toy_runs.summary(folder)
    assert summary["warm_start"]["steps"] == 40
    assert "imitation" not in summary["eval"]
    assert any("imitated random actions for 40 steps" in remark for remark in summary["remarks"])
    losses = [r["loss"] for r in toy_runs.by_phase(folder)["sft"] if "loss" in r]
    assert losses[-1] < losses[0]


def test_the_random_actions_are_other_episodes_than_the_experts(tmp_path):
    made = resolve(config(tmp_path / "run", sft__demonstrator="random", sft__max_steps=None))
    assert made.config.sft.max_steps == 300 and made.envs[0].gate_success == 1.0
    assert made.config.eval.imitation == 100
    assert made.envs[0].demonstrator == "random" and made.envs[0].has_expert


def test_without_a_warm_start_there_is_nothing_to_imitate_further(tmp_path):
    assert (
        resolve(config(tmp_path, eval__imitation=None, sft__max_steps=0)).config.eval.imitation == 0
    )
    with pytest.raises(ConfigurationError, match="because without a warm start"):
        resolve(config(tmp_path, sft__max_steps=0))
