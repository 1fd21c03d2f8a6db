"""Log-probability parity: check that the engine samples from the trainer's policy.

A stale head, a missed tensor, another precision or a wrong temperature raise no error: training
just drifts. After the first sync ``probe_parity`` lets the engine complete a few prompts and
recomputes each token's log-probability with the trainer's forward pass.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentgym.errors import AgentGymError, ConfigurationError
from trainers.rollouts.engines.base import Completion, GenerationEngine, Sampling, generate

if TYPE_CHECKING:
    import torch

__all__ = ["ParityError", "ParityReport", "Scorer", "completion_logprobs", "probe_parity"]

logger = logging.getLogger(__name__)

FP32_TOLERANCE = 1e-4
"""Maximum nats between two float32 forwards of the same weights: ten times the rounding error."""

Scorer = Callable[[Sequence[Sequence[int]], Sequence[Completion]], list[list[float]]]
"""Log-probability of each token of completions of some prompts."""


class ParityError(AgentGymError, RuntimeError):
    """The engine's log-probabilities are not those of the trainer's model."""


@dataclass(frozen=True)
class ParityReport:
    """The gap between an engine and the trainer's forward, in nats."""

    max_abs: float
    """Largest |log p_engine - log p_trainer| over the sampled tokens."""
    mean_abs: float
    """Mean of the same."""
    tokens: int
    """Number of tokens compared."""
    version: int
    """Version of the engine's weights."""


def probe_parity(
    engine: GenerationEngine,
    model: torch.nn.Module,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    *,
    tolerance: float | None = FP32_TOLERANCE,
    score: Scorer | None = None,
) -> ParityReport:
    """Sample with the engine, score with the model, compare.

    Args:
        engine: An engine that was synchronised with ``model``.
        model: The trainer's causal model (PEFT models and wrappers included); its training mode
            is restored.
        prompts: A few token-id sequences, each of length >= 1; 4 to 8 are enough.
        sampling: The run's settings, with top_p 1 and without greedy, because the forward pass has
            the full distribution.
        tolerance: Largest ``max_abs`` that passes; None only reports. The default suits an engine
            and a trainer in float32; bfloat16 engines differ by about 1e-2.
        score: The forward pass of the training, at the run's temperature; None scores the
            sequences one by one with ``model`` in evaluation mode, which padding and dropout
            cannot disturb.

    Returns:
        The measured gap.

    Raises:
        ParityError: The gap exceeds the tolerance, or a log-probability is not finite.
        ConfigurationError: There are no prompts.
    """
    if not prompts:
        raise ConfigurationError("expected at least one prompt for the parity probe, got none.")
    open_sampling = replace(sampling, top_p=1.0, greedy=False)
    completions = generate(engine, prompts, open_sampling)
    if score is None:
        expected = completion_logprobs(model, prompts, completions, sampling.temperature)
    else:
        expected = score(prompts, completions)
    gaps = [
        abs(logprob - reference)
        for completion, row in zip(completions, expected, strict=True)
        for logprob, reference in zip(completion.logprobs, row, strict=True)
    ]
    finite = all(math.isfinite(gap) for gap in gaps)
    report = ParityReport(
        max_abs=max(gaps) if finite else math.inf,
        mean_abs=sum(gaps) / len(gaps) if finite else math.inf,
        tokens=len(gaps),
        version=engine.version,
    )
    logger.info("logp parity of engine %s: %s", engine.name, report)
    if tolerance is not None and not report.max_abs <= tolerance:
        raise ParityError(_message(engine, report, tolerance))
    return report


def completion_logprobs(
    model: torch.nn.Module,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Completion],
    temperature: float = 1.0,
) -> list[list[float]]:
    """Score every sampled token, log pi(token | prompt, earlier tokens), by a plain forward.

    One sequence at a time, without padding or cache: slow, but free of their errors.
    """
    import torch

    device = next(model.parameters()).device
    rows = []
    with torch.no_grad(), _evaluating(model):
        for prompt, completion in zip(prompts, completions, strict=True):
            ids = torch.tensor([[*prompt, *completion.ids]], device=device)
            # (n, V) of the n sampled tokens: the logits of a token are at the position before it.
            logits = model(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 : -1]
            logps = torch.log_softmax(logits.float() / temperature, dim=-1)
            tokens = ids[0, len(prompt) :, None]
            rows.append(logps.gather(1, tokens).squeeze(1).tolist())
    return rows


@contextlib.contextmanager
def _evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode (no dropout) for the block, then the mode it had."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _message(engine: GenerationEngine, report: ParityReport, tolerance: float) -> str:
    return (
        f"expected the engine {engine.name!r} (weights version {report.version}) to sample from "
        f"the trainer's policy within {tolerance:g} nats, got max |dlogp| = {report.max_abs:.3g}, "
        f"mean {report.mean_abs:.3g} over {report.tokens} tokens. Check that sync received every "
        "weight (tied lm_head and merged adapters included; use policy_weights), that "
        "engine and trainer run in the same precision (float32), that both use the same "
        "temperature, and that neither padding nor dropout changes the training forward. A "
        "lower-precision engine needs a larger tolerance and importance weights."
    )
