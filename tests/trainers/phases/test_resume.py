"""A run that is killed, at whatever moment, and resumed ends as if nothing had happened."""

from __future__ import annotations

import signal
from pathlib import Path
from pydoc import locate
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.run import train

pytestmark = pytest.mark.slow


def assert_same_run(folder: Path, reference: Path) -> None:
    """Everything but the clock: metrics per step, evaluation rows, episodes, weights, summary."""
    resumed, expected = toy_runs.by_phase(folder), toy_runs.by_phase(reference)
    assert resumed.keys() == expected.keys()
    for phase, records in expected.items():
        assert resumed[phase] == records, phase
    assert toy_runs.summary(folder) == toy_runs.summary(reference)
    names = [
        path.relative_to(reference) for path in reference.rglob("*.jsonl") if path.stem != "metrics"
    ]
    assert {path.stem for path in names} >= {
        "episodes",
        "random",
        "oracle",
        "warm-start",
        "trained",
    }
    for name in names:
        assert (folder / name).read_bytes() == (reference / name).read_bytes(), name
    for name in ("warm-start", "trained", "best"):
        if not (reference / "checkpoints" / name).exists():
            continue
        weights = [
            load_file(p / "checkpoints" / name / "model.safetensors") for p in (folder, reference)
        ]
        assert weights[0].keys() == weights[1].keys()
        assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_kill_9_in_the_warm_start_and_in_reinforcement(finished, tmp_path):
    """Two real deaths of real processes: after step 30 of 40, and at step 5, between checkpoints.

    The second process continues from the warm start's checkpoint at step 20; then this one from
    the checkpoint at step 4, in the middle of the second stage.
    """
    folder = tmp_path / "run"
    command = toy_runs.arguments(folder)
    first = toy_runs.run_command(command, die_at="sft:30")
    assert first.returncode == -signal.SIGKILL, first.stderr
    checkpoint = RunFolder(folder).latest_checkpoint("sft")
    assert checkpoint is not None
    assert checkpoint.name == "sft-20"
    assert not (folder / "checkpoints" / "warm-start").exists()

    second = toy_runs.run_command([*command, "--resume"], die_at="rl:5")
    assert second.returncode == -signal.SIGKILL, second.stderr
    checkpoint = toy_runs.newest_checkpoint(folder / "checkpoints" / "rl")
    assert checkpoint is not None
    assert checkpoint.name == "checkpoint-4"
    assert [record["step"] for record in toy_runs.by_phase(folder)["rl"]] == [1, 2, 3, 4, 5]
    assert not (folder / "summary.json").exists()

    train(toy_runs.config(folder, "--resume"), Display(quiet=True))
    assert_same_run(folder, finished)


class Killed(BaseException):
    """Stands for the end of the process, where one process can play all the deaths."""


LOG = "trainers.output.run_folder.RunFolder.log"
MOMENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "between the references": (LOG, {"arm": "random"}),
    "after the baselines": (
        "trainers.phases.policy_comparison.PolicyComparison.add_references",
        {},
    ),
    "after copying was taught": ("trainers.phases.warm_start.pretrain_copying", {}),
    "while the gate is asked": (LOG, {"phase": "sft", "step": 20, "success": ...}),
    "before the warm start is marked as complete": (
        "trainers.models.loaded_policy.LoadedPolicy.save",
        {},
    ),
    "after the warm start": ("trainers.phases.reinforcement.Reinforcement.__init__", {}),
    "between the warm start's episodes and their result": (
        "trainers.output.episode_log.EpisodeLog.replace",
        {"arm": "warm-start"},
    ),
    "after the warm start was evaluated": (LOG, {"arm": "warm-start"}),
    "after the first validation": (LOG, {"phase": "valid", "step": 0}),
    "before the first checkpoint": (LOG, {"phase": "rl", "step": 1}),
    "in the middle of the first checkpoint": ("transformers.Trainer._save_rng_state", {}),
    "after the first checkpoint": ("trainers.phases.after_step.write_curve", {}),
    "after the best policy was kept": ("trainers.phases.best.BestPolicy._mark", {}),
    "between validation and the step's record": (LOG, {"phase": "valid", "step": 4}),
    "between a validation's episodes and its record": (
        "trainers.output.episode_log.EpisodeLog.append",
        {"step": 6},
    ),
    "after the last step": (LOG, {"phase": "rl", "step": 6}),
    "in the middle of the last evaluation": (
        "trainers.phases.policy_comparison.evaluation_row",
        {},
    ),
    "after the last evaluation": (LOG, {"arm": "trained"}),
    "before the curve": ("trainers.phases.run._Run._summarise", {}),
    "before the summary": ("trainers.phases.run.write_report", {}),
}
"""Moments of a run, in order: the function after which it ends, and which of its calls."""


