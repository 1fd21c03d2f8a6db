"""Critics through the command: every flag acts, or says why not; a run that dies goes on."""

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
from trainers.methods.critic.critic import CRITIC_FILE
from trainers.methods.critic.gae import GAE, BiLevelGAE, TurnGAE

QUICK: dict[str, Any] = {
    "steps": 2, "horizon_every": None, "sft__max_steps": 20, "eval__every": 0, "eval__num_tasks": 4,
    "horizon": "3", "rl__minibatches": 2, "rl__groups": 8, "rl__num_generations": 2,
}  # fmt: skip
PPO = PRESETS["ppo"]
(CREDIT,) = PPO.terms
NEW = ("ppo", "meowtea-ppo", "mt-ppo", "starpo", "starpo-s", "starpo-s-grpo")


def resolved(*flags: str, **changes: Any) -> ResolvedRun:
    """The run that a command line comes to."""
    return resolve(toy_runs.config(Path("unused"), *flags, **{"preset": "ppo", **changes}))


trained = partial(toy_runs.train_weights, **QUICK, preset="ppo")


def credit(signal: Any) -> Preset:
    return replace(PPO, terms=(Term(signal),))


def loss(**changes: Any) -> Preset:
    return replace(PPO, loss=replace(PPO.loss, **changes))


KNOBS: dict[str, tuple[list[str], Preset]] = {
    "turn": (["--critic.gae=turn"], credit(TurnGAE())),
    "bi-level": (
        ["--critic.gae=bi-level", "--rl.gamma=0.95", "--critic.lam=0.9", "--critic.token-lam=0.8"],
        credit(BiLevelGAE(lam=0.8, gamma_turn=0.95, lam_turn=0.9)),
    ),
    "lam": (["--critic.lam=0.5"], credit(GAE(lam_turn=0.5))),
    "token-lam": (["--critic.token-lam=0.5"], credit(GAE(lam=0.5))),
    "token-gamma": (["--critic.token-gamma=0.5"], credit(GAE(gamma=0.5))),
    "gamma": (["--rl.gamma=0.5"], credit(GAE(gamma_turn=0.5))),
    "targets": (["--critic.targets=monte-carlo"], loss(value_targets="monte-carlo")),
    "clip": (["--critic.clip=0.01"], loss(value_clip=0.01)),
    "no clip": (["--critic.clip=0"], loss(value_clip=None)),
    "weight": (["--critic.weight=0.5"], loss(value_weight=0.5)),
}


@pytest.mark.parametrize("knob", KNOBS)
def test_a_flag_is_the_part_that_it_names(knob):
    flags, preset = KNOBS[knob]
    resolved_preset = resolved(*flags).preset
    assert resolved_preset.described() == preset.described() != PPO.described()


def test_what_is_left_open_is_decided():
    run = resolved(rl__learning_rate=1e-3)
    assert (run.config.critic.learning_rate, run.config.critic.updates) == (pytest.approx(1e-2), 16)
    assert resolved("--critic.kind=model").config.critic.updates == 4
    assert (
        resolved("--critic.learning-rate=0.5", "--critic.updates=2").config.critic.learning_rate
        == 0.5
    )
    paper = resolved(preset="meowtea-ppo", rl__groups=None, rl__num_generations=None)
    assert (paper.config.rl.groups, paper.config.rl.num_generations) == (256, 1)
    assert resolved("--rl.beta=0.5", preset="mt-ppo").preset.terms == (Term(GAE(kl=0.5)),)
    assert resolved("--rl.beta=0", preset="mt-ppo").preset.needs == ("critic",)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--critic.kind=zero", "--preset=rloo"], "because nothing of 'rloo' reads a value"),
        (
            ["--critic.warmup-steps=3", "--preset=grpo"],
            "expected --critic.warmup-steps with a preset that has",
        ),
        (["--critic.kind=model", "--critic.trunk=shared"], "only with --critic.kind head"),
        (["--critic.gae=turn", "--critic.token-lam=0.5"], "expected --critic.token-lam with"),
        (["--critic.learning-rate=0"], "expected --critic.learning-rate to be greater than 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(flags, sentence):
    settings = dict(flag.removeprefix("--").split("=") for flag in flags)
    preset = settings.pop("preset", "ppo")
    with pytest.raises(ConfigurationError) as refused:
        resolved(*(f"--{name}={value}" for name, value in settings.items()), preset=preset)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


@pytest.fixture(scope="module")
def with_head(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, torch.Tensor]]:
    """A run with a critic of the default kind, and its weights."""
    out = tmp_path_factory.mktemp("head") / "run"
    return out, trained(out)


