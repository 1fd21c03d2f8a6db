"""The contract between rollouts and whatever generates text: token ids in, token ids out.

An engine never sees text and never re-tokenises. It returns the ids it sampled together with the
log-probability of each of them under the distribution it sampled from, which is all that the
loss, the importance weights and the parity probe need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    import torch

__all__ = ["Completion", "EngineSettings", "GenerationEngine", "Sampling", "row_limits"]


@dataclass(frozen=True)
class Sampling:
    """How one call of an engine draws tokens."""

    max_tokens: int = 64
    """Most new tokens per prompt, the stop token included."""
    temperature: float = 1.0
    """Softmax temperature, > 0; use ``greedy`` for the arg-max."""
    top_p: float = 1.0
    """Nucleus mass in (0, 1]; below 1 the tail is dropped and the rest renormalised, and the
    returned log-probabilities are those of the renormalised distribution."""
    stop_ids: tuple[int, ...] = ()
    """Token ids that end a completion; the one drawn is part of the completion."""
    greedy: bool = False
    """Take the arg-max. Log-probabilities are then those of the unmodified model at
    temperature 1: good for reports, not for training."""
    seed: int | None = None
    """Re-seeds the engine before this call; None continues the engine's own generator."""

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


@dataclass(slots=True)
class Completion:
    """What an engine sampled for one prompt."""

    ids: list[int]
    """Sampled token ids, at least one; ends with a stop id unless ``stopped`` is False."""
    logprobs: list[float]
    """Natural-log probability of each id under the sampling distribution, same length."""
    stopped: bool = True
    """True when a stop id was drawn, False when the token limit cut the completion."""


@dataclass(frozen=True)
class EngineSettings:
    """What a run tells whichever engine was chosen."""

    pad_id: int
    """Id used for padding."""
    context: int
    """Most tokens of prompt and completion together."""
    slots: int
    """Most sequences at a time."""
    seed: int = 0
    """Seed of the engine's own generator."""
    bf16: bool = False
    """Whether the training forward multiplies matrices in bfloat16."""


@runtime_checkable
class GenerationEngine(Protocol):
    """Anything that continues token sequences.

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

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        max_tokens: Sequence[int] | None = None,
    ) -> list[Completion]:
        """Continue each prompt.

        Args:
            prompts: B token-id sequences, each of length >= 1.
            sampling: How to draw, shared by all prompts.
            max_tokens: Optional limit per prompt (B values >= 1); the smaller of it and
                ``sampling.max_tokens`` counts. Rollouts use it for per-episode budgets.

        Returns:
            B completions, in the order of the prompts.
        """
        ...

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Take over new weights and forget everything computed with the old ones.

        Args:
            named_params: (name, tensor) pairs of the merged policy, names as in the base model's
                checkpoint. Engines that share the model object with the trainer ignore them and
                must not consume the iterator.
            version: Version to report from now on, normally the optimiser step.
        """
        ...

    def close(self) -> None:
        """Release memory and processes; calling it twice is allowed."""
        ...


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
