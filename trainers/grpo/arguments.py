"""TRL's configuration for multi-turn runs: the settings that a preset and the sizes decide.

TRL carries out the clipped policy term alone. Aggregation and importance weights are folded into
its advantages (``trainers.grpo.advantages``); KL, entropy and the averaged ratio of a turn or a
sequence are ``trainers.grpo.objective``'s, so their options stay off in TRL.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, NotSupported
from trainers.algorithms.loss import Loss
from trainers.algorithms.presets import Preset
from trainers.rollouts.budget import TokenBudget

if TYPE_CHECKING:
    from trl import GRPOConfig

__all__ = [
    "check_arguments",
    "grpo_arguments",
    "largest_divisor",
    "loss_arguments",
]

OPTIMISER = MappingProxyType({"adam_beta2": 0.98, "lr_scheduler_type": "constant_with_warmup"})
"""What a run does not let one choose about its optimiser."""
_OFF: Mapping[str, tuple[Any, str]] = MappingProxyType(
    {
        "gradient_accumulation_steps": (1, "micro_tokens divides an update into micro-batches"),
        "use_vllm": (False, "pass make_engine=VLLMColocateEngine, whose weight sync is verified"),
        "log_completions": (False, "write down the episodes that on_rollout tells"),
        "use_transformers_continuous_batching": (False, "choose another engine instead"),
        "cache_implementation": (None, "the engine keeps a cache of its own"),
        "chat_template_kwargs": (None, "give template_kwargs to the TurnTokenizer"),
        "generation_kwargs": (None, "engines sample by temperature and top_p alone"),
        "top_k": (0, "engines sample by temperature and top_p alone"),
        "min_p": (None, "engines sample by temperature and top_p alone"),
        "repetition_penalty": (1.0, "engines sample by temperature and top_p alone"),
        "mask_truncated_completions": (False, "add the filter HarnessEndings to the preset"),
        "importance_sampling_level": ("token", "set the ratio of the preset's loss"),
        "beta": (0.0, "set kl_beta of the preset's loss"),
        "entropy_coef": (0.0, "set entropy of the preset's loss"),
        "use_adaptive_entropy": (False, "set entropy of the preset's loss"),
        "sync_ref_model": (False, "the reference is the policy that training began with"),
    }
)
"""Options of TRL that would be ignored or would contradict the preset: the value they must keep,
and what to do instead."""


def loss_arguments(loss: Loss) -> dict[str, Any]:
    """Express the policy term of a loss as TRL's.

    Raises:
        NotSupported: TRL has no such loss; the message names the part.
    """
    arguments: dict[str, Any] = {
        "loss_type": "dapo",
        "importance_sampling_level": "token",
        "epsilon": loss.low,
        "epsilon_high": loss.high,
        "delta": loss.dual,
        "beta": 0.0,
        "entropy_coef": 0.0,
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
    budget: TokenBudget,
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
) -> GRPOConfig:
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
        budget: Limits on tokens; the episode's is TRL's ``max_completion_length``.
        warmup: Steps of linear warm-up; the first has that share of the rate, the last all of it.
        temperature: Sampling temperature, which the loss uses, too.
        top_p: Nucleus mass of sampling; below 1 importance weights are folded in.
        max_grad_norm: Gradient norm at which gradients are clipped.
        save_every: Steps between checkpoints; 0 saves none.
        keep_checkpoints: How many are kept; None keeps all.
        seed: Seed of tasks, environments and sampling.
        minibatches: Parts of a step's episodes, drawn at random, that are one update each.
        iterations: Passes over the episodes of a step.
        **overrides: Anything else ``GRPOConfig`` takes; goes before the above.

    Returns:
        The configuration. Precision is fp32 unless overridden; the CPU is used without a GPU.

    Raises:
        ConfigurationError: The episodes of a process cannot be divided into so many parts.
    """
    import torch
    from trl import GRPOConfig

    cpu = not torch.cuda.is_available()
    updates = minibatches * iterations
    settings: dict[str, Any] = {
        "output_dir": str(output_dir),
        **_batching(groups * group_size, group_size, minibatches, cpu),
        "num_iterations": iterations,
        "max_steps": steps * updates,
        "learning_rate": lr,
        "warmup_steps": warmup * updates,
        "max_grad_norm": max_grad_norm,
        "max_completion_length": budget.episode_tokens,
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
        **loss_arguments(preset.loss),
    }
    return GRPOConfig(**{**settings, **overrides})


def _batching(episodes: int, group_size: int, minibatches: int, cpu: bool) -> dict[str, int]:
    """Divide the episodes of a step among processes and updates.

    To TRL an update is one micro-batch: the trainer divides it further, by tokens.
    """
    from accelerate import PartialState

    rows = episodes // PartialState(cpu=cpu).num_processes
    if rows % minibatches:
        raise ConfigurationError(
            f"expected minibatches to divide the {rows} episodes of a process, got {minibatches}"
        )
    return {
        "per_device_train_batch_size": rows // minibatches,
        "gradient_accumulation_steps": 1,
        "steps_per_generation": minibatches,
        "num_generations": group_size if group_size > 1 else _least_divisor(rows),
    }


def check_arguments(args: GRPOConfig) -> None:
    """Check that a ``GRPOConfig`` asks for nothing the multi-turn trainer cannot honour.

    Raises:
        ConfigurationError: It uses an option that would be ignored or contradict the preset,
            or a loss into whose advantages no weights can be folded.
    """
    for name, (wanted, instead) in _OFF.items():
        if getattr(args, name) != wanted:
            raise ConfigurationError(
                f"expected {name}={wanted!r}, got {getattr(args, name)!r}: {instead}"
            )
    if args.loss_type not in ("dapo", "cispo"):
        raise ConfigurationError(
            f"expected loss_type 'dapo' or 'cispo', got {args.loss_type!r}: other aggregations "
            "come from the preset's loss, see trainers.grpo.arguments.grpo_arguments"
        )


def largest_divisor(number: int, limit: int) -> int:
    """Return the largest divisor of a number that is not above a limit; both at least 1."""
    return next(k for k in range(min(number, limit), 0, -1) if number % k == 0)


def _least_divisor(number: int) -> int:
    """Return the smallest divisor of a number, at least 2, that is not 1."""
    return next(k for k in range(2, number + 1) if number % k == 0)
