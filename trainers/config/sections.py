"""The sections of a run's settings, such as ``--rl.*``; `trainers.config.schema` holds them all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator

from trainers.algorithms.loss import Aggregation
from trainers.config.field_types import (
    OPEN,
    Count,
    Fraction,
    HorizonText,
    NotNegative,
    Open,
    Own,
    Pairs,
    Positive,
    Probability,
    Share,
    StepsOrAuto,
    Whole,
    as_names,
    strict,
)

Backend = Literal["sync", "thread", "process", "ray"]
"""Where environments run."""
EngineName = Literal["hf", "hf-copy", "vllm", "vllm-server", "sglang-server"] | Own
"""Generation engines."""
SamplerName = Literal["uniform", "interleaved", "value", "informative"] | Own
"""Task samplers."""
FilterName = (
    Literal["none", "zero-variance", "zero-variance-turns", "top-variance", "harness-endings"] | Own
)
"""Filters that decide which episodes train."""
ALL_LINEAR = ("all-linear",)
"""Adapters on all linear layers but the head, as PEFT names them."""
BaselineName = Literal["bc", "filtered-bc", "expert-iteration"]
"""Baselines trained from the same warm start."""


@strict
@dataclass(frozen=True)
class EnvConfig:
    """One of several environments of a run: an entry of the list ``env`` in a file of settings.

    Open settings take the value of the flag, which applies to all environments.
    """

    env: str
    """As for ``--env``."""
    name: str = ""
    """Its name in the results; empty: the short name of its family."""
    weight: Positive = 1.0
    """Share of the tasks of training, relative to the weights of the others."""
    env_kwargs: Pairs = ()
    """Its keyword arguments, besides those of ``--env-kwargs``."""
    horizon: HorizonText | None = None
    """Maximum turns per episode."""
    horizon_every: Count | None = None
    """Steps per stage."""
    horizon_gate: Probability | None = None
    """Success rate of its episodes at which its next stage begins."""
    fit_horizon: bool | None = None
    """Restrict each stage to tasks that the expert solves within its horizon."""
    reward_hooks: tuple[str, ...] | None = None
    """Its turn-level rewards, in place of those of ``--reward-hooks``."""
    target_success: NotNegative | None = None
    """Success on its validation tasks at which the warm start ends."""


@strict
@dataclass(frozen=True)
class SftConfig:
    """The warm start on demonstrations of the expert, which stops at a target success."""

    demonstrator: Literal["expert", "random"] = "expert"
    """Episodes to imitate: the expert's (expert), or random admissible actions (random), which only
    teach the format of actions."""
    episodes: tuple[Path, ...] = ()
    """Files of episodes to imitate instead: records of runs, evaluations and recorded people, what
    ``agentgym export`` made of them (but for ``csv`` and ``sft``), or AgentTraj. Episodes of
    held-out tasks are an error."""
    demonstrations: Open[Count] = OPEN
    """Number of distinct training tasks with a demonstration, or of episodes read from the files;
    None: the family's default, or all of the files."""
    only_successes: Open[bool] = OPEN
    """Leave out demonstrations that did not solve their task, as rejection sampling does.

    None: the family's default, else not."""
    weights: Literal["none", "advantage"] = "none"
    """Weight all demonstrations equally (none), or in proportion to ``exp(A / beta)``, with A its
    return minus the mean return of its task, or of all demonstrations if its task has one
    (advantage: AWR, arXiv 1910.00177)."""
    beta: Positive = 0.5
    """Temperature of these weights, in units of reward."""
    batch_size: Open[Count] = OPEN
    """Demonstrations per step; None: the family's default, else 16."""
    learning_rate: Open[Positive] = OPEN
    """Peak learning rate (linear warm-up, then cosine).

    None: 6e-3 for ``--model tiny``; for adapters 5e-4, or 2e-4 above a billion weights; 1e-5 for
    all weights of a pretrained model."""
    max_steps: Open[StepsOrAuto] = OPEN
    """Maximum steps of the warm start, even if the target success is not reached; 0: no warm start.
    auto: the family's, but none if the base model solves enough validation tasks without it.

    With random actions 300 suffice; without a demonstrator there is no warm start. None: auto for a
    pretrained model."""
    rounds: Whole = 0
    """Rounds between warm start and reinforcement learning: the policy plays training tasks, then
    imitates what ``teacher`` selects."""
    teacher: Literal["self", "expert"] = "self"
    """Target of imitation in these rounds: its own solved episodes and the demonstrations, each
    round from the warm start (self: AgentEvol; one round is rejection sampling); or the expert's
    next action in every visited state and all earlier data (expert: DAgger)."""
    round_tasks: Count = 256
    """Training tasks that the policy plays in a round."""
    round_steps: Count = 100
    """Steps of imitation in a round."""
    observation_weight: NotNegative = 0.5
    """Weight of the language-model loss on observation tokens."""
    copy_steps: Whole = 200
    """Steps that teach a new tiny model to copy, before the demonstrations."""
    target_success: NotNegative | None = None
    """Success of the sampled policy on validation tasks at which the warm start ends.

    None: the family's default, which ``--dry-run`` shows; 1 with random actions."""
    eval_every: Open[Count] = OPEN
    """Steps between two validations; None: the family's default, else 25."""
    eval_tasks: Open[Count] = OPEN
    """Tasks of each of these validations; None: the family's default, else 128."""
    save_every: Count = 200
    """Steps between two checkpoints of the warm start."""
    save_minutes: NotNegative = 5.0
    """Minutes after which imitation saves a checkpoint in any case, unless saving would take more
    than a twentieth of the time; 0: never by time."""


