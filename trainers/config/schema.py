"""Configuration of a training run: frozen dataclasses from which the command line is generated.

``None`` means "left open"; ``trainers.config.resolve`` decides every such setting, and the
``Filled`` classes below are the same settings with nothing left open.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from annotated_types import Ge, Gt, Le, Lt
from pydantic import (
    AllowInfNan,
    BeforeValidator,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    with_config,
)

from agentgym.errors import ConfigurationError

Backend = Literal["sync", "thread", "process"]
"""Where environments run."""
TINY = "tiny"
"""Value of ``--model`` for a policy from scratch."""

Count = Annotated[int, Ge(1)]
"""A whole number from 1."""
Whole = Annotated[int, Ge(0)]
"""A whole number from 0."""
Positive = Annotated[float, Gt(0), AllowInfNan(False)]
"""A number above 0."""
NotNegative = Annotated[float, Ge(0), AllowInfNan(False)]
"""A number from 0."""
Share = Annotated[float, Ge(0), Lt(1)]
"""A number from 0 to below 1."""
Probability = Annotated[float, Gt(0), Le(1)]
"""A number above 0 and at most 1."""


def _as_pairs(value: Any) -> Any:
    """Write a mapping, as a file may hold it, as ``name=value`` pairs."""
    if not isinstance(value, Mapping):
        return value
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in value.items()]


def _as_horizon(value: Any) -> Any:
    """Write a number or a list of numbers, as a file may hold them, as text."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Pairs = Annotated[tuple[str, ...], BeforeValidator(_as_pairs)]
"""``name=value`` pairs."""

# A misspelt name in a file is an error, not a setting that is silently left at its default.
_strict = with_config(ConfigDict(extra="forbid"))


@_strict
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


@_strict
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
    top_p: Probability = 1.0
    """Nucleus of the behaviour policy: sample from the likeliest tokens that together have this
    probability. Below 1 every token is weighed by how much likelier it was made to be sampled."""
    turn_tokens: Count | None = None
    """Most tokens that the policy may write in a turn; None: 18 for ``--model tiny``, else 256."""
    episode_tokens: Count | None = None
    """Most tokens of an episode after its opening.

    None: the family's default for ``--model tiny``, such as 512 for the shop, else 4096."""
    micro_batch: Count = 32
    """Most episodes per forward and backward pass; a divisor of those of an update is taken."""
    max_grad_norm: Positive = 1.0
    """Gradient norm at which gradients are clipped."""
    adam_beta2: Share = 0.98
    """Decay of AdamW's second moment."""
    success_bonus: NotNegative | None = None
    """Reward added to the turn that solves the task; None: 1, or that of ``--rl.hooks``."""
    invalid_penalty: NotNegative | None = None
    """Reward taken from a turn whose action was invalid.

    None: that of ``--rl.hooks``, else the preset's, else .05. It is taken once."""
    hooks: tuple[str, ...] = ()
    """Turn-level rewards besides those two, by name: ``potential turn_cost=0.01 repeat``.

    Evaluation pays none of them. ``success_bonus`` and ``invalid_action`` may be named here
    instead of the two flags above, not as well."""
    turn_budget: Whole = 0
    """Environment turns after which training ends; 0: only ``steps`` counts."""
    save_every: Count = 25
    """Steps between two checkpoints."""
    keep_checkpoints: Count = 2
    """Checkpoints of this phase that are kept."""
    log_groups: Whole = 1
    """Groups per step whose episodes are written to ``episodes.jsonl``."""


@_strict
@dataclass(frozen=True)
class RolloutConfig:
    """How episodes are played."""

    backend: Backend | None = None
    """Where environments run: in this process (sync), in threads (for those that wait), or in
    processes (for those that keep a CPU busy or may crash).

    None: what suits the environment, or processes if one of the next two is given. The same seed
    gives the same episodes everywhere."""
    workers: Count | None = None
    """Threads or processes; None: 32 threads, or a process per CPU."""
    step_timeout: Positive | None = None
    """Seconds that an environment may take for one turn, and ten times that for a reset; then its
    episode ends with ``error`` and is left out. None: as long as it likes."""
    history: Literal["keep", "fork", "error"] = "keep"
    """What happens if the chat template rewrites earlier turns, as Qwen3's does, which drops their
    thinking: the policy goes on reading what it wrote (keep), the template is followed, at the
    price of a training row per rewrite (fork), or such a model is refused (error)."""
    window: Count | None = None
    """Turns that the policy still reads, besides the opening; None: all of them.

    Every turn after the window has filled is a training row of its own."""


