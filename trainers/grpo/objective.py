"""The loss of an update, as one function of the tokens (B, T) of a micro-batch.

    L = U/K' sum_k w_k (-c_k min(rho_k A_k, clip(rho_k, 1 - low, 1 + high) A_k) + beta KL_k - e H_k)

over the trained tokens k of one of the U minibatches of a batch that has K'. ``algorithms/loss.py``
has its settings as data, and in numpy the weights: w_k / K' of the aggregation, and c_k that
corrects for the behaviour policy. Ratio, divergence and entropy are functions of the policy as it
is now, and are computed here. A method that shares layers with the policy adds terms of its own
(``StepPart.loss_terms``).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from trainers.algorithms.loss import (
    MAX_LOG_RATIO,
    BehaviourMode,
    Loss,
    importance_figures,
    importance_weights,
)
from trainers.rollouts.scoring.forward import Scores
from trainers.rollouts.scoring.tensors import gather_tokens, scatter_tokens

__all__ = ["averaged", "kl_divergence", "late_weights", "ratios", "token_figures", "token_losses"]


def token_losses(loss: Loss, scores: Scores, batch: Mapping[str, Tensor], mask: Tensor) -> Tensor:
    """Compute the addends (B, T) of L, which are to be summed and multiplied by U / K'.

    Args:
        loss: The preset's.
        scores: The policy's current scores of the tokens.
        batch: ``advantages`` A, ``token_weights`` w and ``behaviour_weights`` c, (B, T); if the
            loss needs them, also the inputs of ``ratios`` and ``ref_per_token_logps``.
        mask: (B, T) mask of the trained tokens; other entries of the result are undefined.
    """
    logps, advantage = scores.logps, batch["advantages"]
    ratio = ratios(logps, batch, mask)
    near = ratio.clamp(1.0 - loss.low, 1.0 + loss.high)
    if loss.clip == "ppo":
        gain = torch.minimum(ratio * advantage, near * advantage)
        if loss.dual is not None:
            # Dual clip (arXiv 1912.09729): where A < 0 a large ratio has no bound otherwise.
            floor = torch.maximum(gain, loss.dual * advantage)
            gain = torch.where(advantage < 0, floor, gain)
    elif loss.clip == "cispo":
        # The gradient comes through log pi alone: a token whose ratio is clipped keeps it.
        gain = near.detach() * advantage * logps
    elif loss.clip == "dppo":
        leaves = torch.stack(_clipped(loss, logps, batch, mask)).any(0)
        gain = torch.where(leaves, 0.0, ratio * advantage)
    else:
        gain = advantage * logps
    terms = -batch["behaviour_weights"] * gain
    if loss.kl_beta:
        divergence = kl_divergence(logps, batch["ref_per_token_logps"], loss.kl)
        terms = terms + loss.kl_beta * divergence
    if loss.entropy:
        terms = terms - loss.entropy * scores.entropies
    addends: Tensor = batch["token_weights"] * terms
    return addends


@torch.no_grad()
def token_figures(
    loss: Loss, scores: Scores, batch: Mapping[str, Tensor], mask: Tensor
) -> dict[str, Tensor]:
    """Return metrics (B, T) without a graph; the log has their means over trained tokens."""
    figures = {"entropy": scores.entropies.detach()}
    if "ref_per_token_logps" in batch:
        figures["kl"] = kl_divergence(scores.logps, batch["ref_per_token_logps"], loss.kl)
    if loss.clip != "none":
        below, above = _clipped(loss, scores.logps, batch, mask)
        clipped = {"low_mean": below, "high_mean": above, "region_mean": below | above}
        figures |= {f"clip_ratio/{name}": tokens.float() for name, tokens in clipped.items()}
    return figures


@torch.no_grad()
def _clipped(
    loss: Loss, logps: Tensor, batch: Mapping[str, Tensor], mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Return where (B, T) the clip binds: below a ratio of 1, where A < 0, and above it."""
    ratio, advantage = ratios(logps, batch, mask), batch["advantages"]
    low, high = 1.0 - loss.low, 1.0 + loss.high
    far = torch.ones_like(mask)
    if loss.clip == "dppo":
        low = high = 1.0
        old = batch.get("old_per_token_logps", logps)
        far = (logps.exp() - old.exp()).abs() > loss.divergence
    return far & (ratio < low) & (advantage < 0), far & (ratio > high) & (advantage > 0)