@strict
@dataclass(frozen=True)
class RlConfig:
    """The reinforcement learning phase."""

    groups: Open[Count] = OPEN
    """Tasks per step; None: the preset's, else the family's, else 16."""
    num_generations: Open[Count] = OPEN
    """Episodes per task and step. They share the task and the environment seed.

    None: the preset's, else 8."""
    minibatches: Open[Count] = OPEN
    """Updates of the weights in one pass over a step's episodes.

    None: the preset's. Above 1 the ratio to the policy that played, and its clip, take effect."""
    num_iterations: Open[Count] = OPEN
    """Passes over the episodes of a step; None: the preset's."""
    learning_rate: Open[Positive] = OPEN
    """Learning rate, constant after the warm-up.

    None: for ``--model tiny`` the family's, else 6e-4; for adapters 2e-4, or 2e-5 above a
    billion weights; 1e-6 for all weights."""
    warmup_steps: Open[Whole] = OPEN
    """Steps of linear warm-up; None: the family's default, else 5."""
    turn_tokens: Open[Count] = OPEN
    """Maximum tokens that the policy may write in a turn, including its thinking.

    None: 18 for ``--model tiny``, 1,024 for a model whose template has thinking; else 256, or what
    the actions of the family's training set need."""
    episode_tokens: Open[Count] = OPEN
    """Maximum tokens of an episode after its opening.

    None: the family's default, mostly 4,096 for a pretrained model, plus the thinking of every
    turn. An episode that reaches the limit is trained with its reward so far."""
    max_grad_norm: Positive = 1.0
    """Gradient norm at which gradients are clipped."""
    adam_beta2: Share = 0.98
    """Decay of AdamW's second moment."""
    success_bonus: NotNegative | None = None
    """Reward added to the turn that solves the task; None: 1, or that of ``--reward-hooks``."""
    invalid_penalty: Open[NotNegative] = OPEN
    """Penalty for a turn with an invalid action.

    None: that of ``--reward-hooks``, else the preset's, else .05. It applies once."""
    price_rate: NotNegative = 0.0
    """Step size of the Lagrange multiplier of a cost with a limit (``--reward-hooks calls=3``): its
    change per step and unit above or below the limit; 0: constant."""
    turn_budget: Whole = 0
    """Environment turns after which training ends; 0: only ``steps`` counts."""
    save_every: Count = 25
    """Steps between two checkpoints."""
    save_minutes: NotNegative = 5.0
    """Minutes after which the next step saves a checkpoint in any case, unless saving would take
    more than a twentieth of the time; 0: never by time. Only a killed run resumes from it; alarms
    roll back to the regular ones, which are kept as well."""
    keep_checkpoints: Count = 2
    """Number of checkpoints of this phase to keep."""
    log_groups: Whole = 1
    """Groups per step with episodes written to ``episodes.jsonl``."""
    log_tokens: bool = False
    """Also write the token ids and log-probabilities of recorded episodes, for ``agentgym export
    --to atif``; not those of agents that own their loop."""
    sampler: Open[SamplerName] = OPEN
    """Order of tasks: all equally likely (uniform); all tasks of an environment before any repeats
    (interleaved); more often tasks whose returns vary and can rise (value); only tasks that are
    solved sometimes (informative); or your class, ``MODULE:NAME``. None: the preset's."""
    gamma: Fraction | None = None
    """Discount of one turn, in presets that discount; None: the preset's, mostly 1."""
    beta: NotNegative | None = None
    """Weight of the KL penalty to the policy at the start of this phase. The penalty is in the
    rewards if the preset has it there, else in the loss. None: the preset's."""
    entropy: NotNegative | None = None
    """Weight of the entropy bonus; None: the preset's."""
    epsilon: Fraction | None = None
    """Lower distance of the clip: ratios below 1 minus this are clipped; None: the preset's."""
    epsilon_high: NotNegative | None = None
    """Upper distance of the clip: ratios above 1 plus this are clipped; None: the preset's."""
    aggregation: Aggregation | None = None
    """How the loss averages tokens (see ``trainers.algorithms.loss``); None: the preset's."""
    filters: Annotated[tuple[FilterName, ...] | None, BeforeValidator(as_names)] = None
    """Episodes left out of training: groups of equal returns (zero-variance), or equal at every
    turn (zero-variance-turns), all but the quarter of the groups that varies most (top-variance),
    those that the turn or token limit ended (harness-endings), none of these (none), or by your own
    filter, ``MODULE:NAME``. None: the preset's."""
    normalize: Literal["none", "batch", "family"] | None = None
    """Normalize advantages over tokens to mean 0 and deviation 1: not at all, over the batch, or
    within each environment, so that no environment dominates by its reward scale (AgentRL, arXiv
    2510.04206). None: the preset's."""

    @property
    def episodes(self) -> int:
        """Episodes of a step."""
        return self.groups * self.num_generations

    @property
    def updates(self) -> int:
        """Updates of the weights per step."""
        return self.minibatches * self.num_iterations