@_strict
@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters, used for pretrained models."""

    r: Whole = 16
    """Rank; 0 trains all weights."""
    alpha: Count = 32
    """Scale of the update, relative to the rank."""
    dropout: Share = 0.0
    """Dropout on the adapters; 0, as the policy that is trained must be the one that acts."""


@_strict
@dataclass(frozen=True)
class EvalConfig:
    """The comparison at the end, always at the full horizon."""

    tasks: Count | None = None
    """Held-out test tasks, the same for every policy; None: 500, or all if there are fewer."""
    greedy: bool = False
    """Take the likeliest token instead of sampling from the policy that is optimised."""
    horizon: Count | None = None
    """Turns of an evaluation episode; None: the last round of ``--horizon``."""
    every: Whole = 20
    """Steps between evaluations on validation tasks during RL; 0 turns them off."""
    valid_tasks: Count = 128
    """Validation tasks of such an evaluation."""


@_strict
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


@_strict
@dataclass(frozen=True)
class TrainConfig:
    """Train an agent: warm start, reinforcement learning with a growing horizon, evaluation."""

    env: str
    """Environment: a short name such as ``webshop``, a Gymnasium id, or ``MODULE:ID``."""
    env_args: Pairs = ()
    """Keyword arguments of the environment as ``name=value`` (values are read as JSON)."""
    model: str = TINY
    """``tiny``, or a path or hub id of a pretrained chat model."""
    engine: Literal["hf", "vllm"] = "hf"
    """What generates: transformers in this process, or vLLM in this process."""
    preset: str = "turn-loo"
    """Credit assignment and loss, by name (see ``trainers.algorithms.presets``).

    What it sets besides (horizon, group size, updates per step, penalties) gives way to flags and
    goes before the defaults of the family."""
    steps: Count | None = None
    """Reinforcement learning steps: batches of episodes, however many updates each makes.

    None: the family's default, or as many as the preset's stages last. With ``--resume`` more
    steps extend the run."""
    horizon: Annotated[str | None, BeforeValidator(_as_horizon)] = None
    """Turns that an agent may take: always ``9``, stage by stage ``5,8,10``, or one more at a time
    from 5 to 15, ``5-15``.

    None: the preset's, else the family's; at most ``max_turns`` if that is given."""
    horizon_every: Annotated[Count | None, tyro.conf.arg(aliases=["--every"])] = None
    """Steps per stage; None: the preset's, else the family's."""
    horizon_gate: Annotated[float, Gt(0), Le(1)] | None = None
    """Begin the next stage when this share of the training episodes of the last
    ``--horizon-every`` steps was a success; None: after ``--horizon-every`` steps."""
    fit_horizon: Annotated[bool | None, tyro.conf.arg(aliases=["--fit"])] = None
    """Let a stage draw only tasks whose expert needs no more turns than its horizon.

    None: on where expert lengths are known."""
    minutes: NotNegative | None = None
    """Wall time after which training is cut short, so that evaluation ends soon after; 0: never.

    None: 12 for ``--model tiny`` with the default ``--steps``, else never. The warm start may take
    half of it. With ``--resume`` more minutes extend the run."""
    template_args: Pairs = ()
    """Arguments of the chat template as ``name=value``, such as ``enable_thinking=false``."""
    seed: Whole = 0
    """Seed of everything: data, weights, tasks, sampling."""
    out: Path | None = None
    """Folder of the run; None: ``runs/<env>-<model>-seed<seed>``."""
    resume: bool = False
    """Continue the run in ``out``, with the settings in its ``config.yaml``."""
    report_to: Literal["none", "tensorboard", "wandb", "trackio"] = "none"
    """Where the trainer's figures go besides ``metrics.jsonl``; TensorBoard's files go into the
    folder of the run."""
    sft: SftConfig = field(default_factory=SftConfig)
    """Warm start."""
    rl: RlConfig = field(default_factory=RlConfig)
    """Reinforcement learning."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """Episodes."""
    lora: LoraConfig = field(default_factory=LoraConfig)
    """Adapters of pretrained models."""
    eval: EvalConfig = field(default_factory=EvalConfig)
    """Evaluation."""
    tiny: TinyConfig = field(default_factory=TinyConfig)
    """The tiny model."""


# -- the same settings, with nothing left open -----------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FilledSft(SftConfig):
    """The warm start, with every default decided."""

    lr: float
    max_steps: int
    gate_success: float


@dataclass(frozen=True, kw_only=True)
class FilledRl(RlConfig):
    """Reinforcement learning, with every default decided."""

    groups: int
    group_size: int
    minibatches: int
    iterations: int
    lr: float
    turn_tokens: int
    episode_tokens: int
    success_bonus: float
    invalid_penalty: float

    @property
    def episodes(self) -> int:
        """Episodes of a step."""
        return self.groups * self.group_size

    @property
    def updates(self) -> int:
        """Updates of the weights per step."""
        return self.minibatches * self.iterations


@dataclass(frozen=True, kw_only=True)
class FilledRollout(RolloutConfig):
    """How episodes are played, with every default decided."""

    backend: Backend


@dataclass(frozen=True, kw_only=True)
class FilledEval(EvalConfig):
    """The evaluation, with every default decided."""

    tasks: int
    horizon: int


@dataclass(frozen=True, kw_only=True)
class FilledConfig(TrainConfig):
    """All settings of a run, with every default decided."""

    steps: int
    horizon: str
    horizon_every: int
    fit_horizon: bool
    minutes: float
    out: Path
    sft: FilledSft
    rl: FilledRl
    rollout: FilledRollout
    eval: FilledEval


# -- checks ----------------------------------------------------------------------------------------


def checked(config: TrainConfig) -> TrainConfig:
    """Check every setting of a configuration by itself, and return the same settings.

    It is not done in ``__post_init__``: there the parser of the command line would take the error
    for its own and print something else.

    Raises:
        ConfigurationError: A setting is out of its range; the message names the flag.
    """
    return from_mapping(dataclasses.asdict(config))


def from_mapping(values: Mapping[str, Any]) -> TrainConfig:
    """Make a configuration from plain, nested values by field name, such as those of a file.

    Raises:
        ConfigurationError: There is no such setting, or a value is out of its range.
    """
    try:
        config: TrainConfig = _validator().validate_python(values)
    except ValidationError as error:
        raise ConfigurationError(_sentence(error)) from error
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
    return config


@cache
def _validator() -> TypeAdapter[Any]:
    """Return what checks settings against their types."""
    return TypeAdapter(TrainConfig)


def _sentence(error: ValidationError) -> str:
    """Say what the first wrong setting is."""
    first = error.errors()[0]
    flag = "--" + ".".join(map(str, first["loc"])).replace("_", "-")
    if first["type"] == "unexpected_keyword_argument":
        return f"expected a setting of agentgym-train (see --help), got {flag.removeprefix('--')!r}"
    if first["type"] == "missing":
        return f"expected {flag}, got none"
    wanted = first["msg"].removeprefix("Input should be ")
    if first["type"] in ("dataclass_type", "tuple_type"):  # words of Python, not of a file
        wanted = "a list" if first["type"] == "tuple_type" else "a group of settings (name: value)"
    wanted = wanted.replace("greater than or equal to", "at least")
    wanted = wanted.replace("less than or equal to", "at most")
    return f"expected {flag} to be {wanted}, got {first['input']}"


def to_dict(config: TrainConfig) -> dict[str, Any]:
    """Return a configuration as plain JSON types."""
    plain: dict[str, Any] = _validator().dump_python(config, mode="json")
    return plain
