"""The loss by hand: its value and gradient, token by token, for each of its parts."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
import torch

from tests.trainers.algorithms.loss_reference import pg_coef
from trainers.algorithms.loss import Loss
from trainers.algorithms.presets import get_preset
from trainers.grpo.objective import kl_divergence, ratios, token_figures, token_losses
from trainers.rollouts.scoring.forward import Scores

RATIOS = [0.5, 1.0, 2.0, 4.0]
"""Of the first row with advantages 1, of the second with -1."""
MASK = torch.ones(2, 4, dtype=torch.bool)
OLD = torch.full((2, 4), -1.0)


def scores() -> Scores:
    """Log-probabilities with those ratios to the old ones, and entropies of 2 nats."""
    logps = (OLD + torch.tensor([RATIOS, RATIOS]).log()).requires_grad_()
    return Scores(logps, torch.full((2, 4), 2.0))


def batch(**changes: Any) -> dict[str, torch.Tensor]:
    """Weights of 1, unless changed."""
    signs = torch.tensor([[1.0], [-1.0]]).expand(2, 4)
    ones = torch.ones(2, 4)
    columns = {"advantages": signs, "token_weights": ones, "behaviour_weights": ones}
    return {**columns, "old_per_token_logps": OLD, **changes}


def addends(loss: Loss, **changes: Any) -> tuple[list[list[float]], list[list[float]]]:
    """Value and derivative of each token's addend, without their minus."""
    policy_scores = scores()
    terms = token_losses(loss, policy_scores, batch(**changes), MASK)
    terms.sum().backward()
    return (-terms).tolist(), (-policy_scores.logps.grad).tolist()


LOGPS = [log(ratio) - 1.0 for ratio in RATIOS]
NEAR = [0.8, 1.0, 1.5, 1.5]
CLIPS = {
    "ppo": (
        Loss(low=0.2, high=0.5),
        ([0.5, 1.0, 1.5, 1.5], [-0.8, -1.0, -2.0, -4.0]),
        ([0.5, 1.0, 0.0, 0.0], [0.0, -1.0, -2.0, -4.0]),
    ),
    "dual": (
        Loss(low=0.2, high=0.5, dual=3.0),
        ([0.5, 1.0, 1.5, 1.5], [-0.8, -1.0, -2.0, -3.0]),
        ([0.5, 1.0, 0.0, 0.0], [0.0, -1.0, -2.0, 0.0]),
    ),
    "cispo": (
        Loss(clip="cispo", low=0.2, high=0.5),
        tuple([a * c * p for c, p in zip(NEAR, LOGPS, strict=True)] for a in (1, -1)),
        (NEAR, [-c for c in NEAR]),
    ),
    # Probabilities move from .37 to .18, .37, .74 and more.
    "dppo": (
        Loss(clip="dppo", divergence=0.15),
        ([0.5, 1.0, 0.0, 0.0], [0.0, -1.0, -2.0, -4.0]),
        ([0.5, 1.0, 0.0, 0.0], [0.0, -1.0, -2.0, -4.0]),
    ),
    "dppo-wide": (
        Loss(clip="dppo", divergence=0.5),
        ([0.5, 1.0, 2.0, 0.0], [-0.5, -1.0, -2.0, -4.0]),
        ([0.5, 1.0, 2.0, 0.0], [-0.5, -1.0, -2.0, -4.0]),
    ),
    "none": (
        Loss(clip="none"),
        (LOGPS, [-p for p in LOGPS]),
        ([1.0] * 4, [-1.0] * 4),
    ),
}
"""Losses, and value and derivative of what they maximise."""


@pytest.mark.parametrize("name", CLIPS)
def test_each_clip_in_numbers(name):
    loss, values, derivatives = CLIPS[name]
    addend_values, slopes = addends(loss)
    for figures, expected in ((addend_values, values), (slopes, derivatives)):
        np.testing.assert_allclose(figures, np.array(expected), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CLIPS)
