"""The interface of generation engines: token ids in, token ids out.

An engine never sees text and never re-tokenises. It returns the sampled ids with the
log-probability of each under the sampling distribution, which is all that the loss, the importance
weights and the parity probe need.

Requests are submitted at any time and finish one by one, so that no episode waits for another. All
randomness of a completion comes from its request's seed: samples do not depend on other requests in
flight, up to the rounding of logits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agentgym.errors import ConfigurationError, NotSupported

if TYPE_CHECKING:
    import torch

    from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = [
    "TOLD",
    "Completion",
    "EngineSettings",
    "GenerationEngine",
    "PoolEngine",
    "Request",
    "Sampling",
    "generate",
    "least_entropy",
    "require_idle",
    "row_limits",
]


@dataclass(frozen=True)
class Sampling:
    """Sampling settings."""

    max_tokens: int = 64
    """Maximum new tokens per prompt, including the stop token; a request may have a lower limit."""
    temperature: float = 1.0
    """Softmax temperature, > 0; use ``greedy`` for the arg-max."""
    top_p: float = 1.0
    """Nucleus mass in (0, 1]; below 1 the tail is dropped and the rest renormalised, and the
    returned log-probabilities are those of the renormalised distribution."""
    top_k: int = 0
    """Sample from this number of most likely tokens, before the nucleus; 0: all. Only the
    transformers engines support it; training does not use it."""
    stop_ids: tuple[int, ...] = ()
    """Token ids that end a completion; the sampled one is part of it."""
    greedy: bool = False
    """Take the arg-max. Log-probabilities are then those of the unmodified model at
    temperature 1: good for reports, not for training."""
    entropies: bool = False
    """Whether completions include the entropy of each token's distribution."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.max_tokens < 1:
            raise ConfigurationError(
                f"Sampling.max_tokens must be >= 1, got {self.max_tokens}: raise the turn budget."
            )
        if not self.temperature > 0:
            raise ConfigurationError(
                f"Sampling.temperature must be > 0, got {self.temperature}: "
                "use greedy=True for deterministic decoding."
            )
        if not 0 < self.top_p <= 1:
            raise ConfigurationError(f"Sampling.top_p must be in (0, 1], got {self.top_p}.")
        if self.top_k < 0:
            raise ConfigurationError(
                f"Sampling.top_k must be >= 0, got {self.top_k}: 0 draws among all tokens."
            )


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to complete."""

    key: int
    """Names the completion; different from all others in flight. The turns of a conversation should
    share a key, by which an engine finds the cache of earlier turns."""
    prompt: Sequence[int]
    """Token ids, at least one; not to be changed while the request is in flight."""
    max_tokens: int
    """Maximum new tokens, >= 1, the stop token included."""
    seed: int
    """Non-negative seed of its samples, below 2**63."""
    group: int | None = None
    """Requests of a group share a prefix, like episodes of one task: an engine with several servers
    sends them to one, which computes the prefix once. None: no group."""
    stale: bool = False
    """Whether the stale policy completes it, in an engine that has one (``PoolEngine``)."""


@dataclass(slots=True)
class Completion:
    """The tokens that an engine sampled for one prompt."""

    ids: list[int]
    """Sampled token ids, at least one; ends with a stop id unless ``stopped`` is False."""
    logprobs: list[float]
    """Natural-log probability of each id under the sampling distribution, same length."""
    stopped: bool = True
    """True when a stop id was drawn, False when the token limit cut the completion."""
    entropies: list[float] = field(default_factory=list)
    """Entropy of the distribution of each id, in nats, same length; empty if not requested. An
    engine that only reports the most likely tokens returns :func:`least_entropy`."""


@dataclass(frozen=True)
class EngineSettings:
    """Settings of a run for the chosen engine."""

    pad_id: int
    """Id used for padding."""
    context: int
    """Maximum tokens of prompt and completion together."""
    slots: int
    """Maximum sequences at a time."""
    seed: int = 0
    """Seed for random numbers at the engine's start; completions have their own."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings specific to the engine, by name: those of ``--vllm.*`` for vLLM."""
    bf16: bool = False
    """Whether the training forward multiplies matrices in bfloat16."""
    pool: bool = False
    """Whether a stale policy plays beside the current one, which requires a ``PoolEngine``."""
    copy_weights: bool = True
    """Whether memory suffices for merged or cast copies of matrices during generation."""


