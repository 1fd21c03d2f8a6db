"""The baselines of reinforcement learning, through whole runs on the toy environment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError
from tests.trainers import toy_runs
from tests.trainers.phases.test_resume import Killed
from trainers.cli import main
from trainers.config.resolve import resolve
from trainers.config.schema import from_mapping
from trainers.output.display import Display
from trainers.output.run_folder import RunFolder
from trainers.phases.equal_compute import GENERATION, computed, imitation_steps, spaced
from trainers.phases.learning_clock import LearningClock
from trainers.phases.run import train
from trainers.policies.runs import Runs
from trainers.rollouts.trajectory import Row

SHORT = {
    "env": toy_runs.TAUGHT_ID, "env-kwargs": "expert=wavering", "steps": 2, "horizon_every": 1,
    "horizon": 5, "eval__every": 1, "eval__num_tasks": 10, "eval__valid_tasks": 8,
    "sft__learning_rate": 3e-2,
    "eval__baselines": None, "eval__baseline_steps": 40,
}  # fmt: skip
"""Two validations for each arm; baselines may be resumed at step 20."""
BASELINES = ("bc", "filtered-bc", "expert-iteration")
ALL = ("--eval.baselines", *BASELINES)


def config(out: Path, *flags: str, **changes: Any) -> Any:
    return toy_runs.config(out, *flags, **{**SHORT, **changes})


@pytest.fixture(scope="module")
def compared(tmp_path_factory) -> Path:
    """A run with all baselines."""
    folder = tmp_path_factory.mktemp("baselines") / "run"
    train(config(folder, *ALL), Display(quiet=True))
    return folder


def records(folder: Path, baseline: str) -> dict[str, list[dict[str, Any]]]:
    return toy_runs.by_phase(folder / "baselines" / baseline)


def weights(folder: Path, baseline: str) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / "checkpoints" / baseline / "model.safetensors"))


@pytest.mark.slow
@pytest.mark.parametrize("baseline", BASELINES)
def test_the_best_of_as_many_validations_is_compared(compared, baseline):
    phase = "valid" if baseline == "expert-iteration" else "imitation"
    validated = [r for r in records(compared, baseline)[phase] if "success" in r and r["step"]]
    policy_validations = [r for r in toy_runs.by_phase(compared)["valid"] if r["step"]]
    assert len(validated) == len(policy_validations) == 2
    best = max(validated, key=lambda r: (r["success"], r["score"], -r["step"]))
    summary = toy_runs.summary(compared)
    end = summary["baselines"][baseline]
    assert end["steps"] == (2 if baseline == "expert-iteration" else 40)
    assert (end["chosen"], end["valid_success"]) == (best["step"], best["success"])
    arms, field = summary["eval"], baseline.replace("-", "_")
    assert summary["paired"][f"trained_minus_{field}"]["success_mean"] == pytest.approx(
        arms["trained"]["success"] - arms[baseline]["success"]
    )
    assert summary["greedy"][field] and summary["greedy"][f"trained_minus_{field}"]
    assert (compared / "eval_episodes" / f"{baseline}.jsonl").exists()
    assert Runs().problem(str(compared / "checkpoints" / baseline)) == ""
    name = summary["names"][baseline]
    page = (compared / "report.html").read_text()
    assert f"minus {name}" in page and f"{name}: {end['steps']} steps" in page


@pytest.mark.slow
def test_the_verdict_speaks_of_the_strongest(compared):
    summary = toy_runs.summary(compared)
    arms = {name: summary["eval"][name] for name in BASELINES}
    strongest_baseline = max(
        arms, key=lambda name: (arms[name]["success"], arms[name]["score_mean"])
    )
    assert summary["strongest_baseline"] == strongest_baseline
    name = summary["names"][strongest_baseline]
    assert f"strongest baseline, {name}" in summary["verdict"]
    assert f"trained minus {name} is" in summary["verdict"]


@pytest.mark.slow
def test_each_learns_from_what_its_name_says(compared):
    losses = {
        baseline: [r["loss"] for r in records(compared, baseline)["imitation"] if "loss" in r]
        for baseline in BASELINES[:2]
    }
    warm = [r["loss"] for r in toy_runs.by_phase(compared)["sft"] if "loss" in r]
    assert all(curve[0] < warm[0] for curve in losses.values())
    # Half of the demonstrations press red whatever is asked; without them there is less to guess.
    assert losses["filtered-bc"][-1] < losses["bc"][-1]
    iterated = records(compared, "expert-iteration")["rl"]
    reinforced = toy_runs.by_phase(compared)["rl"]
    # The first step plays the same episodes with the same policy; only its credit differs.
    assert iterated[0]["return"] == reinforced[0]["return"]
    assert iterated[0]["row_tokens"] == reinforced[0]["row_tokens"]
    assert len(iterated) == len(reinforced)


def die_in(patch: pytest.MonkeyPatch, baseline: str, **call: Any) -> None:
    """End the run after a record of a baseline that has these values."""
    log = RunFolder.log

    def log_and_die(self: RunFolder, **record: Any) -> None:
        log(self, **record)
        is_baseline = self.path.name == baseline or record.get("arm") == baseline
        if is_baseline and all(k in record and v in (..., record[k]) for k, v in call.items()):
            raise Killed

    patch.setattr(RunFolder, "log", log_and_die)


MOMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bc", {"step": 20, "success": ...}),
    ("bc", {"step": 30, "loss": ...}),
    ("bc", {"phase": "eval"}),
    ("filtered-bc", {"step": 30, "loss": ...}),
    ("filtered-bc", {"phase": "eval", "arm": "filtered-bc"}),
    ("expert-iteration", {"phase": "valid", "step": 0}),
    ("expert-iteration", {"phase": "rl", "step": 2}),
    ("expert-iteration", {"phase": "eval"}),
)
"""Baselines in whose training or evaluation a run ends, in order."""


@pytest.mark.slow
def test_a_run_that_is_killed_in_every_baseline_in_turn_ends_as_if_nothing_had_happened(
    compared, tmp_path, monkeypatch
):
    folder, flags = tmp_path / "run", [*ALL]
    for baseline, call in MOMENTS:
        with monkeypatch.context() as patch:
            die_in(patch, baseline, **call)
            with pytest.raises(Killed):
                train(config(folder, *flags), Display(quiet=True))
                pytest.fail(f"not reached: {baseline}, {call}")
        flags = [*ALL, "--resume"]
    train(config(folder, *flags), Display(quiet=True))
    assert toy_runs.by_phase(folder) == toy_runs.by_phase(compared)
    assert toy_runs.summary(folder) == toy_runs.summary(compared)
    for baseline in BASELINES:
        assert records(folder, baseline) == records(compared, baseline)
        resumed, expected = weights(folder, baseline), weights(compared, baseline)
        assert all(torch.equal(resumed[name], expected[name]) for name in expected)


@pytest.mark.slow
def test_a_longer_run_makes_the_comparison_anew(compared, tmp_path):
    folder = Path(shutil.copytree(compared, tmp_path / "run"))
    train(config(folder, *ALL, "--resume", steps=3), Display(quiet=True))
    first, longer = toy_runs.summary(compared), toy_runs.summary(folder)
    assert (first["steps"], longer["steps"]) == (2, 3)
    assert longer["baselines"]["expert-iteration"]["steps"] == 3
    # Three validations each now, every 20 steps where 40 steps are not to be fewer.
    assert longer["baselines"]["bc"]["steps"] == 60
    arms = [r["arm"] for r in toy_runs.metrics(folder) if r["phase"] == "eval"]
    assert all(arms.count(baseline) == 1 for baseline in BASELINES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expert", "reason"), [("own", "every demonstration solved"), ("red", "no demonstration")]
)
def test_successes_are_left_out_where_they_would_be_all_or_none(tmp_path, expert, reason):
    folder = tmp_path / "run"
    changes = {"env-kwargs": f"expert={expert}", "eval__num_tasks": 4, "eval__baseline_steps": 4}
    settings = config(folder, "--eval.baselines", "filtered-bc", **changes, sft__demonstrations=16)
    train(settings, Display(quiet=True))
    summary = toy_runs.summary(folder)
    assert summary["baselines"] == {} and summary["strongest_baseline"] == ""
    sentence = f"filtered-bc was left out: {reason}"
    assert any(remark.startswith(sentence) for remark in summary["remarks"])


# -- as much compute -------------------------------------------------------------------------------


def test_the_rule_counts_tokens_and_no_clock():
    steps = [{"phase": "rl", "step": k, "row_tokens": 1000, "seconds": 9.0 * k} for k in (1, 2)]
    other_records = [{"phase": "sft", "step": 10, "seconds": 2.0}, {"phase": "valid", "step": 2}]
    assert computed([*other_records, *steps], iterations=1) == 2000 * (1 + GENERATION)
    assert computed(steps, iterations=3) == 2000 * (3 + GENERATION)
    rows = [Row(prompt_length=length) for length in (0, 0)]
    for row, length in zip(rows, (30, 50), strict=True):
        row.ids += range(length)
    # Demonstrations of 40 tokens on average, 10 a step: 13 steps have 5,200.
    assert imitation_steps(5000.0, rows, 10) == 13
    assert imitation_steps(0.0, rows, 10) == 1 and imitation_steps(5000.0, [], 10) == 0


@pytest.mark.parametrize(
    ("steps", "validations", "expected"),
    [(507, 4, (520, 130)), (40, 2, (40, 20)), (9, 4, (12, 3)), (25, 0, (30, 30)), (7, 0, (7, 7))],
)
def test_there_are_just_as_many_validations_and_no_fewer_steps(steps, validations, expected):
    assert spaced(steps, validations) == expected
    total, interval = expected
    assert total >= steps and total == interval * max(1, validations)


@pytest.mark.slow
def test_by_default_baselines_compute_no_less_than_reinforcement_learning(tmp_path):
    folder = tmp_path / "run"
    train(config(folder, eval__baseline_steps=None, eval__num_tasks=4), Display(quiet=True))
    summary = toy_runs.summary(folder)
    assert set(summary["baselines"]) == {"bc", "filtered-bc"}
    spent = computed(toy_runs.metrics(folder), iterations=1)
    lines = (folder / "baselines" / "bc" / "metrics.jsonl").read_text().splitlines()
    trained = sum(
        record["tokens_per_second"] * record["seconds"]
        for record in map(json.loads, lines)
        if "loss" in record
    )
    # Nothing comes before the first token of a row, which is therefore read but not trained.
    assert trained > 0.9 * spent
    assert sum("at least the compute" in remark for remark in summary["remarks"]) == 2


# -- settings --------------------------------------------------------------------------------------


def baselines_of(tmp_path: Path, *flags: str, **changes: Any) -> tuple[str, ...]:
    settings = {"eval__baselines": None, **changes}
    return resolve(toy_runs.config(tmp_path, *flags, **settings)).config.eval.baselines


def test_the_default_are_those_that_need_no_reinforcement(tmp_path):
    assert baselines_of(tmp_path) == ("bc", "filtered-bc")
    assert baselines_of(tmp_path, "--eval.baselines", "none") == ()
    assert baselines_of(tmp_path, sft__max_steps=0) == baselines_of(tmp_path, model="x") == ()
    assert baselines_of(tmp_path, sft__demonstrator="random") == ()
    nobody = {"env": toy_runs.NO_EXPERT_ID, "sft__max_steps": None}
    assert baselines_of(tmp_path, **nobody) == ()
    alone = ("--eval.baselines", "expert-iteration")
    assert baselines_of(tmp_path, *alone, sft__max_steps=0) == ("expert-iteration",)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ["--eval.baselines", "expert"],
            "expected --eval.baselines to be 'bc', 'filtered-bc' or 'expert-iteration'",
        ),
        (["--eval.baselines", "bc", "--sft.max-steps=0"], "because without a warm start"),
        (["--eval.baseline-steps=0"], "expected --eval.baseline-steps to be at least 1"),
    ],
)
def test_baselines_that_cannot_be_are_refused_in_a_sentence(tmp_path, capsys, flags, sentence):
    command = toy_runs.arguments(tmp_path / "run", *flags, eval__baselines=None)
    try:
        code = main(command)
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_so_are_unknown_baselines_in_a_file():
    with pytest.raises(ConfigurationError, match="'filtered-bc' or 'expert-iteration' or 'none'"):
        from_mapping({"env": toy_runs.TAUGHT_ID, "eval": {"baselines": ["expert"]}})


def test_the_time_that_is_left_is_divided_between_all(tmp_path):
    def deadline(*baselines: str) -> float:
        flags = ("--eval.baselines", *baselines)
        run = resolve(toy_runs.config(tmp_path / "run", *flags, minutes=10, eval__baselines=None))
        folder = RunFolder(tmp_path / "run")
        folder.path.mkdir(exist_ok=True)
        (folder.path / "state.json").write_text('{"seconds": 200, "rl_began": 200}')
        return LearningClock(run, folder).deadline

    assert deadline("none") == 600
    assert deadline("bc") == 400
    assert deadline(*BASELINES) == 300


@pytest.mark.slow
def test_random_actions_can_be_imitated_where_there_is_no_expert(tmp_path):
    folder = tmp_path / "run"
    changes = {"env-kwargs": None, "sft__demonstrator": "random", "eval__num_tasks": 6}
    train(config(folder, **{**changes, "env": toy_runs.NO_EXPERT_ID}), Display(quiet=True))
    summary = toy_runs.summary(folder)
    assert summary["warm_start"]["steps"] == 40 and summary["baselines"] == {}
    assert any("imitated random actions for 40 steps" in remark for remark in summary["remarks"])
    losses = [r["loss"] for r in toy_runs.by_phase(folder)["sft"] if "loss" in r]
    assert losses[-1] < losses[0]


def test_the_random_actions_are_other_episodes_than_the_experts(tmp_path):
    run = resolve(config(tmp_path / "run", sft__demonstrator="random", sft__max_steps=None))
    assert run.config.sft.max_steps == 300 and run.envs[0].target_success == 1.0
    assert run.envs[0].demonstrator == "random" and run.envs[0].has_expert


def test_shared_weights_are_needed_only_by_what_imitates(tmp_path):
    run = resolve(toy_runs.config(tmp_path, *ALL, eval__baselines=None))
    assert run.imitating_baselines == ("bc", "filtered-bc")
    with pytest.raises(ConfigurationError, match=r"--eval\.baselines none or expert-iteration"):
        resolve(toy_runs.config(tmp_path, *ALL, eval__baselines=None, sft__max_steps=0))