@strict
@dataclass(frozen=True)
class RolloutConfig:
    """How episodes are played."""

    history: Literal["auto", "keep", "error"] = "auto"
    """Handling of chat templates that rewrite earlier turns (Qwen3's drops their thinking): follow
    the template as a chat server does, with a training row per rewrite (auto), keep sampled tokens
    (keep), or raise an error (error)."""
    end_after_invalid: Whole = 0
    """End an episode, with its reward so far, after this number of consecutive invalid actions,
    equal or not, in training and in tests. 0: no limit."""
    rank_timeout: Positive = 1800.0
    """Seconds that the processes of a launch wait for the slowest one; then the run ends and names
    it."""


@strict
@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters, used for pretrained models."""

    r: Whole = 16
    """Rank; 0 trains all weights."""
    alpha: Count = 32
    """Scale of the update, relative to the rank."""
    dropout: Share = 0.0
    """Dropout on the adapters; must be 0, since the trained policy must be the one that acts."""
    targets: Annotated[tuple[str, ...], BeforeValidator(as_names)] = ALL_LINEAR
    """Linear layers that get adapters, by the last part of their names, such as ``q_proj v_proj``;
    ``all-linear``: all but the head."""


@strict
@dataclass(frozen=True)
class EvalConfig:
    """The comparison at the end, always at the full horizon."""

    num_tasks: Count | None = None
    """Held-out test tasks, the same for every policy. None: the family's, else 500, or all if
    there are fewer."""
    greedy: bool = False
    """Take the most probable token instead of sampling."""
    horizon: Count | None = None
    """Turns of an evaluation episode; None: the last round of ``--horizon``."""
    every: Open[Whole] = OPEN
    """Steps between two validations; 0: none.

    None: the family's, else 20."""
    valid_tasks: Open[Count] = OPEN
    """Validation tasks of such an evaluation; None: the family's default, else 128."""
    keep: Open[Literal["best", "last"]] = OPEN
    """Policy to compare, export and push: the validated step with the highest success (best; ties:
    score, then the earlier), or the last step (last). Test tasks do not influence the choice, and
    both are saved.

    None: best; last without validations."""
    baselines: Annotated[
        Open[tuple[BaselineName | Literal["none"], ...]], BeforeValidator(as_names)
    ] = OPEN
    """Baselines besides the warm start: further behavior cloning of the same demonstrations (bc),
    of those that solved their task (filtered-bc), or of the policy's own solved episodes
    (expert-iteration); none: no baseline. Each starts from the same warm start, gets at least the
    same compute (see ``trainers.phases.equal_compute``) and is selected by as many validations.

    None: bc and filtered-bc for ``--model tiny`` with an expert, else none."""
    baseline_steps: Count | None = None
    """Steps of ``bc`` and ``filtered-bc``; None: from the compute of reinforcement learning."""