@runtime_checkable
class GenerationEngine(Protocol):
    """The interface of generation engines.

    Attributes:
        name: Short name for logs and reports, e.g. ``"hf"``.
        exact: True when the log-probabilities equal those of the training forward to numerical
            noise (same weights, same dtype), so that no importance correction is needed.
        version: Version of the weights in use, as given to the last ``sync``.
    """

    name: str
    version: int

    @property
    def exact(self) -> bool:
        """Whether no importance correction is needed; a plain attribute will do."""
        ...

    @property
    def running(self) -> int:
        """Number of requests in flight: submitted and not yet returned by ``advance``."""
        ...

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Submit requests and return at once.

        Args:
            requests: The requests.
            sampling: Sampling settings, shared by these requests.
        """
        ...

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Advance the requests in flight.

        An engine in this process computes at least one token of every started sequence. A remote
        one waits for the next completion.

        Args:
            timeout: Maximum seconds to wait; None waits as long as it takes. Computing is not
                interrupted by it.

        Returns:
            Key and completion of each finished request, possibly none.
        """
        ...

    def abort(self) -> None:
        """Drop all requests in flight."""
        ...

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Load new weights and drop everything computed with the old ones.

        Called while nothing is in flight, unless the engine says that it may be.

        Args:
            named_params: (name, tensor) pairs of the merged policy, names as in the base model's
                checkpoint. Engines that share the model object with the trainer ignore them and
                must not consume the iterator.
            version: Version to report from now on, normally the optimiser step.
        """
        ...

    def rest(self) -> None:
        """Free device memory, if the engine can, until it is needed again.

        Called while nothing is in flight and the policy is about to be trained. An engine that
        frees its weights reports another ``version`` afterwards and needs a ``sync``.
        """
        ...

    def close(self) -> None:
        """Release memory and processes; calling it twice is allowed."""
        ...


@runtime_checkable
class PoolEngine(GenerationEngine, Protocol):
    """An engine that holds two policies: the current one and a stale copy.

    Attributes:
        stale_version: Version of the stale weights, as given to the last ``sync_stale``.
    """

    @property
    def stale_version(self) -> int:
        """Version of the stale weights; a plain attribute will do."""
        ...

    def sync_stale(self, weights: TrainedWeights, version: int) -> None:
        """Complete requests that are ``stale`` with these weights from now on.

        Called while nothing is in flight, after the first ``sync``. No later ``sync`` changes them.

        Args:
            weights: The policy's trained weights at that time; they are never changed.
            version: Version to report for it.
        """
        ...


TOLD = 20
"""Number of most likely tokens per position that vLLM reports, its default maximum."""


def least_entropy(logprobs: Iterable[float]) -> float:
    """Return a lower bound, in nats, of the entropy of a partly known distribution.

    The unknown mass counts as one token: dividing it would only add entropy.

    Args:
        logprobs: Log-probabilities of different tokens, in nats.
    """
    probabilities = [math.exp(logprob) for logprob in logprobs]
    parts = [*probabilities, 1.0 - math.fsum(probabilities)]
    return -math.fsum(part * math.log(part) for part in parts if part > 0.0)


def row_limits(count: int, sampling: Sampling, max_tokens: Sequence[int] | None) -> list[int]:
    """Return the token limit of each of ``count`` prompts, never above ``sampling.max_tokens``.

    Raises:
        ConfigurationError: The number of limits differs from ``count`` or one is below 1.
    """
    if max_tokens is None:
        return [sampling.max_tokens] * count
    if len(max_tokens) != count or any(limit < 1 for limit in max_tokens):
        raise ConfigurationError(
            f"max_tokens must hold {count} values >= 1 (one per prompt), got {list(max_tokens)}."
        )
    return [min(sampling.max_tokens, limit) for limit in max_tokens]


def require_idle(engine: GenerationEngine) -> None:
    """Check that an engine has nothing in flight.

    Raises:
        NotSupported: It has requests in flight.
    """
    if engine.running:
        raise NotSupported(
            f"expected an engine with nothing in flight, but {engine.running} requests are: call "
            "advance() until they have ended, or abort()."
        )


def generate(
    engine: GenerationEngine,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    max_tokens: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
) -> list[Completion]:
    """Continue each prompt and wait for all of them.

    Args:
        engine: An engine with nothing in flight.
        prompts: B token-id sequences, each of length >= 1.
        sampling: Sampling settings, shared by all prompts.
        max_tokens: Optional limit per prompt (B values >= 1); the smaller of it and
            ``sampling.max_tokens`` counts.
        seeds: Seed of each prompt; default 0, 1, 2, ...

    Returns:
        B completions, in the order of the prompts.

    Raises:
        ConfigurationError: The number of limits or seeds is not B.
        NotSupported: The engine has other requests in flight.
    """
    require_idle(engine)
    limits = row_limits(len(prompts), sampling, max_tokens)
    seeds = range(len(prompts)) if seeds is None else seeds
    if len(seeds) != len(prompts):
        raise ConfigurationError(f"expected {len(prompts)} seeds, got {len(seeds)}.")
    rows = enumerate(zip(prompts, limits, seeds, strict=True))
    requests = [Request(key, prompt, limit, seed) for key, (prompt, limit, seed) in rows]
    completions: dict[int, Completion] = {}
    try:
        engine.submit(requests, sampling)
        while len(completions) < len(requests):
            completions.update(engine.advance())
    except BaseException:
        engine.abort()
        raise
    return [completions[request.key] for request in requests]
