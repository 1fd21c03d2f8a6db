"""Configuration of a training run: frozen dataclasses from which the command line is generated."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentgym.cli.pairs import parse_pairs
from agentgym.errors import ConfigurationError
from trainers.tiny import TinyConfig


@dataclass(frozen=True)
class SftConfig:
    """The warm start on demonstrations of the expert, which stops at a validation gate."""

    demonstrations: int = 16000
    """Distinct training tasks whose expert episodes are imitated."""
    batch_size: int = 16
    """Demonstrations per step."""
    lr: float | None = None
    """Peak learning rate (linear warm-up, then cosine).

    None: 6e-3 for ``--model tiny``, 1e-5 for a pretrained model."""
    max_steps: int | None = None
    """Steps after which the warm start ends even if the gate was not reached; 0: no warm start.

    None: 1,600 for ``--model tiny``, 0 for a pretrained model."""
    observation_weight: float = 0.5
    """Weight of the language-model loss on observation tokens."""
    copy_steps: int = 200
    """Steps that teach a fresh tiny model to copy, before the demonstrations."""
    gate_success: float | None = None
    """Success of the sampled policy on validation tasks at which the warm start ends.

    None: the family's default, such as .45 for the shop."""
    gate_every: int = 25
    """Steps between two validations."""
    gate_tasks: int = 128
    """Validation tasks per gate check."""
    save_every: int = 200
    """Steps between two checkpoints of the warm start."""


