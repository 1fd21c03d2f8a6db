"""TRL's configuration for multi-turn runs: the settings that a preset and the sizes decide.

TRL adds its KL and entropy terms as means over tokens, outside the advantages; they stay that
whatever aggregation the preset's loss names, which holds for the policy term alone.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgym.errors import ConfigurationError, NotSupported
from trainers.algorithms import Loss, Preset
from trainers.divisors import largest_divisor, least_divisor
from trainers.rollouts.budget import Limits

__all__ = ["check_arguments", "check_preset", "grpo_arguments", "loss_arguments"]

logger = logging.getLogger(__name__)

OPTIMISER = MappingProxyType({"adam_beta2": 0.98, "lr_scheduler_type": "constant_with_warmup"})
"""What a run does not let one choose about its optimiser."""
_KEEP_REFERENCE = 1e-12
"""A weight of the KL term that makes TRL keep a reference policy without being felt."""


def loss_arguments(loss: Loss, reference: bool = False) -> dict[str, Any]:
    """Express a loss in TRL's terms; aggregation and importance weights live in the advantages.

    The KL and entropy terms do not: both stay token means, see above.

    Args:
        loss: The loss of a preset.
        reference: Whether a reference policy is needed though ``kl_beta`` may be 0.

    Returns:
        Keyword arguments of ``trl.GRPOConfig``.

    Raises:
        NotSupported: TRL has no such loss; the message names the part.
    """
    if loss.ratio == "turn":
        raise NotSupported("expected a ratio per token or sequence; TRL has none per turn")
    if loss.kl_beta > 0 and loss.kl != "k3":
        raise NotSupported(f"expected the KL estimator k3, which TRL uses, got {loss.kl!r}")
    arguments: dict[str, Any] = {
        "loss_type": "dapo",
        "importance_sampling_level": loss.ratio,
        "epsilon": loss.low,
        "epsilon_high": loss.high,
        "delta": loss.dual,
        "beta": loss.kl_beta or (_KEEP_REFERENCE if reference else 0.0),
        "entropy_coef": loss.entropy,
        "scale_rewards": "none",
    }
    if loss.clip == "cispo":
        if loss.low < 1.0:
            raise NotSupported(f"expected cispo without a lower bound (low=1), got low={loss.low}")
        # TRL's cispo takes the bound itself, not its distance from 1.
        arguments |= {"loss_type": "cispo", "epsilon_high": 1.0 + loss.high}
    elif loss.clip == "none":
        raise NotSupported("expected a clip of 'ppo' or 'cispo'; unclipped losses are not TRL's")
    return arguments


def grpo_arguments(
    output_dir: str | Path,
    preset: Preset,
    *,
    groups: int,
    group_size: int,
    steps: int,
    lr: float,
    limits: Limits,
    micro_batch: int | None = None,
    warmup: int = 0,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_grad_norm: float = 1.0,
    save_every: int = 0,
    keep_checkpoints: int | None = None,
    seed: int = 0,
    minibatches: int = 1,
    iterations: int = 1,
    **overrides: Any,
) -> Any:
    """Make a ``trl.GRPOConfig`` for a run.

    A step is one batch of episodes, on which the weights are updated ``minibatches * iterations``
    times. TRL counts updates: so do its ``max_steps``, its checkpoints' names and its state.

    Args:
        output_dir: Folder of the checkpoints.
        preset: Decides the loss.
        groups: Tasks per step, over all processes.
        group_size: Episodes per task; TRL, which is told of at least 2, forms no groups of its own.
        steps: Steps.
        lr: Learning rate of every update, constant after the warm-up.
        limits: Token budgets; the episode's is TRL's ``max_completion_length``.
        micro_batch: Most rows per forward and backward pass in a process; a divisor of those of an
            update is taken. None: all at once.
        warmup: Steps of linear warm-up.
        temperature: Sampling temperature, which the loss uses, too.
        top_p: Nucleus mass of sampling; below 1 importance weights are folded in.
        max_grad_norm: Gradient norm at which gradients are clipped.
        save_every: Steps between checkpoints; 0 saves none.
        keep_checkpoints: How many are kept; None keeps all.
        seed: Seed of tasks, environments and sampling.
        minibatches: Parts of a step's rows, drawn at random, that are one update each.
        iterations: Passes over the rows of a step.
        **overrides: Anything else ``GRPOConfig`` takes; goes before the above.

    Returns:
        The configuration. Precision is fp32 unless overridden; the CPU is used without a GPU.

    Raises:
        ConfigurationError: The rows of a process cannot be divided into so many parts.
    """
    import torch
    from accelerate import PartialState
    from trl import GRPOConfig

    cpu = not torch.cuda.is_available()
    rows = groups * group_size // PartialState(cpu=cpu).num_processes
    if rows % minibatches:
        raise ConfigurationError(
            f"expected minibatches to divide the {rows} episodes of a process, got {minibatches}"
        )
    size = largest_divisor(rows // minibatches, micro_batch or rows)
    updates = minibatches * iterations
    settings: dict[str, Any] = {
        "output_dir": str(output_dir),
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": rows // minibatches // size,
        "steps_per_generation": rows // size,
        "num_iterations": iterations,
        "num_generations": group_size if group_size > 1 else least_divisor(rows),
        "max_steps": steps * updates,
        "learning_rate": lr,
        "warmup_steps": warmup * updates,
        "max_grad_norm": max_grad_norm,
        "max_completion_length": limits.episode_tokens,
        "temperature": temperature,
        "top_p": top_p,
        "save_strategy": "steps" if save_every else "no",
        "save_steps": save_every * updates or 500,
        "save_total_limit": keep_checkpoints,
        "seed": seed,
        "use_cpu": cpu,
        "bf16": False,
        "gradient_checkpointing": False,
        "remove_unused_columns": False,
        "logging_steps": updates,
        "report_to": [],
        "disable_tqdm": True,
        **OPTIMISER,
        **loss_arguments(preset.loss, "reference" in preset.needs),
    }
    return GRPOConfig(**{**settings, **overrides})


def check_preset(preset: Preset, serves: Collection[str]) -> None:
    """Refuse a preset whose needs are not met; warn about parts that are left out.

    Args:
        preset: The preset.
        serves: Keys of ``algorithms.NEEDS`` the trainer can serve.

    Raises:
        ValueError: A need is not met.
    """
    preset.require(serves)
    if preset.ignored:
        logger.warning(
            "preset %r runs without its %s, which this trainer does not carry out: %s",
            preset.name,
            " and ".join(preset.ignored),
            preset.note,
        )


def check_arguments(args: Any) -> None:
    """Check that a ``GRPOConfig`` asks for nothing the multi-turn trainer cannot honour.

    Raises:
        ConfigurationError: It uses TRL's vLLM, would generate twice in a step, or uses a loss into
            whose advantages no weights can be folded.
    """
    if args.use_vllm:
        raise ConfigurationError(
            "expected use_vllm=False: pass engine=VLLMColocateEngine, whose weight sync is "
            "verified, instead of TRL's"
        )
    if args.steps_per_generation * args.num_iterations < args.gradient_accumulation_steps:
        raise ConfigurationError(
            "expected at most one generation per optimiser step, got steps_per_generation="
            f"{args.steps_per_generation} < gradient_accumulation_steps="
            f"{args.gradient_accumulation_steps}: leave steps_per_generation at its default"
        )
    if args.loss_type not in ("dapo", "cispo"):
        raise ConfigurationError(
            f"expected loss_type 'dapo' or 'cispo', got {args.loss_type!r}: other aggregations "
            "come from the preset's loss, see trainers.arguments.grpo_arguments"
        )
