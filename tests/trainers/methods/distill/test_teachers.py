"""What a teacher teaches: the gradient of the loss written down again, on the student's tokens."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig

from agentgym.conversation import BARE, Prompt
from agentgym.errors import ConfigurationError
from agentgym.vector import TextVectorEnv
from tests.toy import ToyEnv
from tests.trainers import tiny_policy
from tests.trainers.grpo.helpers import log, make_trainer, same, weights
from tests.trainers.grpo.reference import forward
from tests.trainers.grpo.test_objective import exactly
from trainers.algorithms.advantage import Term
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset
from trainers.methods.distill.credit import ReverseKL
from trainers.methods.distill.privileged import PlanReader
from trainers.methods.distill.teachers import (
    CurrentTeacher,
    ModelTeacher,
    PrivilegedTeacher,
    StartTeacher,
)
from trainers.methods.forks.branching import Branching, EveryTurn
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

DISTILL = get_preset("on-policy-distillation")
REWARD = get_preset("rloo").terms
BESIDE = replace(DISTILL, terms=(*REWARD, Term(ReverseKL(), weight=0.5)))
"""A teacher beside the reward."""
TEMPERATURE = 0.7
ADAPTERS = {
    "peft_config": LoraConfig(
        r=2, lora_alpha=4, target_modules="all-linear", task_type="CAUSAL_LM",
        init_lora_weights=False,
    )
}  # fmt: skip


class Paid(ToyEnv):
    """Pays by the length of what was said, over several turns."""

    def _act(self, action: str) -> Any:
        outcome = super()._act(action)
        outcome.reward, outcome.terms = float(len(action) % 5), None
        return outcome


def student(folder: Any, preset: Preset, teacher: Any, **changes: Any) -> Any:
    """A trainer of a step, with passes of a few rows."""
    options: dict[str, Any] = {
        "args": {"steps": 1, "temperature": TEMPERATURE, **changes.pop("args", {})},
        "envs": TextVectorEnv([Paid] * 16), "probe_every": 0, "micro_tokens": 60, **changes,
    }  # fmt: skip
    return make_trainer(folder, preset=preset, parts={"distill": teacher}, **options)


def gradient(trainer: Any) -> Any:
    """Train, and return the gradient of the first update in one vector."""
    gradients: list[Any] = []
    clip = trainer._clip_grad_norm

    def clipped(model: Any) -> Any:
        gradients.append(torch.cat([p.grad.flatten().double() for p in model.parameters()]))
        return clip(model)

    trainer._clip_grad_norm = clipped
    trainer.train()
    return gradients[0]


@pytest.mark.parametrize(
    "changes",
    [{}, {"prompt": Prompt(BARE.windowed(1))}, {"beside": True}],
    ids=["a row", "rows of turns", "beside the reward"],
)
def test_the_gradient_is_that_of_the_loss_written_by_hand(changes, tmp_path):
    """In double precision: L = -1/K sum_k (A_k + w (log pi_T - log pi)) log pi, A_k of rloo."""
    extra_signal = changes.pop("beside", False)
    model, teacher = tiny_policy.model(seed=1), tiny_policy.model(seed=2)
    start_weights, taught = exactly(model), exactly(teacher)
    trainer = student(
        tmp_path, BESIDE if extra_signal else DISTILL, partial(ModelTeacher, teacher, 16),
        model=model, **changes,
    )  # fmt: skip
    actual = gradient(trainer)
    rows = [row for trajectory in trainer.trajectories for row in to_rows([trajectory])]
    assert (len(rows) > len(trainer.trajectories)) == ("prompt" in changes)
    logps, _ = forward(start_weights, rows, TEMPERATURE)
    with torch.no_grad():
        teacher_logps, _ = forward(taught, rows, TEMPERATURE)
    gap = teacher_logps - logps.detach()
    credit = 0.5 * gap + leave_one_out(trainer.trajectories) if extra_signal else gap
    loss = -(credit * logps).mean()
    expected = torch.cat(
        [g.flatten() for g in torch.autograd.grad(loss, [*start_weights.parameters()])]
    )
    assert float((actual - expected).norm() / expected.norm()) < 1e-5
    assert log(trainer, "distill/reverse_kl") == [pytest.approx(-float(gap.mean()), abs=1e-5)]


def leave_one_out(episodes: list[Trajectory]) -> Any:
    """The return of each token's episode minus the mean of the others of its task (K,)."""
    returns = np.array([episode.episode_return for episode in episodes])
    groups = np.array([episode.group for episode in episodes])
    credit = [
        value - returns[(groups == group) & (np.arange(len(returns)) != place)].mean()
        for place, (value, group) in enumerate(zip(returns, groups, strict=True))
    ]
    tokens = [episode.action_tokens for episode in episodes]
    return torch.from_numpy(np.repeat(credit, tokens))


def test_tokens_that_forked_episodes_share_are_scored_once_and_alike(tmp_path):
    preset = replace(DISTILL, branching=Branching(EveryTurn(), roots=2))
    teacher = tiny_policy.model(seed=2)
    taught = exactly(teacher)
    trainer = student(tmp_path, preset, partial(ModelTeacher, teacher, 16))
    assignments: list[Any] = []
    credit = trainer._credit
    trainer._credit = lambda *args: assignments.append(credit(*args)) or assignments[-1]
    trainer.train()
    assert any(trajectory.shared for trajectory in trainer.trajectories)
    with torch.no_grad():
        teacher_logps, _ = forward(taught, to_rows(trainer.trajectories), TEMPERATURE)
    np.testing.assert_allclose(
        assignments[0].batch.aux["logp_teacher"], teacher_logps.numpy(), atol=2e-5
    )