@torch.no_grad()
def late_weights(
    loss: Loss, mode: BehaviourMode, logps: Tensor, batch: Mapping[str, Tensor], mask: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Compute the weights c (B, T) in the pass of a batch's only update, whose policy is pi_old.

    Args:
        loss: The preset's, whose correction is of single tokens.
        mode: How it corrects.
        logps: (B, T) log-probabilities of the policy.
        batch: ``sampling_per_token_logps``, those of the behaviour policy.
        mask: (B, T) mask of the trained tokens.

    Returns:
        The weights, and figures (B, T) for the log; both 0 where the mask is false.
    """
    gap = gather_tokens(logps - batch["sampling_per_token_logps"], mask)
    weight = importance_weights(gap, mode, loss.behave_cap, loss.behave_floor)
    figures = importance_figures(gap, weight, mode, loss.behave_cap)
    columns = {name: scatter_tokens(values, mask) for name, values in figures.items()}
    return scatter_tokens(weight, mask), columns


def ratios(logps: Tensor, batch: Mapping[str, Tensor], mask: Tensor) -> Tensor:
    """Compute the ratio (B, T) of the policy to the one before the updates of the batch.

    It is ``pi / pi_old`` of the token, or its geometric mean over the token's segment. That is
    GSPO-token's (arXiv 2507.18071, section 4.3), ``sg(s) pi / sg(pi)``, s being the mean: its value
    is s, and its gradient is the token's, so that tokens of one segment may have different
    advantages.

    Log-ratios are bounded, see :func:`_bounded`.

    Args:
        logps: (B, T) log-probabilities of the policy.
        batch: ``old_per_token_logps``, without which the policy is still the old one; for a mean
            ``ratio_segments``, or ``mean_log_ratios`` where a segment goes beyond these rows.
        mask: (B, T) mask of the trained tokens.
    """
    # logps - sg(logps): a ratio of 1, with the gradient of log pi.
    log_ratio = logps - batch.get("old_per_token_logps", logps.detach())
    own_log_ratio, mean = log_ratio.detach(), batch.get("mean_log_ratios")
    if "ratio_segments" in batch:
        mean = averaged(own_log_ratio, batch["ratio_segments"], mask)
    return _bounded(log_ratio if mean is None else mean + (log_ratio - own_log_ratio)).exp()


def _bounded(log_ratio: Tensor) -> Tensor:
    """Cut log-ratios where their exponential would overflow, as ``safe_exp`` does in numpy.

    One without a value (a token that both policies exclude) counts as 0. Neither has a gradient.
    """
    finite = log_ratio.nan_to_num(nan=0.0, posinf=MAX_LOG_RATIO, neginf=-MAX_LOG_RATIO)
    return finite.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def averaged(values: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
    """Replace each value (B, T) by the mean of its segment, over the true entries of the mask.

    ``segments`` holds ids >= 0; the result is 0 where the mask is false.
    """
    # One infinite log-ratio would make those of its whole segment infinite.
    ids, token_values = segments[mask], _bounded(values[mask])  # (n,) each
    # Micro-batches that only pad have no trained token.
    total = values.new_zeros(int(ids.max()) + 1 if ids.numel() else 1)  # (S,)
    count = torch.zeros_like(total).index_add_(0, ids, torch.ones_like(token_values))
    mean = total.index_add_(0, ids, token_values) / count.clamp(min=1.0)
    return torch.zeros_like(values).masked_scatter(mask, mean[ids])


def kl_divergence(logps: Tensor, reference: Tensor, estimator: str) -> Tensor:
    """Estimate the KL divergence (B, T) to a reference policy in nats, token by token.

    "k1" is ``log pi - log ref``; "k3" is ``q - log q - 1`` with ``q = ref / pi`` (GRPO, arXiv
    2402.03300). The log-ratio is bounded, see :func:`_bounded`.
    """
    gap = _bounded(reference - logps)
    return -gap if estimator == "k1" else gap.exp() - gap - 1.0
