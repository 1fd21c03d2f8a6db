"""Several updates per batch: a step stays a batch of episodes, and ratio and clip take effect."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentgym.errors import ConfigurationError
from agentgym.vector import TextVectorEnv
from tests.trainers import toy_runs
from tests.trainers.grpo.helpers import Feed, log, make_trainer, weights
from tests.trainers.grpo.test_trainer import Picky
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.algorithms.schedule import Stages
from trainers.cli import parse_config
from trainers.grpo.trl_arguments import grpo_arguments
from trainers.output.display import Display
from trainers.phases.run import train
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.scoring.tensors import sampled_mask

SEVERAL = {"minibatches": 2, "iterations": 2, "lr": 3e-3, "steps": 2}


def trained(folder: Any, preset: Preset | str, **args: Any) -> list[torch.Tensor]:
    """Weights after a short training."""
    trainer = make_trainer(
        folder, preset=preset, envs=TextVectorEnv([Picky] * 16), args=args, probe_every=0
    )
    trainer.train()
    return weights(trainer.model)


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def clipped(distance: float) -> Preset:
    """The default preset with another trust region."""
    preset = get_preset("default")
    return replace(preset, loss=replace(preset.loss, low=distance, high=distance))


@pytest.mark.slow
def test_the_clip_acts_from_the_second_update_on(tmp_path):
    wide, narrow = (trained(tmp_path / "a", clipped(d), **SEVERAL) for d in (0.2, 1e-6))
    assert not same(wide, narrow)
    once = SEVERAL | {"minibatches": 1, "iterations": 1}
    wide, narrow = (trained(tmp_path / "b", clipped(d), **once) for d in (0.2, 1e-6))
    assert same(wide, narrow), "the ratio of a single update is 1"


@pytest.mark.parametrize("args", [{"minibatches": 4}, {"iterations": 2}], ids=str)
def test_parts_and_passes_both_make_updates(tmp_path, args):
    settings = {"lr": 3e-3, "steps": 2}
    single, several = (trained(tmp_path, clipped(0.2), **settings, **more) for more in ({}, args))
    assert not same(single, several)


@pytest.mark.slow
def test_losses_that_are_one_at_a_single_update_differ_at_several(tmp_path):
    names = ["rloo", "loop", "gspo", "cispo"]
    runs_after = {
        name: trained(tmp_path / name, name, **SEVERAL | {"iterations": 4}) for name in names
    }
    for first, second in combinations(names, 2):
        assert not same(runs_after[first], runs_after[second]), (first, second)


def test_a_step_is_a_batch_of_episodes(tmp_path):
    """Horizon, tasks, events, warm-up, log lines and checkpoints count steps, and TRL updates."""
    feed, events = Feed(), []
    trainer = make_trainer(
        tmp_path,
        args=SEVERAL | {"steps": 4, "save_every": 2, "warmup": 2},
        envs=TextVectorEnv([Picky] * 16),
        horizon=Stages((2, 3), 2),
        tasks=feed,
        on_rollout=events.append,
    )
    trainer.train()
    assert (trainer.updates, trainer.batches, trainer.state.global_step) == (4, 4, 16)
    assert feed.requests == [(1, 4, 2), (2, 4, 2), (3, 4, 3), (4, 4, 3)]
    assert [event.step for event in events] == [1, 2, 3, 4]
    assert trainer.stage_switches == [(1, 2), (3, 3)]
    assert len(log(trainer, "loss")) == 4
    assert [row["step"] for row in trainer.state.log_history if "loss" in row] == [4, 8, 12, 16]
    half, *full = log(trainer, "learning_rate")
    assert half < SEVERAL["lr"] / 2 + 1e-9
    assert full[1:] == [SEVERAL["lr"]] * 2
    assert sorted(path.name for path in tmp_path.glob("checkpoint-*")) == [
        "checkpoint-16",
        "checkpoint-8",
    ]


def test_the_episodes_are_those_of_the_policy_as_it_is_at_the_start_of_a_step(tmp_path):
    versions = []
    trainer = make_trainer(
        tmp_path,
        args=SEVERAL,
        envs=TextVectorEnv([Picky] * 16),
        on_rollout=lambda e: versions.append({u.version for t in e.trajectories for u in t.turns}),
    )
    trainer.train()
    assert versions == [{0}, {4}]


def test_every_row_trains_once_in_a_pass_and_rows_of_like_length_together(tmp_path):
    args = {"minibatches": 2, "iterations": 2, "steps": 1}
    trainer = make_trainer(
        tmp_path, args=args, envs=TextVectorEnv([Picky] * 16), micro_tokens=80,
        shared_prefixes=False,
    )  # fmt: skip
    trained_rows: list[tuple[int, ...]] = []
    inner = trainer._part_loss

    def noted(model: Any, inputs: Any, share: float) -> Any:
        rows, width = inputs["completion_ids"].shape
        assert rows * (width + inputs["prompt_ids"].shape[1]) <= 80
        for row, mask in zip(inputs["completion_ids"], sampled_mask(inputs), strict=True):
            trained_rows.append(tuple(row[mask].tolist()))
        return inner(model, inputs, share)

    trainer._part_loss = noted
    trainer.train()
    assert len(trained_rows) == 32
    assert sorted(trained_rows[:16]) == sorted(trained_rows[16:])


def test_a_preset_without_groups_plays_every_task_once(tmp_path):
    feed = Feed()
    trainer = make_trainer(
        tmp_path,
        preset=replace(get_preset("reinforce++"), terms=get_preset("rloo").terms),
        args={"groups": 15, "group_size": 1, "steps": 1},
        envs=TextVectorEnv([Picky] * 15),
        group_size=1,
        tasks=feed,
    )
    trainer.train()
    assert feed.requests == [(1, 15, 3)]


def test_rows_that_cannot_be_divided_are_refused(tmp_path):
    sizes = {"groups": 3, "group_size": 3, "steps": 1, "lr": 1.0, "budget": TokenBudget()}
    with pytest.raises(ConfigurationError, match="divide the 9 episodes of a process, got 2"):
        grpo_arguments(tmp_path, minibatches=2, **sizes)
    args = grpo_arguments(tmp_path, minibatches=3, **sizes)
    assert (args.per_device_train_batch_size, args.steps_per_generation) == (3, 3)


# -- from the command line ----------------------------------------------------------------------

CHANGES = {"preset": "cispo", "rl__minibatches": 2, "rl__num_iterations": 2, "sft__max_steps": 20}


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.mark.slow
def test_a_run_that_is_killed_within_a_step_ends_as_if_nothing_had_happened(tmp_path, monkeypatch):
    from tests.trainers.phases.test_resume import assert_same_run
    from trainers.grpo.trainer import MultiTurnTrainer

    reference, folder = tmp_path / "whole", tmp_path / "run"
    train(toy_runs.config(reference, **CHANGES), Display(quiet=True))
    records = toy_runs.by_phase(reference)
    assert [record["step"] for record in records["rl"]] == [1, 2, 3, 4, 5, 6]
    assert [record["horizon"] for record in records["rl"]] == [3, 3, 4, 4, 5, 5]
    assert any(record["clip_fraction"] > 0 for record in records["rl"])
    assert [record["step"] for record in records["valid"]] == [0, 2, 4, 6]
    assert toy_runs.summary(reference)["steps"] == 6

    step = MultiTurnTrainer.training_step

    def dying(self: Any, *args: Any) -> Any:
        if self.state.global_step == 10:
            raise Killed  # Two of the four updates of the third step are done.
        return step(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(MultiTurnTrainer, "training_step", dying)
        with pytest.raises(Killed):
            started = toy_runs.begun_from(reference, toy_runs.arguments(folder, **CHANGES))
            train(parse_config(started), Display(quiet=True))
    train(toy_runs.config(folder, "--resume", **CHANGES), Display(quiet=True))
    assert_same_run(folder, reference)


@pytest.mark.slow
def test_a_turn_budget_ends_a_run_at_the_end_of_a_step(tmp_path):
    changes = CHANGES | {"steps": 50, "rl__turn_budget": 60, "eval__every": 0}
    train(toy_runs.config(tmp_path / "run", **changes), Display(quiet=True))
    records = toy_runs.by_phase(tmp_path / "run")["rl"]
    assert records[-1]["turns_total"] >= 60 > records[-2]["turns_total"]
    last = max((tmp_path / "run" / "checkpoints" / "rl").glob("checkpoint-*"))
    assert last.name == f"checkpoint-{4 * records[-1]['step']}"
    weights = [
        load_file(path / "model.safetensors")
        for path in (last, tmp_path / "run" / "checkpoints" / "trained")
    ]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