def test_each_clip_is_that_of_the_numpy_reference(name):
    loss = CLIPS[name][0]
    logps, a = np.array(LOGPS * 2), np.repeat([1.0, -1.0], 4)
    bounds = {"low": loss.low, "high": loss.high, "dual": loss.dual, "divergence": loss.divergence}
    want = pg_coef(logps, -np.ones(8), a, clip=loss.clip, **bounds)
    np.testing.assert_allclose(np.ravel(addends(loss)[1]), want, rtol=1e-5, atol=1e-6)


def test_weights_divergence_and_entropy():
    """W (c A log pi - beta KL + e H): the divergence is weighed by w alone, not by c."""
    reference, c, w = OLD + log(2.0), torch.full((2, 4), 0.5), torch.full((2, 4), 3.0)
    changes = {"token_weights": w, "behaviour_weights": c, "ref_per_token_logps": reference}
    values, slopes = addends(Loss(clip="none", kl_beta=0.1, entropy=0.2), **changes)
    for k, ratio in enumerate(RATIOS):
        q = 2.0 / ratio
        kl = q - log(q) - 1.0
        value = 0.5 * LOGPS[k] - 0.1 * kl + 0.2 * 2.0
        assert values[0][k] == pytest.approx(3.0 * value, rel=1e-5)
        assert slopes[0][k] == pytest.approx(3.0 * (0.5 - 0.1 * (1.0 - q)), rel=1e-5)
    values, slopes = addends(Loss(clip="none", kl_beta=0.1, kl="k1"), **changes)
    assert slopes[1] == pytest.approx([3.0 * (-0.5 - 0.1)] * 4)


def test_a_ratio_of_a_segment_is_its_geometric_mean_and_every_token_keeps_its_gradient():
    policy_scores, segments = scores(), torch.tensor([[0, 0, 1, 1], [2, 2, 2, 2]])
    ratio = ratios(policy_scores.logps, batch(ratio_segments=segments), MASK)
    means = [[0.5**0.5] * 2 + [8.0**0.5] * 2, [4.0**0.25] * 4]
    np.testing.assert_allclose(ratio.detach(), means, rtol=1e-6)
    ratio.sum().backward()
    np.testing.assert_allclose(policy_scores.logps.grad, means, rtol=1e-6)
    mean_ratio = ratios(
        policy_scores.logps, batch(mean_log_ratios=torch.full((2, 4), log(7.0))), MASK
    )
    np.testing.assert_allclose(mean_ratio.detach(), np.full((2, 4), 7.0), rtol=1e-6)


def test_before_the_first_update_every_ratio_is_1():
    columns = batch()
    del columns["old_per_token_logps"]
    assert ratios(scores().logps, columns, MASK).tolist() == [[1.0] * 4] * 2


@pytest.mark.parametrize("name", ["rloo", "grpo", "scalinginter"])
def test_on_policy_the_unclipped_loss_of_a_paper_has_its_presets_gradient_bit_by_bit(name):
    """RLOO's and GRPO's one update per batch is plain REINFORCE: their clip never acts."""
    loss, columns = get_preset(name).loss, batch(ref_per_token_logps=OLD + log(2.0))
    del columns["old_per_token_logps"]
    slopes = []
    for variant in (loss, replace(loss, clip="none")):
        policy_scores = scores()
        token_losses(variant, policy_scores, columns, MASK).sum().backward()
        slopes.append(policy_scores.logps.grad)
    assert torch.equal(*slopes)
    assert slopes[0].abs().min() > 0.5


def test_what_is_clipped_is_counted_on_the_side_where_it_binds():
    policy_scores = scores()
    policy_scores = policy_scores._replace(entropies=policy_scores.logps.exp())
    figures = token_figures(Loss(low=0.2, high=0.5), policy_scores, batch(), MASK)
    assert not any(values.requires_grad for values in figures.values()), "they would keep a graph"
    assert figures["clip_ratio/high_mean"].tolist() == [[0, 0, 1, 1], [0, 0, 0, 0]]
    assert figures["clip_ratio/low_mean"].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]
    assert figures["clip_ratio/region_mean"].sum() == 3
    assert set(token_figures(Loss(clip="none"), scores(), batch(), MASK)) == {"entropy"}