@dataclass(frozen=True)
class RlConfig:
    """The reinforcement learning phase."""

    groups: int = 16
    """Tasks per step."""
    group_size: int = 8
    """Episodes per task and step, which share the task and the environment seed."""
    lr: float | None = None
    """Learning rate, constant after the warm-up.

    None: 6e-4 for ``--model tiny``, 2e-5 for adapters, 1e-6 for all weights of another model."""
    warmup: int = 5
    """Steps of linear warm-up."""
    temperature: float = 1.0
    """Sampling temperature of the behaviour policy."""
    turn_tokens: int | None = None
    """Most tokens that the policy may write in a turn; None: 18 for ``--model tiny``, else 256."""
    episode_tokens: int | None = None
    """Most tokens of an episode after its opening.

    None: the family's default for ``--model tiny``, such as 512 for the shop, else 4096."""
    micro_batch: int = 32
    """Episodes per forward and backward pass."""
    max_grad_norm: float = 1.0
    """Gradient norm at which gradients are clipped."""
    success_bonus: float = 1.0
    """Reward added to the turn that solves the task."""
    invalid_penalty: float = 0.05
    """Reward taken from a turn whose action was invalid."""
    turn_budget: int = 0
    """Environment turns after which training ends; 0: only ``steps`` counts."""
    save_every: int = 25
    """Steps between two checkpoints."""
    keep_checkpoints: int = 2
    """Checkpoints of this phase that are kept."""
    log_groups: int = 1
    """Groups per step whose episodes are written to ``episodes.jsonl``."""


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters, used for pretrained models."""

    r: int = 16
    """Rank; 0 trains all weights."""
    alpha: int = 32
    """Scale of the update, relative to the rank."""
    dropout: float = 0.0
    """Dropout on the adapters; 0, as the policy that is trained must be the one that acts."""


@dataclass(frozen=True)
class EvalConfig:
    """The comparison at the end, always at the full horizon."""

    tasks: int | None = None
    """Held-out test tasks, the same for every policy; None: 500, or all if there are fewer."""
    greedy: bool = False
    """Take the likeliest token instead of sampling from the policy that is optimised."""
    horizon: int | None = None
    """Turns of an evaluation episode; None: the last round of ``--horizon``."""
    every: int = 0
    """Steps between evaluations on validation tasks during RL; 0 turns them off."""
    valid_tasks: int = 128
    """Validation tasks of such an evaluation."""


@dataclass(frozen=True)
class TrainConfig:
    """Train an agent: warm start, reinforcement learning with a growing horizon, evaluation."""

    env: str
    """Environment: a short name such as ``webshop``, or a Gymnasium id."""
    env_args: tuple[str, ...] = ()
    """Keyword arguments of the environment as ``name=value`` (values are read as JSON)."""
    model: str = "tiny"
    """``tiny``, or a path or hub id of a pretrained chat model."""
    engine: Literal["hf", "vllm"] = "hf"
    """What generates: transformers in this process, or vLLM in this process."""
    preset: str = "turn-loo"
    """Credit assignment and loss, by name (see ``trainers.algorithms.presets``)."""
    steps: int | None = None
    """Reinforcement learning steps; None takes the family's default."""
    horizon: str | None = None
    """Turns that an agent may take, stage by stage: ``5,8,10``. None: the family's default."""
    every: int | None = None
    """Steps per stage; None takes the family's default."""
    fit: bool | None = None
    """Let a stage draw only tasks whose expert needs no more turns than its horizon.

    None: on where expert lengths are known."""
    minutes: float | None = None
    """Wall time after which training is cut short, so that evaluation ends soon after; 0: never.

    None: 12 for ``--model tiny`` with the default ``--steps``, else never. The warm start may take
    half of it."""
    template_args: tuple[str, ...] = ()
    """Arguments of the chat template as ``name=value``, such as ``enable_thinking=false``."""
    seed: int = 0
    """Seed of everything: data, weights, tasks, sampling."""
    out: Path | None = None
    """Folder of the run; None: ``runs/<env>-<model>-seed<seed>``."""
    resume: bool = False
    """Continue the run in ``out``."""
    sft: SftConfig = field(default_factory=SftConfig)
    """Warm start."""
    rl: RlConfig = field(default_factory=RlConfig)
    """Reinforcement learning."""
    lora: LoraConfig = field(default_factory=LoraConfig)
    """Adapters of pretrained models."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    """Evaluation."""
    tiny: TinyConfig = field(default_factory=TinyConfig)
    """The tiny model."""


AT_LEAST_ONE = (
    "--steps", "--every", "--sft.demonstrations", "--sft.batch-size", "--sft.gate-every",
    "--sft.gate-tasks", "--sft.save-every", "--rl.groups", "--rl.turn-tokens",
    "--rl.episode-tokens", "--rl.micro-batch", "--rl.save-every", "--rl.keep-checkpoints",
    "--eval.tasks", "--eval.horizon", "--eval.valid-tasks", "--tiny.hidden", "--tiny.layers",
    "--tiny.heads", "--tiny.intermediate", "--tiny.context",
)  # fmt: skip
AT_LEAST_ZERO = (
    "--seed", "--sft.max-steps", "--sft.copy-steps", "--sft.observation-weight", "--rl.warmup",
    "--rl.success-bonus", "--rl.invalid-penalty", "--rl.turn-budget", "--rl.log-groups",
    "--lora.r", "--eval.every", "--minutes",
)  # fmt: skip
ABOVE_ZERO = ("--sft.lr", "--rl.lr", "--rl.temperature", "--rl.max-grad-norm")


def validate(config: TrainConfig) -> None:
    """Check the numbers of a configuration.

    Raises:
        ConfigurationError: A number is out of its range; the message names the field.
    """
    for flags, least in ((AT_LEAST_ONE, 1), (AT_LEAST_ZERO, 0)):
        for flag in flags:
            value = _value(config, flag)
            if value is not None and not value >= least:
                raise ConfigurationError(f"expected {flag} to be at least {least}, got {value}")
    for flag in ABOVE_ZERO:
        value = _value(config, flag)
        if value is not None and not 0 < value < math.inf:
            raise ConfigurationError(f"expected {flag} to be a number above 0, got {value}")
    if config.rl.group_size < 2:
        raise ConfigurationError(
            "expected --rl.group-size to be at least 2, because a group's mean is the baseline; "
            f"got {config.rl.group_size}"
        )
    if config.lora.dropout != 0:
        raise ConfigurationError(
            "expected --lora.dropout to be 0, because reinforcement learning must train the policy "
            f"that acted, and with dropout every forward pass is another one; got "
            f"{config.lora.dropout}"
        )
    width = config.tiny.head_dim or config.tiny.hidden // config.tiny.heads
    if width < 2 or width % 2:
        raise ConfigurationError(
            "expected attention heads of an even width (--tiny.hidden / --tiny.heads, or "
            f"--tiny.head-dim), which rotary positions need; got {width}"
        )
    rows = config.rl.groups * config.rl.group_size
    if rows % config.rl.micro_batch:
        raise ConfigurationError(
            f"expected --rl.micro-batch to divide groups x group_size = {rows}, got "
            f"{config.rl.micro_batch}"
        )


def _value(config: TrainConfig, flag: str) -> Any:
    """Return the value of a setting by its flag, such as ``--rl.group-size``."""
    value: Any = config
    for name in flag.removeprefix("--").replace("-", "_").split("."):
        value = getattr(value, name)
    return value


def parse_env_args(pairs: Sequence[str], flag: str = "--env-args") -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is JSON where it parses as JSON, else plain text.

    Args:
        pairs: The pairs.
        flag: What they are called in the message.

    Raises:
        ConfigurationError: A pair has no ``=`` or no name, or a name is given two values.
    """
    return parse_pairs(pairs, flag)


def to_dict(config: Any) -> dict[str, Any]:
    """Return a configuration as plain JSON types."""
    plain = dataclasses.asdict(config)
    return {
        key: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple)
        else value
        for key, value in plain.items()
    }  # fmt: skip


def override(config: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a dataclass with nested ``values`` replaced.

    Args:
        config: A (nested) frozen dataclass.
        values: Field names to values; a mapping goes into a nested dataclass.

    Raises:
        ConfigurationError: A name is no field.
    """
    names = {item.name for item in dataclasses.fields(config)}
    unknown = sorted(set(values) - names)
    if unknown:
        raise ConfigurationError(
            f"expected fields of {type(config).__name__} ({', '.join(sorted(names))}); "
            f"got {unknown}"
        )
    nested = {
        name: override(getattr(config, name), value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
    return dataclasses.replace(config, **nested)
