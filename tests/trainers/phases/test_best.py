"""Which policy is kept as the best, and that it is the one that is compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.trainers import toy_runs
from trainers.cli import main
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.best import BestPolicy, Validated
from trainers.phases.run import train


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.open(tmp_path / "run", toy_runs.config(tmp_path / "run"))


def best(folder: RunFolder) -> BestPolicy:
    """A keeper of policies that are one file each: the number of the step."""

    def save(path: Path) -> None:
        path.mkdir()
        (path / "weights").write_text(str(validated(folder)))

    return BestPolicy(folder, save)


def validated(folder: RunFolder) -> int:
    return max(record["step"] for record in folder.metrics())


def offer(folder: RunFolder, step: int, success: float, score: float = 0.5) -> None:
    """Validate the policy of a step, and let it be kept."""
    folder.log(phase=Phase.VALIDATION, step=step, success=success, score=score)
    best(folder).keep(step)


def read_best(folder: RunFolder) -> tuple[int, str]:
    best_policy = best(folder).results
    assert best_policy is not None
    return best_policy.step, (folder.best / "weights").read_text()


def test_success_decides_then_the_score_and_the_later_of_equals_loses(folder):
    offer(folder, 2, 0.5, 0.9)
    assert read_best(folder) == (2, "2")
    for step, success, score, expected in (
        (4, 0.4, 1.0, 2),
        (6, 0.5, 0.9, 2),
        (8, 0.5, 0.95, 8),
        (10, 0.6, 0.1, 10),
    ):
        offer(folder, step, success, score)
        assert read_best(folder) == (expected, str(expected))
    assert [path.name for path in folder.checkpoints.iterdir()] == ["best"], "one, not all of them"


def test_the_policy_before_the_first_step_is_no_candidate(folder):
    offer(folder, 0, 1.0)
    assert best(folder).results is None
    offer(folder, 2, 0.0)
    assert read_best(folder) == (2, "2")


def test_another_step_than_the_validated_one_is_not_kept(folder):
    folder.log(phase=Phase.VALIDATION, step=4, success=0.5, score=0.5)
    best(folder).keep(5)
    assert best(folder).results is None


def test_a_kill_in_the_middle_of_the_change_leaves_one_that_is_whole(folder):
    offer(folder, 2, 0.5)
    half = folder.checkpoints / ".best-new"
    half.mkdir()
    (half / "weights").write_text("half")
    assert read_best(folder) == (2, "2")
    # Complete, and the old one is gone already.
    (half / "validation.json").write_text(json.dumps({"step": 4, "success": 0.6, "score": 0.5}))
    folder.best.rename(folder.path / "gone")
    assert read_best(folder) == (4, "half")
    offer(folder, 6, 0.7)
    assert read_best(folder) == (6, "6")
    assert not half.exists()


@pytest.mark.slow
def test_a_run_keeps_the_best_of_its_validations_with_its_weights(finished):
    records = [r for r in toy_runs.metrics(finished) if r["phase"] == "valid" and r["step"]]
    expected = max(records, key=lambda r: (r["success"], r["score"], -r["step"]))
    validation = Validated.from_record(
        json.loads((finished / "checkpoints" / "best" / "validation.json").read_text())
    )
    assert validation == Validated(expected["step"], expected["success"], expected["score"])
    choice = toy_runs.summary(finished)["chosen"]
    assert (choice["checkpoint"], choice["step"]) == ("best", validation.step)
    assert validation.step == 4, "neither the first nor the last: the test below would say nothing"
    weights = [
        load_file(finished / "checkpoints" / name / "model.safetensors")
        for name in ("best", "rl/checkpoint-4", "trained", "rl/checkpoint-6")
    ]
    for tensors, same_tensors in (weights[:2], weights[2:]):
        assert all(tensors[name].equal(same_tensors[name]) for name in same_tensors)
    remark = "The trained policy is that of step 4 of 6, the best on the validation tasks"
    assert any(sentence.startswith(remark) for sentence in toy_runs.summary(finished)["remarks"])
    for page in ("report.html", "checkpoints/best/README.md"):
        assert remark in (finished / page).read_text()


@pytest.mark.slow
def test_the_best_policy_is_the_one_that_is_compared(finished, tmp_path):
    """It plays as the last policy of a run that ended at its step."""
    out = tmp_path / "run"
    summary = train(toy_runs.config(out, "--eval.keep=last", steps=4), Display(quiet=True))
    assert summary["chosen"]["checkpoint"] == "trained"
    assert not any("best on the" in remark for remark in summary["remarks"])
    shorter, longer = toy_runs.by_phase(out), toy_runs.by_phase(finished)
    for arm in ("eval trained", "eval trained-greedy"):
        assert shorter[arm] == longer[arm]
    assert (out / "checkpoints" / "best" / "validation.json").exists(), "kept in any case"


@pytest.mark.slow
def test_the_last_policy_is_validated_even_between_two_validations(tmp_path):
    changes = {"steps": 3, "sft__max_steps": 5, "eval__num_tasks": 8, "eval__every": 2}
    out = tmp_path / "run"
    assert main(toy_runs.arguments(out, **changes)) == 0
    assert [record["step"] for record in toy_runs.by_phase(out)["valid"]] == [0, 2, 3]
    # Once more from the last checkpoint, without its summary: it is not validated twice.
    old_text = toy_runs.by_phase(out), (out / "eval_episodes" / "valid.jsonl").read_bytes()
    (out / "summary.json").unlink()
    assert main(["--resume", "--out", str(out)]) == 0
    assert (
        toy_runs.by_phase(out),
        (out / "eval_episodes" / "valid.jsonl").read_bytes(),
    ) == old_text


def test_without_validations_the_last_policy_is_the_trained_one(tmp_path, capsys):
    command = toy_runs.arguments(tmp_path / "run", "--eval.keep=best", eval__every=0)
    assert main(command) == 2
    assert "expected --eval.every of at least 1 with --eval.keep best" in capsys.readouterr().err
    from trainers.config.resolve import resolve

    run = resolve(toy_runs.config(tmp_path / "run", eval__every=0))
    assert run.config.eval.keep == "last"
    assert resolve(toy_runs.config(tmp_path / "run")).config.eval.keep == "best"