@strict
@dataclass(frozen=True)
class TinyConfig:
    """Size of a policy from scratch; the defaults are 0.34 M weights with a vocabulary of 170."""

    hidden: Count = 64
    """Width."""
    layers: Count = 4
    """Depth."""
    heads: Count = 4
    """Number of attention heads."""
    head_dim: Count | None = 32
    """Width of a head; None: ``hidden / heads``."""
    intermediate: Count = 256
    """Width of the feed-forward layer."""
    context: Count = 1024
    """Maximum number of positions."""
    rope_theta: Positive = 10_000.0
    """Base of the rotary embedding."""
    init: Positive = 0.1
    """Standard deviation of the initial weights; small models learn to copy words in half the steps
    needed with 0.02."""


Signal = Literal[
    "entropy", "entropy_rise", "clip_fraction", "kl", "kl_behaviour", "logp_gap", "zero_variance",
    "trained_fraction", "repeat", "invalid", "reward_spread", "grad_norm",
]  # fmt: skip
"""Signals monitored in reinforcement learning (see ``trainers.phases.monitoring.health``)."""


@strict
@dataclass(frozen=True)
class HealthConfig:
    """Health signals of reinforcement learning, their limits, and the action of an alarm.

    "Now" is the mean of the last ``patience`` steps, "usual" the median of the ``usual_steps``
    steps before them. A loss or weight that is not finite always ends the training, or rolls it
    back.
    """

    on_alarm: Literal["warn", "stop", "rollback"] = "warn"
    """Warn, also stop training, or roll back to the last good checkpoint: the best on validation
    tasks from before the alarm's steps."""
    ignore: tuple[Signal, ...] = ()
    """Signals that raise no alarm."""
    usual_steps: Count = 20
    """Steps whose median is the usual value; alarms that compare with it need at least half as
    many."""
    patience: Count = 3
    """Steps averaged for the current value."""
    entropy: NotNegative = 0.2
    """Alarm where entropy is below this share of the usual: it collapses."""
    entropy_rise: NotNegative = 5.0
    """Alarm where entropy is above this multiple of the usual: the policy writes noise."""
    clip_fraction: NotNegative = 0.2
    """Alarm where this share of the tokens is clipped, in the mean of a step's updates: the first
    of them clips none, and the others at most about half, on the side to which they push."""
    kl: NotNegative = 1.0
    """Alarm at this divergence from the reference policy, in nats per token."""
    kl_behaviour: NotNegative = 0.2
    """Alarm where the updates of a step move the policy this far from the one that played, in nats
    per token."""
    logp_gap: NotNegative = 0.2
    """Alarm where engine and trainer differ by this much in log-probability, in the mean."""
    zero_variance: NotNegative = 0.95
    """Alarm where this share of the groups has members of equal return, without being solved."""
    trained_fraction: NotNegative = 0.02
    """Alarm where less than this share of the episodes is trained on, without being solved: the
    preset's filters leave out the others."""
    repeat: NotNegative = 0.3
    """Alarm where this share of the turns repeats an action in the same state, and twice the
    usual."""
    invalid: NotNegative = 0.3
    """Alarm where this share of the actions is invalid, and twice the usual."""
    reward_spread: NotNegative = 0.25
    """Alarm where returns within a group differ by less than this share of the usual, without being
    solved: the first sign of a collapse in RAGEN (arXiv 2504.20073)."""
    grad_norm: NotNegative = 10.0
    """Alarm where the gradient norm is above this multiple of the usual."""
    rollbacks: Whole = 2
    """Maximum number of rollbacks; the next alarm ends training."""
    learning_rate_factor: Probability = 0.5
    """Factor of the learning rate per rollback."""
    reseed: bool = True
    """Play other episodes of the same tasks after a rollback."""


