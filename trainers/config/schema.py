"""Configuration of a training run: frozen dataclasses from which the command line is generated."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from agentgym.errors import ConfigurationError
from agentgym.making import parse_pairs
from trainers.config.ranges import Count, NotNegative, Positive, Share, Whole, check_ranges

T = TypeVar("T")

TINY = "tiny"
"""Value of ``--model`` for a policy from scratch."""


@dataclass(frozen=True)
class SftConfig:
    """The warm start on demonstrations of the expert, which stops at a validation gate."""

    demonstrations: Count = 16000
    """Distinct training tasks whose expert episodes are imitated."""
    batch_size: Count = 16
    """Demonstrations per step."""
    lr: Positive | None = None
    """Peak learning rate (linear warm-up, then cosine).

    None: 6e-3 for ``--model tiny``, 1e-5 for a pretrained model."""
    max_steps: Whole | None = None
    """Steps after which the warm start ends even if the gate was not reached; 0: no warm start.

    None: 1,600 for ``--model tiny``, 0 for a pretrained model or without an expert."""
    observation_weight: NotNegative = 0.5
    """Weight of the language-model loss on observation tokens."""
    copy_steps: Whole = 200
    """Steps that teach a fresh tiny model to copy, before the demonstrations."""
    gate_success: NotNegative | None = None
    """Success of the sampled policy on validation tasks at which the warm start ends.

    None: the family's default, such as .45 for the shop."""
    gate_every: Count = 25
    """Steps between two validations."""
    gate_tasks: Count = 128
    """Validation tasks per gate check."""
    save_every: Count = 200
    """Steps between two checkpoints of the warm start."""


@dataclass(frozen=True)
class RlConfig:
    """The reinforcement learning phase."""

    groups: Count | None = None
    """Tasks per step; None: the preset's, else 16."""
    group_size: Count | None = None
    """Episodes per task and step, which share the task and the environment seed.

    None: the preset's, else 8."""
    minibatches: Count | None = None
    """Parts of a step's episodes that are one update of the weights each.

    None: the preset's. Above 1 the ratio to the policy that played, and its clip, take effect."""
    iterations: Count | None = None
    """Passes over the episodes of a step; None: the preset's."""
    lr: Positive | None = None
    """Learning rate of every update, constant after the warm-up.

    None: 6e-4 for ``--model tiny``, 2e-5 for adapters, 1e-6 for all weights of another model."""
    warmup: Whole = 5
    """Steps of linear warm-up."""
    temperature: Positive = 1.0
    """Sampling temperature of the behaviour policy."""
    turn_tokens: Count | None = None
    """Most tokens that the policy may write in a turn; None: 18 for ``--model tiny``, else 256."""
    episode_tokens: Count | None = None
    """Most tokens of an episode after its opening.

    None: the family's default for ``--model tiny``, such as 512 for the shop, else 4096."""
    micro_batch: Count = 32
    """Most episodes per forward and backward pass; a divisor of those of an update is taken."""
    max_grad_norm: Positive = 1.0
    """Gradient norm at which gradients are clipped."""
    success_bonus: NotNegative = 1.0
    """Reward added to the turn that solves the task."""
    invalid_penalty: NotNegative | None = None
    """Reward taken from a turn whose action was invalid; None: the preset's, else .05."""
    turn_budget: Whole = 0
    """Environment turns after which training ends; 0: only ``steps`` counts."""
    save_every: Count = 25
    """Steps between two checkpoints."""
    keep_checkpoints: Count = 2
    """Checkpoints of this phase that are kept."""
    log_groups: Whole = 1
    """Groups per step whose episodes are written to ``episodes.jsonl``."""


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters, used for pretrained models."""

    r: Whole = 16
    """Rank; 0 trains all weights."""
    alpha: Count = 32
    """Scale of the update, relative to the rank."""
    dropout: Share = 0.0
    """Dropout on the adapters; 0, as the policy that is trained must be the one that acts."""


@dataclass(frozen=True)
class EvalConfig:
    """The comparison at the end, always at the full horizon."""

    tasks: Count | None = None
    """Held-out test tasks, the same for every policy; None: 500, or all if there are fewer."""
    greedy: bool = False
    """Take the likeliest token instead of sampling from the policy that is optimised."""
    horizon: Count | None = None
    """Turns of an evaluation episode; None: the last round of ``--horizon``."""
    every: Whole = 0
    """Steps between evaluations on validation tasks during RL; 0 turns them off."""
    valid_tasks: Count = 128
    """Validation tasks of such an evaluation."""


@dataclass(frozen=True)
class TinyConfig:
    """Size of a policy from scratch; the defaults are 0.34 M weights with a vocabulary of 170."""

    hidden: Count = 64
    """Width."""
    layers: Count = 4
    """Depth."""
    heads: Count = 4
    """Attention heads, of queries and of keys alike."""
    head_dim: Count | None = 32
    """Width of a head; None: ``hidden / heads``."""
    intermediate: Count = 256
    """Width of the feed-forward layer."""
    context: Count = 1024
    """Most positions."""
    rope_theta: Positive = 10_000.0
    """Base of the rotary embedding."""
    init: Positive = 0.1
    """Standard deviation of the initial weights; so small a model learns to copy words in half the
    steps that 0.02 takes."""
    seed: Whole = 0
    """Seed of the initial weights; the global generator is left as it was."""


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
    """Credit assignment and loss, by name (see ``trainers.algorithms.presets``).

    What it sets besides (horizon, group size, updates per step, penalties) gives way to flags and
    goes before the defaults of the family."""
    steps: Count | None = None
    """Reinforcement learning steps: batches of episodes, however many updates each makes.

    None: the family's default, or as many as the preset's stages last."""
    horizon: str | None = None
    """Turns that an agent may take, stage by stage: ``5,8,10``.

    None: the preset's, else the family's; at most ``max_turns`` if that is given."""
    every: Count | None = None
    """Steps per stage; None: the preset's, else the family's."""
    fit: bool | None = None
    """Let a stage draw only tasks whose expert needs no more turns than its horizon.

    None: on where expert lengths are known."""
    minutes: NotNegative | None = None
    """Wall time after which training is cut short, so that evaluation ends soon after; 0: never.

    None: 12 for ``--model tiny`` with the default ``--steps``, else never. The warm start may take
    half of it."""
    template_args: tuple[str, ...] = ()
    """Arguments of the chat template as ``name=value``, such as ``enable_thinking=false``."""
    seed: Whole = 0
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


def validate(config: TrainConfig) -> None:
    """Check the numbers of a configuration, each by itself.

    Raises:
        ConfigurationError: A number is out of its range; the message names the field.
    """
    check_ranges(config)
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


def known(value: T | None) -> T:
    """Return a setting of a plan, in which every default is filled in."""
    assert value is not None, "expected a setting that trainers.config.resolve fills in"
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