def test_a_teacher_that_is_the_student_teaches_nothing(tmp_path):
    model = tiny_policy.model(seed=1)
    trainer = student(
        tmp_path, DISTILL, partial(ModelTeacher, copy.deepcopy(model), 16), model=model
    )
    assert float(gradient(trainer).norm()) < 1e-6


def test_a_teacher_with_adapters_scores_with_them(tmp_path):
    from peft import get_peft_model

    teacher = get_peft_model(tiny_policy.model(seed=2), ADAPTERS["peft_config"])
    merged = copy.deepcopy(teacher).merge_and_unload()
    with_adapters, with_merged = (
        gradient(student(tmp_path / name, DISTILL, partial(ModelTeacher, scorer, 16)))
        for name, scorer in (("adapters", teacher), ("merged", merged))
    )
    torch.testing.assert_close(with_adapters, with_merged, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
def test_the_student_comes_closer_to_its_teacher(tmp_path):
    trainer = student(
        tmp_path, DISTILL, partial(ModelTeacher, tiny_policy.model(seed=2), 16),
        args={"steps": 12, "lr": 0.02},
    )  # fmt: skip
    trainer.train()
    gaps = log(trainer, "distill/reverse_kl")
    assert np.mean(gaps[-4:]) < 0.3 * gaps[0] and gaps[0] > 0.1, gaps


@pytest.mark.slow
@pytest.mark.parametrize("size", [{}, ADAPTERS], ids=["all weights", "adapters"])
def test_the_start_stays_what_it_was_and_the_current_policy_does_not(size, tmp_path):
    """Without privileged information their log-ratios are a drift, and 0."""
    gaps = {}
    for kind in (StartTeacher, CurrentTeacher):
        preset = replace(DISTILL, terms=(*REWARD, Term(ReverseKL(), weight=1e-9)))
        settings = {"steps": 2, "lr": 0.05}
        trainer = student(tmp_path / kind.__name__, preset, kind, args=settings, **size)
        trainer.train()
        gaps[kind] = log(trainer, "distill/reverse_kl")
    if not size:  # adapters here begin with weights, so that the start is another policy
        assert gaps[StartTeacher][0] == pytest.approx(0.0, abs=1e-6)
    assert abs(gaps[StartTeacher][1]) > 1e-4
    assert gaps[CurrentTeacher] == pytest.approx([0.0, 0.0], abs=1e-5)


def solution(episode: Trajectory) -> str:
    return "press red\npress blue" if episode.group % 2 else "press gold"


def test_a_plan_is_read_before_the_prompt_and_the_tokens_that_are_scored_stay(tmp_path):
    """The teacher's log-probabilities of the student's own tokens, behind a longer prompt."""
    chat = tiny_policy.chat()
    model = tiny_policy.model(seed=1)
    taught = exactly(model)
    reader = PlanReader(chat, solution, context=256)
    assignments: list[Any] = []
    trainer = student(
        tmp_path, get_preset("self-distillation"),
        lambda parts: PrivilegedTeacher(StartTeacher(parts), reader),
        model=model, prompt=Prompt(BARE.windowed(1)),
    )  # fmt: skip
    credit = trainer._credit
    trainer._credit = lambda *args: assignments.append(credit(*args)) or assignments[-1]
    trainer.train()
    rows = []
    for episode in trainer.trajectories:
        message = reader.message(solution(episode), 100)
        assert "press" in chat.raw_text(message) and chat.raw_text(message).endswith("<|end|>")
        for row in to_rows([episode]):
            rows.append(
                Row(
                    [*message, *row.ids], [0] * len(message) + row.mask,
                    [0.0] * len(message) + row.logprobs, len(message) + row.prompt_length,
                )
            )  # fmt: skip
    assert len(rows) > len(trainer.trajectories)
    with torch.no_grad():
        teacher_logps, _ = forward(taught, rows, TEMPERATURE)
    batch = assignments[0].batch
    np.testing.assert_allclose(batch.aux["logp_teacher"], teacher_logps.numpy(), atol=2e-5)
    assert np.abs(batch.aux["logp_teacher"] - batch.logp_old).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("self_taught", [False, True], ids=["a model", "the policy with a plan"])
def test_a_resumed_training_has_the_same_weights(self_taught, tmp_path):
    def teacher(parts: Any) -> Any:
        if not self_taught:
            return ModelTeacher(tiny_policy.model(seed=2), 16, parts)
        return PrivilegedTeacher(StartTeacher(parts), PlanReader(parts.chat, solution, 256))

    preset = get_preset("self-distillation") if self_taught else DISTILL
    settings = {"steps": 4, "save_every": 1, "lr": 0.01}
    uninterrupted, resumed = (
        student(tmp_path / name, preset, teacher, args=settings | {"save_steps": steps})
        for name, steps in (("whole", 2), ("again", 4))
    )
    uninterrupted.train()
    resumed.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-2"))
    assert same(weights(resumed.model), weights(uninterrupted.model))


def test_a_preset_that_learns_from_a_teacher_needs_one(tmp_path):
    with pytest.raises(ConfigurationError, match=r"needs teacher \(a teacher of its tokens"):
        make_trainer(tmp_path, preset=DISTILL)
