"""Teach a new model to copy before imitation, on repeated random token sequences.

Whether a small transformer learns to use its context depends on induction heads (Olsson et al.
2022, arXiv 2209.11895): attend to the token that followed the previous occurrence of the current
one. On demonstrations these form late, because few tokens need them; on repeated random sequences
every token of the second half does.

A few hundred steps do not master it (the loss falls from 5 nats to about 4), but imitation then
learns faster: in one run each, with initial weights of .02, the loss after 200 steps of imitation
was .30 with 150 such steps before and .48 without.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["CopySettings", "pretrain_copying"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class CopySettings:
    """How to teach copying."""

    steps: int = 150
    """Optimiser steps; 0 leaves the model as it is."""
    batch_size: int = 48
    """Sequences per step."""
    shortest: int = 8
    """Least length of the repeated part, in tokens."""
    longest: int = 32
    """Greatest length of the repeated part, in tokens."""
    lr: float = 3e-3
    """Learning rate after the warm-up."""
    warmup: int = 30
    """Steps of linear warm-up."""
    seed: int = 0
    """Seed of the sequences."""


def pretrain_copying(
    model: PreTrainedModel,
    settings: CopySettings,
    *,
    first_id: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> float:
    """Train on sequences ``[x; x]``, with the loss on the second half.

    Args:
        model: A causal language model.
        settings: How to train.
        first_id: Token ids below this one (special tokens) are left out.
        progress: Called with the number of steps and the loss, every ten steps.

    Returns:
        The last loss: mean cross-entropy of the repeated tokens, in nats.

    Raises:
        ConfigurationError: The vocabulary has no token besides the special ones.
    """
    vocabulary = int(model.config.vocab_size)
    if first_id >= vocabulary:
        raise ConfigurationError(
            f"expected first_id below the vocabulary's size {vocabulary}, got {first_id}"
        )
    device = next(model.parameters()).device
    # On the CPU, so that every device draws the same sequences.
    generator = torch.Generator().manual_seed(settings.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.lr, betas=(0.9, 0.98), weight_decay=0.01
    )
    model.train()
    loss = torch.zeros(())
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * min(1.0, (step + 1) / settings.warmup)
        ids = _sequences(settings, first_id, vocabulary, generator).to(device)  # (B, 2 n) int64
        half = ids.shape[1] // 2
        # (B, n - 1, V): without the first repeated token, which cannot be predicted.
        logits = model(input_ids=ids, use_cache=False).logits[:, half:-1]
        targets = ids[:, half + 1 :]
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if progress is not None and (step + 1) % 10 == 0:
            progress(step + 1, loss.item())
    model.eval()
    return loss.item()


def _sequences(
    settings: CopySettings, first_id: int, vocabulary: int, generator: torch.Generator
) -> torch.Tensor:
    """Draw (B, 2 n) random sequences that repeat after n tokens."""
    n = int(
        torch.randint(settings.shortest, settings.longest + 1, (1,), generator=generator).item()
    )
    part = torch.randint(first_id, vocabulary, (settings.batch_size, n), generator=generator)
    return torch.cat([part, part], dim=1)
