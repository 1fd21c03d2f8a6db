"""Presets are complete, honest about their needs, and run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agentgym.core.outcome import StopReason
from tests.trainers.algorithms.loss_reference import loss_coefficients
from trainers.algorithms.advantage import advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import JUDGE_REJECT, apply_filters
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.preferences import Preference
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import DEFAULT, PRESETS, get_preset, runnable, served
from trainers.algorithms.shaping import shape_rewards
from trainers.algorithms.signals import KLToGo
from trainers.methods.critic.gae import GAE
from trainers.methods.distill.credit import TEACHER, ReverseKL
from trainers.methods.reward_model.credit import Implicit
from trainers.methods.turn_critic.credit import QMinusV, TurnPreference

EXPECTED = {
    "turn-loo",
    "fork-value",
    "vineppo",
    "tree-grpo",
    "scalinginter",
    "agentrl",
    "ppo",
    "meowtea-ppo",
    "starpo",
    "starpo-s",
    "starpo-s-grpo",
    "grpo",
    "dr_grpo",
    "rloo",
    "expert-iteration",
    "dapo",
    "grpo-tcr",
    "reinforce++",
    "reinforce++-baseline",
    "gspo",
    "cispo",
    "gigpo",
    "mt-grpo",
    "mt-ppo",
    "archer",
    "sweet",
    "dpo",
    "istar",
    "on-policy-distillation",
    "self-distillation",
    "arpo",
    "matpo",
    "vspo",
    "erpo",
    "loop",
    "lightning",
}
every_preset = pytest.mark.parametrize("preset", PRESETS.values(), ids=lambda p: p.name)


def full_batch() -> Batch:
    """Two groups of four ragged trajectories with everything a preset may ask for."""
    rng = np.random.default_rng(0)
    tokens = [rng.integers(1, 4, t).tolist() for t in (2, 3, 1, 4, 2, 2, 3, 1)]

    def per_token() -> list[Any]:
        return [(-rng.random(sum(t))).tolist() for t in tokens]

    return Batch.from_trajectories(
        tokens,
        [rng.integers(0, 2, len(t)).astype(float).tolist() for t in tokens],
        [0] * 4 + [1] * 4,
        families=[0] * 4 + [1] * 4,
        stop_reasons=[StopReason.SUCCESS] * 7 + [StopReason.HORIZON],
        logp_behave=per_token(),
        values=per_token(),
        aux={
            "logp_ref": per_token(),
            "logp_prm": per_token(),
            "logp_teacher": per_token(),
            "q": [rng.random(len(t)).tolist() for t in tokens],
            "v": [rng.random(len(t)).tolist() for t in tokens],
            "invalid_action": [[0.0] * len(t) for t in tokens],
            JUDGE_REJECT: [[0.0] * len(t) for t in tokens],
        },
    )


def test_all_the_promised_presets_are_there() -> None:
    assert set(PRESETS) == EXPECTED
    assert get_preset("default") is PRESETS[DEFAULT]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"cispo, dapo, dpo, dr_.*'grop'; agentgym-train presets"):
        get_preset("grop")


def test_runnable_presets_are_those_that_are_carried_out_whole() -> None:
    beyond = {"erpo", "on-policy-distillation", "self-distillation"}
    assert runnable() == sorted(EXPECTED - beyond)
    assert runnable((JUDGE, TEACHER)) == sorted(EXPECTED)
    assert "erpo" in runnable([JUDGE])
    assert "on-policy-distillation" in runnable([TEACHER])


def test_the_trainer_meets_the_needs_whose_method_takes_no_settings() -> None:
    assert served(get_preset("grpo")) == ["reference"] == [*get_preset("grpo").missing([])]
    assert served(get_preset("mt-ppo")) == ["critic", "reference"]
    assert served(get_preset("erpo")) == ["refill"]
    assert served(get_preset("on-policy-distillation")) == []


def test_an_invalid_turn_costs_what_the_run_says_and_only_once() -> None:
    gigpo = get_preset("gigpo")
    assert gigpo.invalid_penalty == pytest.approx(0.1)
    assert gigpo.with_invalid_penalty(0.3).invalid_penalty == pytest.approx(0.3)
    assert get_preset("rloo").invalid_penalty is None
    assert get_preset("rloo").with_invalid_penalty(0.3) is get_preset("rloo")


def test_the_divisor_of_a_constant_aggregation_is_the_token_budget() -> None:
    assert get_preset("dr_grpo").within(162).loss.const == 162
    assert get_preset("rloo").within(162) == get_preset("rloo")


@every_preset
def test_presets_cite_their_paper(preset: Preset) -> None:
    assert preset.title
    if preset.name not in (DEFAULT, "fork-value"):
        assert re.fullmatch(r"\d{4}\.\d{5}", preset.arxiv or "")


@every_preset
def test_needs_follow_from_the_parts(preset: Preset) -> None:
    signals = [type(term.signal) for term in preset.terms]
    needs = {
        "critic": GAE in signals,
        "turn_critic": QMinusV in signals or TurnPreference in signals,
        "prm": Implicit in signals,
        "reference": KLToGo in signals
        or bool({Preference, TurnPreference} & {*signals})
        or preset.loss.kl_beta > 0
        or any(getattr(term.signal, "kl", 0) for term in preset.terms),
        "policy_pool": preset.pool is not None,
        "branching": preset.branching is not None,
        "refill": preset.refill > 0,
        JUDGE: JUDGE_REJECT in {getattr(part, "name", "") for part in preset.filters},
        TEACHER: ReverseKL in signals,
    }
    assert set(preset.needs) == {name for name, needed in needs.items() if needed}
    assert all(need.description for need in preset.needs)


def test_a_trainer_refuses_what_it_cannot_serve() -> None:
    preset = get_preset("mt-ppo")
    preset.require(["reference", "critic"])
    with pytest.raises(ValueError, match=r"'mt-ppo' needs critic \(a value model"):
        preset.require(["reference"])


CRITICS = {"ppo": 0.0, "meowtea-ppo": 0.01, "starpo": 0.0, "starpo-s": 0.0, "mt-ppo": 1e-3}
"""Presets with a critic, and the price of the divergence in their rewards."""


@pytest.mark.parametrize("name", CRITICS)
def test_credit_with_a_critic_in_numbers(name: str) -> None:
    """Of each token what is still paid after it, less its price and what was expected; whitened."""
    preset, batch = PRESETS[name], full_batch()
    assert batch.values is not None
    masks = apply_filters(batch, preset.filters)
    worth = np.zeros(batch.n_tokens)
    for k in range(batch.n_tokens):
        same_trajectory = batch.token_traj == batch.token_traj[k]
        later = same_trajectory & (np.arange(batch.n_tokens) >= k)
        price = (batch.logp_old - batch.aux["logp_ref"])[later].sum()
        worth[k] = batch.token_reward[later].sum() - CRITICS[name] * price - batch.values[k]
    trained_worth = worth[masks.train[batch.token_traj]]
    expected = (worth - trained_worth.mean()) / (trained_worth.std(ddof=1) + 1e-8)
    advantages = advantage(batch, preset.terms, preset.post, train=masks.train)
    np.testing.assert_allclose(advantages, expected, rtol=1e-9)
    trained = {"starpo-s": 4}.get(name, 8)  # a quarter of two groups, at least one
    assert masks.train.sum() == trained
    assert preset.loss.value_clip == 0.5


@every_preset
def test_presets_run_from_batch_to_coefficients(preset: Preset) -> None:
    preset = preset.within(100)
    batch = shape_rewards(full_batch(), preset.shapers)
    masks = apply_filters(batch, preset.filters)
    a = advantage(batch, preset.terms, preset.post, train=masks.train, baseline=masks.baseline)
    u = loss_coefficients(batch, batch.logp_old, a, preset.loss, train=masks.train)
    assert a.shape == u.shape == (batch.n_tokens,)
    assert a.dtype == np.float64
    assert np.isfinite(u).all()
    assert u.any()
    assert not u[~masks.train[batch.token_traj]].any()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_described_in_values_that_a_file_holds(name: str) -> None:
    parts = PRESETS[name].described()
    assert json.loads(json.dumps(parts)) == parts
    assert parts["loss"]["part"] == "Loss"
    other_preset = replace(PRESETS[name], loss=replace(PRESETS[name].loss, low=0.123))
    assert other_preset.described() != parts