@strict
@dataclass(frozen=True)
class MemoryConfig:
    """Precision and memory of training; --dry-run estimates the memory per device."""

    precision: Literal["auto", "fp32", "bf16"] = "auto"
    """Precision of matrix products. Trained weights are always float32; a frozen base under
    adapters has this precision. auto: bf16 on a GPU that has it, and for 50 million weights or more
    on a CPU with instructions for it (AMX or AVX-512 BF16); else fp32. The choice is stored with
    the run."""
    checkpointing: Literal["auto", "on", "off"] = "auto"
    """Compute the activations of each layer again in the backward pass instead of keeping them:
    a third more time for a fraction of the memory. auto: off where the estimate leaves room for it,
    as a run says at its start; the choice is stored with the run."""
    micro_tokens: Open[Count] = OPEN
    """Maximum tokens, including padding, of a forward and backward pass in a process. Rows are
    sorted by length; a longer row gets a separate pass. A prefix that rows of a pass share counts
    once, and an eighth of it for each further row. The gradient does not depend on it.

    None: 2,048 for ``--model tiny``, else as many as the free memory allows, up to 16,384, or 4,096
    on a CPU; the choice is stored with the run."""
    shared_prefixes: Literal["auto", "off"] = "auto"
    """Compute shared beginnings of rows, such as a group's prompt and equal first actions, only
    once in training. auto: where the model's attention allows it, as a run says at its start."""
    logits_mib: Count = 256
    """Maximum MiB of logits at a time: they are computed in tiles of this size, and recomputed in
    the backward pass, so that the vocabulary does not limit the batch. On a CPU tiles have at most
    4 MiB, which fit in its cache."""
    optimizer: Literal["adamw", "adamw-8bit", "paged-adamw-8bit"] = "adamw"
    """Optimiser of reinforcement learning; 8-bit states (bitsandbytes) take a quarter of the
    memory, and paged ones move to the host while the GPU is full."""
    quantize: Literal["none", "8bit", "4bit"] = "none"
    """Load the frozen base under adapters in 8 or 4 bits (QLoRA, by bitsandbytes)."""


@strict
@dataclass(frozen=True)
class ServedConfig:
    """What the settings of vLLM and SGLang share."""

    tensor_parallel: Count = 1
    """GPUs that share the model."""
    max_length: Count | None = None
    """Maximum tokens of prompt and completion; None: as the token limits require."""
    max_sequences: Count | None = None
    """Maximum sequences decoded together; None: the number of concurrent episodes."""
    dtype: Literal["float32", "bfloat16", "float16"] | None = None
    """Precision of weights and cache; None: that of the training's forward pass."""
    seeded: bool = True
    """Give every completion its own seed, so that a run can be repeated. Without seeds vLLM uses
    its fused sampler on a GPU, and SGLang its usual kernels, which is faster but cannot be
    repeated. SGLang has seeds on GPUs only."""
    url: str | None = None
    """Addresses of the servers, ``http://host:8000[,http://...]``; ``--dry-run`` shows how to start
    one."""
    folder: Path | None = None
    """Folder that trainer and servers see under one path, through which weights travel.

    None: by NCCL to vLLM where there are GPUs, else through the folder of the run; in requests to
    SGLang. Adapters need a folder: where servers of vLLM do not see that of the run they are merged
    and sent by NCCL."""
    patience: NotNegative = 60.0
    """Seconds for which a server may be unreachable before it counts as failed.

    A run ends after five failures without a turn in between; at the first one with several
    processes, with a fixed lag, and with an agent."""


@strict
@dataclass(frozen=True)
class VllmConfig(ServedConfig):
    """vLLM in this process, or servers of it (``--engine vllm`` and ``vllm-server``)."""

    memory: Share | None = None
    """Share of a GPU's memory for vLLM in this process, including weights.

    None: what the estimate of the training leaves of the GPU, as a run says at its start. Without a
    GPU the cache takes 1 GiB."""
    sleep: bool = False
    """Free vLLM's memory while the policy trains; only on a GPU."""
    lora: Literal["auto", "merge", "adapter"] = "auto"
    """Whether adapters are merged into all weights at every sync, or served beside the base.

    auto: as adapters on a GPU where vLLM can serve them exactly, else merged."""
    eager: bool | None = None
    """No CUDA graphs and compilation, which saves memory and start-up time but costs speed.

    None: only without a GPU."""


@strict
@dataclass(frozen=True)
class SglangConfig(ServedConfig):
    """Servers of SGLang (``--engine sglang-server``); adapters are merged."""
