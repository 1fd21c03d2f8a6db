"""Reward models through the command: every flag acts, or says why not; a run that dies goes on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError
from tests.trainers import toy_runs
from tests.trainers.test_processes import CLOSE
from tests.trainers.toy_runs import equal
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS
from trainers.cli import main
from trainers.config.resolve import ResolvedRun, resolve
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.reward_model.reward_model import REWARD_MODEL_FILE

QUICK: dict[str, Any] = {
    "preset": "istar", "steps": 2, "horizon_every": None, "sft__max_steps": 20, "eval__every": 0,
    "eval__num_tasks": 4, "horizon": "3", "rl__groups": 4, "rl__num_generations": 4,
    "rl__minibatches": 2,
    "reward_model__preferred": "return",
}  # fmt: skip
ISTAR = PRESETS["istar"]
OUTCOME, STEPS = ISTAR.terms


def resolved(*flags: str, **changes: Any) -> ResolvedRun:
    """The run that a command line comes to."""
    return resolve(toy_runs.config(Path("unused"), *flags, **{"preset": "istar", **changes}))


trained = partial(toy_runs.train_weights, **QUICK)


def terms(*preset_terms: Term) -> Preset:
    return replace(ISTAR, terms=preset_terms)


def paid(**changes: Any) -> Preset:
    return terms(OUTCOME, replace(STEPS, signal=Implicit(**changes)))


KNOBS: dict[str, tuple[list[str], Preset]] = {
    "left out": (["--reward-model.weight=0"], terms(OUTCOME)),
    "weight": (["--reward-model.weight=0.5"], terms(OUTCOME, replace(STEPS, weight=0.5))),
    "beta": (["--reward-model.beta=5"], paid(beta=5.0)),
    "episodes": (["--reward-model.pays=episodes"], paid(level="trajectory")),
    "alone": (["--reward-model.alone"], terms(STEPS)),
    "learned return": (
        ["--reward-model.alone", "--reward-model.pays=episodes"],
        terms(replace(STEPS, signal=Implicit(level="trajectory"))),
    ),
}


@pytest.mark.parametrize("knob", KNOBS)
def test_a_flag_is_the_part_that_it_names(knob):
    flags, preset = KNOBS[knob]
    resolved_preset = resolved(*flags).preset
    assert resolved_preset.described() == preset.described() != ISTAR.described()
    assert ("prm" in resolved_preset.needs) == (knob != "left out")


def test_it_can_stand_beside_the_rewards_of_any_preset():
    resolved_preset = resolved("--reward-model.weight=0.3", preset="turn-loo").preset
    extra_signal = replace(STEPS, weight=0.3)
    assert (
        resolved_preset.terms == (*PRESETS["turn-loo"].terms, extra_signal)
        and "prm" in resolved_preset.needs
    )
    assert "prm" not in resolved(preset="turn-loo").preset.needs
    assert resolved("--reward-model.weight=0", preset="grpo").preset == PRESETS["grpo"]


def test_what_is_left_open_is_decided():
    assert resolved(rl__learning_rate=1e-3).config.reward_model.learning_rate == pytest.approx(2e-3)
    assert resolved("--reward-model.learning-rate=0.5").config.reward_model.learning_rate == 0.5
    assert resolved(rl__num_generations=None).config.rl.num_generations == 8


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"beta": "1", "preset": "rloo"}, "expected --reward-model.beta with a preset that has"),
        ({"alone": "True", "preset": "ppo"}, "because nothing of 'ppo' reads it"),
        ({"alone": "True", "weight": "0"}, "expected --reward-model.weight above 0 with"),
        ({"learning-rate": "0"}, "expected --reward-model.learning-rate to be greater than 0"),
        ({"updates": "0"}, "expected --reward-model.updates to be at least 1"),
        ({"weight": "1", "preset": "archer"}, "its rows are actions scored by a critic"),
        ({"weight": "1", "preset": "agentrl"}, "its ratio is to the behaviour policy"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(flags, sentence):
    settings = dict(flags)
    preset = settings.pop("preset", "istar")
    lines = [
        f"--reward-model.{name}" if value == "True" else f"--reward-model.{name}={value}"
        for name, value in settings.items()
    ]
    with pytest.raises(ConfigurationError) as refused:
        resolved(*lines, preset=preset)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """A run with a reward model as by default, and its weights."""
    out = tmp_path_factory.mktemp("plain") / "run"
    return out, trained(out)


ACTS: dict[str, list[str]] = {
    **{knob: flags for knob, (flags, _) in KNOBS.items()},
    "learning_rate": ["--reward-model.learning-rate=0.001"],
    "updates": ["--reward-model.updates=3"],
    "warm-up": ["--reward-model.warmup-steps=1"],
    "preferred": ["--reward-model.preferred=success"],
}


@pytest.mark.slow
@pytest.mark.parametrize("flag", ACTS)
def test_a_flag_changes_the_weights_of_two_steps(flag, plain, tmp_path):
    start, weights = plain
    assert not equal(trained(tmp_path / "run", *ACTS[flag], start=start), weights)


@pytest.mark.slow
def test_a_run_says_how_well_it_ranks(plain, tmp_path):
    run, _ = plain
    records = toy_runs.by_phase(run)["rl"]
    assert records[0]["reward_ranking"] == 0.5 and records[0]["reward_pairs"] > 0
    summary = toy_runs.summary(run)
    assert summary["reward_ranking"] == records[-1]["reward_ranking"]
    assert any(
        "of the pairs of episodes of a task correctly" in remark for remark in summary["remarks"]
    )
    without = tmp_path / "without"
    trained(without, "--reward-model.weight=0", start=run)
    summary = toy_runs.summary(without)
    assert summary["reward_ranking"] is None
    assert not any("reward model" in remark for remark in summary["remarks"])


def reward_models(folder: Path) -> list[dict[str, Any]]:
    """The reward models of the checkpoints of a run, in their order."""
    paths = sorted((folder / "checkpoints" / "rl").glob(f"checkpoint-*/{REWARD_MODEL_FILE}"))
    return [torch.load(path, weights_only=True) for path in paths]


@pytest.mark.slow
def test_kill_9_changes_nothing_of_policy_reward_model_and_both_optimisers(tmp_path):
    changes = {**QUICK, "steps": 4, "reward_model__warmup_steps": 1}
    folders = toy_runs.resume_killed(tmp_path, **changes)
    saved_models = [reward_models(folder) for folder in folders]
    assert len(saved_models[0]) == len(saved_models[1]) == 2
    for first, second in zip(*saved_models, strict=True):
        torch.testing.assert_close(first, second, rtol=0.0, atol=0.0)
    moments = [
        folder / "checkpoints" / "rl" / "checkpoint-8" / "optimizer.pt" for folder in folders
    ]
    first, second = (torch.load(path, weights_only=True) for path in moments)
    torch.testing.assert_close(first["state"], second["state"], rtol=0.0, atol=0.0)
    assert equal(*map(toy_runs.trained_weights, folders))


SLOWER = {**QUICK, "rl__learning_rate": 1e-3}


@pytest.fixture(scope="module")
def single_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run in one process."""
    out = tmp_path_factory.mktemp("one") / "run"
    assert main(toy_runs.arguments(out, **SLOWER)) == 0
    return out


@pytest.mark.slow
@pytest.mark.parametrize("launched", ["ddp", "fsdp2"])
def test_two_processes_have_the_policy_and_the_reward_model_of_one(launched, single_run, tmp_path):
    two = tmp_path / "two"
    [process] = toy_runs.launch(toy_runs.arguments(two, **SLOWER), launched)
    assert process.returncode == 0, process.stderr
    weights = [
        load_file(path / "checkpoints/trained/model.safetensors") for path in (two, single_run)
    ]
    assert weights[0].keys() - weights[1].keys() <= {"lm_head.weight"}
    for name, value in weights[1].items():
        torch.testing.assert_close(weights[0][name], value, **CLOSE)
    for record, expected in zip(reward_models(two), reward_models(single_run), strict=True):
        torch.testing.assert_close(record["weights"], expected["weights"], **CLOSE)
    for record, expected in zip(
        *(toy_runs.by_phase(path)["rl"] for path in (two, single_run)), strict=True
    ):
        for figure in ("reward_ranking", "reward_loss", "reward_pairs"):
            assert record[figure] == pytest.approx(expected[figure], rel=1e-3, abs=1e-5)