NEEDS_ANOTHER = ("targets", "weight", "no clip")
ACTS: dict[str, list[str]] = {
    **{knob: flags for knob, (flags, _) in KNOBS.items() if knob not in NEEDS_ANOTHER},
    "left out": ["--critic.kind=zero"],
    "model": ["--critic.kind=model"],
    "shared": ["--critic.trunk=shared"],
    "learning_rate": ["--critic.learning-rate=0.001"],
    "updates": ["--critic.updates=3"],
    "warm-up": ["--critic.warmup-steps=1"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("flag", ACTS)
def test_a_flag_changes_the_weights_of_two_steps(flag, with_head, tmp_path):
    start, weights = with_head
    assert not equal(trained(tmp_path / "run", *ACTS[flag], start=start), weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        (["--critic.lam=0.5"], ["--critic.lam=0.5", "--critic.targets=monte-carlo"]),
        (["--critic.trunk=shared"], ["--critic.trunk=shared", "--critic.weight=1"]),
        (["--critic.clip=0.01"], ["--critic.clip=0"]),
    ],
    ids=["targets", "weight", "no clip"],
)
def test_flags_that_need_another_act_beside_it(flags, with_head, tmp_path):
    start, _ = with_head
    places = (tmp_path / "one", tmp_path / "two")
    assert not equal(
        *(
            trained(out, *extra_flags, start=start)
            for out, extra_flags in zip(places, flags, strict=True)
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("preset", NEW)
def test_every_preset_runs_and_a_critic_is_what_it_reads(preset, with_head, tmp_path):
    run, (start, _) = tmp_path / "run", with_head
    weights = trained(run, start=start, preset=preset)
    records = toy_runs.by_phase(run)["rl"]
    assert len(records) == 2
    with_critic = preset != "starpo-s-grpo"
    assert all(("explained_variance" in record) == with_critic for record in records)
    summary = toy_runs.summary(run)
    remarks = [
        remark for remark in summary["remarks"] if "of the variance of the returns" in remark
    ]
    assert bool(remarks) == with_critic == (summary["explained_variance"] is not None)
    if with_critic:
        zero = {"start": start, "preset": preset}
        without = trained(tmp_path / "zero", "--critic.kind=zero", **zero)
        assert not equal(weights, without)
        [remark] = [r for r in toy_runs.summary(tmp_path / "zero")["remarks"] if "zero" in r]
        assert "there was no critic" in remark


def critics(folder: Path) -> list[dict[str, Any]]:
    """The critics of the checkpoints of a run, in their order."""
    paths = sorted((folder / "checkpoints" / "rl").glob(f"checkpoint-*/{CRITIC_FILE}"))
    return [torch.load(path, weights_only=True) for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["head", "model"])
def test_kill_9_changes_nothing_of_policy_critic_and_both_optimisers(kind, tmp_path):
    changes = {
        **QUICK,
        "preset": "ppo",
        "steps": 4,
        "critic__kind": kind,
        "critic__warmup_steps": 1,
    }
    folders = toy_runs.resume_killed(tmp_path, **changes)
    saved_critics = [critics(folder) for folder in folders]
    assert len(saved_critics[0]) == len(saved_critics[1]) == 2
    for first, second in zip(*saved_critics, strict=True):
        torch.testing.assert_close(first, second, rtol=0.0, atol=0.0)
    moments = [
        folder / "checkpoints" / "rl" / "checkpoint-8" / "optimizer.pt" for folder in folders
    ]
    first, second = (torch.load(path, weights_only=True) for path in moments)
    torch.testing.assert_close(first["state"], second["state"], rtol=0.0, atol=0.0)
    assert equal(*map(toy_runs.trained_weights, folders))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launched", "critic"),
    [
        ("ddp", ["--critic.kind=model"]),
        ("fsdp2", ["--critic.kind=head", "--critic.warmup-steps=1"]),
        ("fsdp2", ["--critic.trunk=shared"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_two_processes_have_the_policy_and_the_critic_of_one(launched, critic, tmp_path):
    changes = {**QUICK, "preset": "ppo", "rl__learning_rate": 1e-3}
    single, two = tmp_path / "one", tmp_path / "two"
    assert main(toy_runs.arguments(single, *critic, **changes)) == 0
    [process] = toy_runs.launch(toy_runs.arguments(two, *critic, **changes), launched)
    assert process.returncode == 0, process.stderr
    weights = [load_file(path / "checkpoints/trained/model.safetensors") for path in (two, single)]
    assert weights[0].keys() - weights[1].keys() <= {"lm_head.weight"}
    for name, value in weights[1].items():
        torch.testing.assert_close(weights[0][name], value, **CLOSE)
    for record, expected in zip(critics(two), critics(single), strict=True):
        torch.testing.assert_close(record["weights"], expected["weights"], **CLOSE)
    for record, expected in zip(
        *(toy_runs.by_phase(path)["rl"] for path in (two, single)), strict=True
    ):
        for figure in ("explained_variance", "value_loss"):
            assert record[figure] == pytest.approx(expected[figure], rel=1e-3, abs=1e-5)