def test_a_token_that_does_not_train_may_be_anything():
    """Its addend is not in the sum, and no gradient of it is no number."""
    policy_scores, old, mask = scores(), OLD.clone(), MASK.clone()
    weights = torch.ones(2, 4)
    old[1, 0], weights[1, 0], mask[1, 0] = -500.0, torch.inf, False
    terms = token_losses(
        Loss(), policy_scores, batch(old_per_token_logps=old, token_weights=weights), mask
    )
    assert not terms[1, 0].isfinite()
    torch.where(mask, terms, 0.0).sum().backward()
    assert policy_scores.logps.grad[mask].isfinite().all()


FAR = (-torch.inf, -1e30, -700.0, -95.0, 95.0, 700.0, 1e30, torch.inf, torch.nan)
"""Log-ratios of one token, as of weights or an engine gone astray."""


def slopes_beside(loss: Loss, gap: float | None, **changes: Any) -> torch.Tensor:
    """Derivatives of all tokens but one, whose log-ratio is far off; None: it does not train."""
    policy_scores, old, mask, index = scores(), OLD.clone(), MASK.clone(), (1, 2)
    old[index] = -1.0 if gap is None else policy_scores.logps.detach()[index] - gap
    mask[index] = gap is not None
    terms = token_losses(loss, policy_scores, batch(old_per_token_logps=old, **changes), mask)
    torch.where(mask & terms.isfinite(), terms, 0.0).sum().backward()
    assert policy_scores.logps.grad is not None
    assert gap is None or policy_scores.logps.grad[index].isfinite()
    policy_scores.logps.grad[index] = 0.0
    return policy_scores.logps.grad


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("gap", FAR)
@pytest.mark.parametrize("name", ["ppo", "dual", "cispo", "none"])
def test_a_token_far_off_costs_the_others_nothing(name, gap, sign):
    loss, signs = CLIPS[name][0], sign * batch()["advantages"]
    expected = slopes_beside(loss, None, advantages=signs)
    assert torch.equal(slopes_beside(loss, gap, advantages=signs), expected)
    assert expected.abs().sum() > 1.0


@pytest.mark.parametrize("estimator", ["k1", "k3"])
@pytest.mark.parametrize("gap", FAR)
def test_a_divergence_far_off_is_a_number_and_has_no_gradient(estimator, gap):
    logps = torch.tensor([-1.0, -1.0], requires_grad=True)
    parts = kl_divergence(logps, torch.tensor([-1.0 + gap, -2.0]), estimator)
    parts.sum().backward()
    assert parts.isfinite().all() and abs(parts[0]) < 5e8
    assert logps.grad.tolist()[0] == 0.0 and logps.grad[1] > 0.5


def test_a_mean_ratio_is_a_number_whatever_one_of_its_tokens_is():
    segments = torch.zeros(2, 4, dtype=torch.long)
    for gap in FAR:
        policy_scores, old = scores(), OLD.clone()
        old[0, 0] = policy_scores.logps.detach()[0, 0] - gap
        ratio = ratios(
            policy_scores.logps, batch(old_per_token_logps=old, ratio_segments=segments), MASK
        )
        ratio.sum().backward()
        assert ratio.isfinite().all() and policy_scores.logps.grad.isfinite().all()
        assert 0.05 < ratio[1, 1] < 25.0  # (5e8 or 2e-9) ** (1 / 8), times the others' mean


@pytest.mark.parametrize("name", ["cispo", "dapo", "istar", "archer", "gspo", "matpo"])
def test_in_a_first_update_a_preset_differs_from_turn_loo_in_its_advantages_alone(name):
    """What falls apart on the toy at one rate for all (benchmarks) has no other gradient there."""
    columns = batch(advantages=torch.tensor([[0.3, -2.0, 0.0, 1.0], [5.0, -0.1, 0.7, -4.0]]))
    del columns["old_per_token_logps"]
    slopes = []
    for loss in (get_preset("turn-loo").loss, get_preset(name).loss):
        policy_scores = scores()
        token_losses(loss, policy_scores, columns, MASK).sum().backward()
        slopes.append(policy_scores.logps.grad)
    torch.testing.assert_close(slopes[1], slopes[0], rtol=1e-6, atol=0.0)
    torch.testing.assert_close(slopes[0], -columns["advantages"], rtol=1e-6, atol=0.0)