def die_after(patch: pytest.MonkeyPatch, target: str, call: dict[str, Any]) -> None:
    """End the run after a call of a function that has these keyword arguments."""
    owner_name, _, name = target.rpartition(".")
    owner = locate(owner_name)
    original = getattr(owner, name)

    def dying(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if all(key in kwargs and value in (..., kwargs[key]) for key, value in call.items()):
            raise Killed
        return result

    patch.setattr(owner, name, dying)


def test_a_run_that_ends_at_every_awkward_moment_in_turn(finished, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    flags: list[str] = []
    for moment, (target, call) in MOMENTS.items():
        with monkeypatch.context() as patch:
            die_after(patch, target, call)
            with pytest.raises(Killed):
                train(toy_runs.config(folder, *flags), Display(quiet=True))
                pytest.fail(f"not reached: {moment}")
        tear(folder)
        flags = ["--resume"]
    train(toy_runs.config(folder, *flags), Display(quiet=True))
    assert_same_run(folder, finished)


def tear(folder: Path) -> None:
    """Leave what a kill in the middle of a write leaves."""
    for name in ("metrics.jsonl", "episodes.jsonl", "eval_episodes/valid.jsonl"):
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("ab") as file:
            file.write(b'{"phase": "rl", "st')


def test_a_checkpoint_counts_when_its_last_file_is_whole(tmp_path):
    for name, state in [("2", '{"global_step": 2}'), ("4", '{"global_st'), ("6", None)]:
        (tmp_path / f"checkpoint-{name}").mkdir()
        if state is not None:
            (tmp_path / f"checkpoint-{name}" / "trainer_state.json").write_text(state)
    assert toy_runs.newest_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert toy_runs.newest_checkpoint(tmp_path / "none") is None


def test_a_spent_turn_budget_stays_spent(tmp_path, monkeypatch):
    """The budget runs out at a checkpoint; a resumed run evaluates that one and trains no more."""
    changes = {"steps": 50, "rl__turn_budget": 90, "sft__max_steps": 0, "eval__every": 0}
    reference, folder = tmp_path / "whole", tmp_path / "run"
    train(toy_runs.config(reference, **changes), Display(quiet=True))
    with monkeypatch.context() as patch:
        die_after(patch, LOG, {"phase": "rl", "step": 2})
        with pytest.raises(Killed):
            train(toy_runs.config(folder, **changes), Display(quiet=True))
    with monkeypatch.context() as patch:
        die_after(patch, "trainers.phases.reinforcement.Reinforcement.train", {})
        with pytest.raises(Killed):
            train(toy_runs.config(folder, "--resume", **changes), Display(quiet=True))
    assert (
        toy_runs.newest_checkpoint(folder / "checkpoints" / "rl")
        == folder / "checkpoints" / "rl" / "checkpoint-2"
    )
    train(toy_runs.config(folder, "--resume", **changes), Display(quiet=True))
    assert_same_run(folder, reference)
    assert toy_runs.summary(folder)["steps"] == 2
