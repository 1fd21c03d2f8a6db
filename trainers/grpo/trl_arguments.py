"""TRL's configuration for multi-turn runs: sizes of the run, and options that stay off.

The loss is ``trainers.grpo.objective``; TRL's options for its loss would be ignored, so they are
errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from accelerate import PartialState
from trl import GRPOConfig

from agentgym.errors import ConfigurationError
from trainers.rollouts.budget import TokenBudget

__all__ = ["REFUSED", "check_arguments", "grpo_arguments"]

OPTIMISER = MappingProxyType({"adam_beta2": 0.98, "lr_scheduler_type": "constant_with_warmup"})
"""Default optimiser of a run."""
_SAMPLING = "engines sample by temperature and top_p alone"
_REWARD = "rewards come from the environments, advantages from the preset's terms"
_IN_LOSS = {
    "loss_type": "clip and aggregation",
    "importance_sampling_level": "ratio",
    "epsilon": "low",
    "epsilon_high": "high",
    "delta": "dual",
    "beta": "kl_beta",
    "use_bias_correction_kl": "kl",
    "entropy_coef": "entropy",
    "use_adaptive_entropy": "entropy",
    "off_policy_mask_threshold": "behave",
}
"""Options of TRL's loss, and their counterparts here."""
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "gradient_accumulation_steps": "micro_tokens divides an update into micro-batches",
        "use_vllm": "pass make_engine=VLLMColocateEngine, whose weight sync is verified",
        "log_completions": "record the episodes that on_rollout receives",
        "use_transformers_continuous_batching": "choose another engine instead",
        "cache_implementation": "the engine has its own cache",
        "chat_template_kwargs": "give template_kwargs to the TurnTokenizer",
        "mask_truncated_completions": "add the filter HarnessEndings to the preset",
        "top_entropy_quantile": "the preset's loss trains tokens of any entropy",
        "sync_ref_model": "the reference is the initial policy",
        **dict.fromkeys(("generation_kwargs", "top_k", "min_p", "repetition_penalty"), _SAMPLING),
        **dict.fromkeys(("scale_rewards", "reward_weights"), _REWARD),
        **{name: f"set {setting} of the preset's loss" for name, setting in _IN_LOSS.items()},
    }
)
"""Options of TRL that would be ignored or contradict the preset and must keep TRL's defaults, with
the alternative to each."""


def grpo_arguments(
    output_dir: str | Path,
    *,
    groups: int,
    group_size: int,
    steps: int,
    lr: float,
    budget: TokenBudget,
    warmup: int = 0,
    save_every: int = 0,
    keep_checkpoints: int | None = None,
    seed: int = 0,
    minibatches: int = 1,
    iterations: int = 1,
    **overrides: Any,
) -> GRPOConfig:
    """Make a ``trl.GRPOConfig`` for a run.

    A step is one batch of episodes, on which the weights are updated ``minibatches * iterations``
    times. TRL's ``max_steps``, checkpoint names and state count updates.

    Args:
        output_dir: Folder of the checkpoints.
        groups: Tasks per step, over all processes.
        group_size: Episodes per task. TRL gets at least 2, but forms no groups itself.
        steps: Steps.
        lr: Learning rate of every update, constant after the warm-up.
        budget: Limits on tokens; the episode's is TRL's ``max_completion_length``.
        warmup: Steps of linear warm-up; the learning rate rises from its first fraction to the full
            rate.
        save_every: Steps between checkpoints; 0 saves none.
        keep_checkpoints: Number of checkpoints kept; None keeps all.
        seed: Seed of tasks, environments and sampling.
        minibatches: Random parts of a step's episodes, one update each.
        iterations: Passes over the episodes of a step.
        **overrides: Any other argument of ``GRPOConfig``, such as ``temperature``, ``top_p`` (below
            1 tokens have importance weights) or ``max_grad_norm``; overrides the above.

    Returns:
        The configuration. Precision is fp32 unless overridden; the CPU is used without a GPU.

    Raises:
        ConfigurationError: The episodes of a process cannot be divided into this many parts.
    """
    cpu = not torch.cuda.is_available()
    updates = minibatches * iterations
    settings: dict[str, Any] = {
        "output_dir": str(output_dir),
        **_batching(groups * group_size, group_size, minibatches, cpu),
        "num_iterations": iterations,
        "max_steps": steps * updates,
        "learning_rate": lr,
        "warmup_steps": warmup * updates,
        "max_completion_length": budget.episode_tokens,
        "save_strategy": "steps" if save_every else "no",
        "save_steps": save_every * updates or 500,  # Of no use where nothing is saved.
        "save_total_limit": keep_checkpoints,
        "seed": seed,
        "use_cpu": cpu,
        "bf16": False,
        "gradient_checkpointing": False,
        # Else transformers drops the columns that the model's ``forward`` does not name.
        "remove_unused_columns": False,
        # A due log marks the end of a step, see ``BatchTrainer._maybe_log_save_evaluate``.
        "logging_steps": updates,
        "report_to": [],
        "disable_tqdm": True,
        **OPTIMISER,
    }
    return GRPOConfig(**{**settings, **overrides})


def _batching(episodes: int, group_size: int, minibatches: int, cpu: bool) -> dict[str, int]:
    """Divide the episodes of a step among processes and updates.

    To TRL an update is one micro-batch: the trainer divides it further, by tokens.
    """
    rows = episodes // PartialState(cpu=cpu).num_processes
    if rows % minibatches:
        raise ConfigurationError(
            f"expected minibatches to divide the {rows} episodes of a process, got {minibatches}"
        )
    # Episodes of a task may be one, which TRL refuses; it only has to divide the rows.
    smallest_divisor = next((k for k in range(2, rows) if rows % k == 0), rows)
    return {
        "per_device_train_batch_size": rows // minibatches,
        "gradient_accumulation_steps": 1,
        "steps_per_generation": minibatches,
        "num_generations": group_size if group_size > 1 else smallest_divisor,
    }


def check_arguments(args: GRPOConfig) -> None:
    """Check that a ``GRPOConfig`` has only options that the multi-turn trainer supports.

    Raises:
        ConfigurationError: An option would be ignored or contradict the preset.
    """
    for name, instead in REFUSED.items():
        default, value = args.__dataclass_fields__[name].default, getattr(args, name)
        if value != default:
            raise ConfigurationError(f"expected {name}={default!r}, got {value!r}: {instead}")
