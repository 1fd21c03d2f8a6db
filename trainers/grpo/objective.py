"""What a preset's loss has and TRL's does not, on the tensors of a micro-batch.

TRL carries out the clipped policy term with one ratio per token, over advantages into which all
other factors are folded (``trainers.grpo.advantages``). The rest is here, so that the loss is

    sum_k weight_k (-behave_k min(rho_k A_k, clip(rho_k) A_k) + beta KL_k - c H_k)

over the trained tokens k, as in ``trainers.algorithms.loss``: the KL and entropy terms
are aggregated like the policy term, as their papers do.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainers.algorithms.loss import Loss

__all__ = ["averaged", "kl_divergence", "regulariser", "with_averaged_ratio"]


def averaged(values: Tensor, segments: Tensor, mask: Tensor) -> Tensor:
    """Replace each value (B, T) by the mean of its segment, over the true entries of the mask.

    ``segments`` holds ids >= 0; the result is 0 where the mask is false.
    """
    ids, held = segments[mask], values[mask]
    total = values.new_zeros(int(ids.max()) + 1 if ids.numel() else 1)
    count = torch.zeros_like(total).index_add_(0, ids, torch.ones_like(held))
    mean = total.index_add_(0, ids, held) / count.clamp(min=1.0)
    return torch.zeros_like(values).masked_scatter(mask, mean[ids])


def with_averaged_ratio(inputs: dict[str, Any], logps: Tensor, mask: Tensor) -> dict[str, Any]:
    """Let TRL's ratio of each token be the geometric mean over the token's segment.

    GSPO-token (arXiv 2507.18071, section 4.3): the ratio is ``sg(s) pi / sg(pi)``, where s is the
    mean over the segment. Its value is s, and its gradient is the token's own, so that tokens of
    one segment may differ in their advantage. TRL divides by the old policy; here that is the one
    whose ratio to the present policy is s.

    Without ``ratio_segments`` or old log-probabilities every ratio is the token's own, or 1, and
    the micro-batch is returned as it is.
    """
    if "ratio_segments" not in inputs or "old_per_token_logps" not in inputs:
        return inputs
    now = logps.detach()
    change = averaged(now - inputs["old_per_token_logps"], inputs["ratio_segments"], mask)
    return {**inputs, "old_per_token_logps": now - change}


def kl_divergence(logps: Tensor, reference: Tensor, estimator: str) -> Tensor:
    """Estimate the KL divergence (B, T) to a reference policy in nats, token by token.

    "k1" is ``log pi - log ref``; "k3" is ``q - log q - 1`` with ``q = ref / pi`` (GRPO, arXiv
    2402.03300).
    """
    gap = reference - logps
    return -gap if estimator == "k1" else gap.exp() - gap - 1.0


def regulariser(
    loss: Loss, inputs: dict[str, Any], logps: Tensor, entropies: Tensor, mask: Tensor
) -> Tensor:
    """Sum the KL and entropy terms over trained tokens, before TRL's normalisation.

    The micro-batch has ``token_weights`` (B, T), and ``ref_per_token_logps`` for a KL.
    """
    terms = -loss.entropy * entropies
    if loss.kl_beta:
        terms = terms + loss.kl_beta * kl_divergence(logps, inputs["ref_per_token_logps"], loss.kl)
    # Selected, not multiplied by 0: a padded position may hold a value that is not finite.
    total: Tensor = (terms * inputs["token_weights"])[mask].sum()
    return total
