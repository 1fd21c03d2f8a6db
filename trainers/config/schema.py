"""Configuration of a training run: frozen dataclasses from which the command line is generated.

``None`` means "left open"; ``trainers.config.resolve`` decides every setting of a type `Open`. Each
method with settings adds a section, which type checkers do not see:
`trainers.methods.method.section_of`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Gt, Le
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from agentgym.errors import ConfigurationError
from agentgym.support.flag_marks import Suppress
from agentgym.support.nested import nested
from agentgym.support.program_name import program_name
from trainers.config.field_types import (
    OPEN,
    Count,
    Dashboard,
    HorizonText,
    NotNegative,
    Open,
    Pairs,
    Positive,
    Probability,
    Whole,
    as_names,
    strict,
)
from trainers.config.layers import with_value
from trainers.config.sections import (
    Backend,
    EngineName,
    EnvConfig,
    EvalConfig,
    HealthConfig,
    LoraConfig,
    MemoryConfig,
    RlConfig,
    RolloutConfig,
    SftConfig,
    SglangConfig,
    TinyConfig,
    VllmConfig,
)
from trainers.methods.table import methods

TINY = "tiny"
"""Value of ``--model`` for a policy from scratch."""


@strict
@dataclass(frozen=True)
class CoreConfig:
    """Settings of a run without those of its methods (``trainers.methods``)."""

    env: str
    """Environment: a name such as ``webshop``, a task set such as ``webshop:standard``, a Gymnasium
    id, or ``MODULE:ID``. ``agentgym list webshop`` shows task sets. Several environments, separated
    by commas, share every step.

    In a file also a list. Its entries may have their own weight, turns and rewards (see
    ``trainers.config.sections.EnvConfig``)."""
    env_kwargs: Pairs = ()
    """Keyword arguments of the environment as ``name=value``. Values are read as JSON;
    ``webshop.name=value`` is for one of several environments."""
    prompt: Open[str] = OPEN
    """Prompt: ``default``, ``bare`` (only observations), a protocol, or a file. ``agentgym
    protocols`` lists protocols such as ``verl-agent``; a file has the same format. The environment
    is made with the prompt's grammar.

    None: ``default`` for a pretrained model, ``bare`` for a tiny one and with ``--quick``."""
    grammar: Literal["auto", "native", "xml", "react", "tool_call", "action_tag"] = "auto"
    """How actions are written. auto: as ``--prompt`` or ``--env-kwargs`` say; else ``tool_call``
    for a pretrained model whose chat template writes tool calls in this form, unless the prompt is
    ``bare``; else as the environment does by default, mostly native."""
    shots: Whole = 0
    """Worked examples that the policy reads before its task, in training and in tests: the
    demonstrator's first turns on this number of training tasks, the same for all tasks. They stay
    part of the policy's prompt."""
    model: str = TINY
    """``tiny``, or a pretrained chat model: ``smollm2``, or a hub id, folder or GGUF file."""
    engine: Open[EngineName] = OPEN
    """Generation engine: transformers (hf, hf-copy), vLLM (vllm, vllm-server), SGLang
    (sglang-server), or ``MODULE:CLASS``.
    hf generates with the trained weights, hf-copy (and hf with sharded weights) with a copy; vllm
    runs in this process, vllm-server on servers. None: vllm for a pretrained model if it is
    installed and there is a GPU, else hf."""
    agent: str | None = None
    """Agent that owns its loop, ``MODULE:FUNCTION``. The function takes a session, calls the policy
    at ``session.base_url`` and acts through the session's tools. Every call is a turn of training.
    None: the trainer's own loop."""
    agent_command: str | None = None
    """The same for an agent in another process or language: a command that plays one episode. It
    finds the policy at OPENAI_BASE_URL with OPENAI_API_KEY, and its episode with the same key at
    AGENTGYM_SESSION_URL, or as an MCP server at AGENTGYM_MCP_URL."""
    preset: str = "turn-loo"
    """Credit assignment and loss: a name that the command ``presets`` lists, or ``MODULE:NAME``.

    It also sets horizon, group size, updates per step and penalties. Flags override these, and they
    override the family's defaults."""
    steps: Open[Count] = OPEN
    """Steps of reinforcement learning: batches of episodes, each with one or more updates.

    With ``--resume`` more steps extend the run. None: the family's, or those of the preset's
    stages."""
    preset_file: Path | None = None
    """YAML file with parts (terms, post, loss, filters, shapers) that replace those of the preset,
    as ``config.yaml`` keeps them under ``preset_parts``."""
    horizon: HorizonText | None = None
    """Turns that an agent may take: ``9``, in stages ``5,8,10``, growing by one ``5-15``, or a
    schedule ``MODULE:NAME``. It is at most the ``horizon`` of ``--env-kwargs``.

    None: the preset's, else the family's."""
    horizon_every: Count | None = None
    """Steps per stage; None: the preset's, else the family's."""
    horizon_gate: Annotated[float, Gt(0), Le(1)] | None = None
    """Start the next stage when this share of the training episodes of the last ``--horizon-every``
    steps succeeded; None: after ``--horizon-every`` steps."""
    fit_horizon: bool | None = None
    """Restrict each stage to tasks that the expert solves within its horizon.

    None: the family's default, else on where expert lengths are known."""
    reward_hooks: tuple[str, ...] = ()
    """Further turn-level rewards: ``potential turn_cost=0.01``, or yours, ``MODULE:CLASS=0.5``.

    A reward function of TRL, verl or verifiers is ``--reward MODULE:FUNCTION``, which is short for
    this flag.

    They are added to ``--rl.success-bonus`` and ``--rl.invalid-penalty``, except in evaluation.
    ``success_bonus`` and ``invalid_action`` may be named here instead of those two flags, not as
    well."""
    window: Count | None = None
    """Last turns that the policy reads, besides the opening.

    After the window has filled, every turn is a separate training row. None: all, or as many as the
    prompt shows."""
    temperature: Positive = 1.0
    """Sampling temperature."""
    top_p: Probability = 1.0
    """Nucleus of the policy: sample from the most probable tokens with this total probability.
    Below 1 tokens get importance weights for the truncation."""
    backend: Open[Backend] = OPEN
    """Where environments run: in this process (sync), threads, processes, or Ray actors.

    Threads suit environments that wait, processes those that keep a CPU busy or may crash, actors
    those that need several machines (the cluster of RAY_ADDRESS, or a local one). The same seed
    gives the same episodes everywhere, but for rounding where answers come in another order
    (threads, processes, Ray). None: the environment's default, or processes with ``--workers`` or
    ``--step-timeout``."""
    workers: Count | None = None
    """Threads, processes or actors. None: 32 threads, or one process or actor per CPU."""
    threads: Count | Literal["auto"] = "auto"
    """Threads of torch on a CPU. Another number may change the last bits of weights, also when a
    run resumes with it. auto: 1 below 10 million weights, else all physical cores, or
    OMP_NUM_THREADS if that is lower; runs side by side (``--jobs``) share them."""
    step_timeout: Positive | None = None
    """Seconds that an environment may take for one turn, ten times that for a reset; then its
    episode ends with ``error`` and is left out. None: no limit."""
    minutes: Open[NotNegative] = OPEN
    """Time limit of training, in minutes of wall time; evaluation follows. 0: none.

    Without it a run is the same on every machine. The warm start may take half of it; the rest is
    divided between reinforcement learning and the baselines. A run reports where it was cut. With
    ``--resume`` more minutes extend it."""
    budget: Pairs = ()
    """Joint budget of imitation and reinforcement learning: any of ``turns=``, ``episodes=``,
    ``tokens=`` and ``minutes=``; ``demonstration=`` is the cost of a demonstration (1: the same as
    an episode of the policy), and ``imitation=`` the share that imitation may take. Demonstrations
    and warm start are cut to that share, and reinforcement learning ends after the step in which
    the rest is used up."""
    quick: bool = False
    """Train with the family's small sizes, for a first look."""
    chat_template: str | None = None
    """Chat template of a model that has none, or a wrong one: a Jinja file such as
    ``./template.jinja``, ``chatml``, or a name of TRL's templates such as ``llama3``. Checkpoints
    keep it. None: the model's own."""
    end_of_turn: str | None = None
    """Token that closes an answer, such as ``<|im_end|>``. None: the first special token that the
    chat template puts behind one."""
    template_args: Pairs = ()
    """Arguments of the chat template as ``name=value``, such as ``enable_thinking=false``."""
    seed: Whole = 0
    """Seed of everything: data, weights, tasks, sampling."""
    out: Open[Path] = OPEN
    """Folder of the run. None: ``runs/<env>-<model>-seed<seed>``, or ``...-quick-seed<seed>``."""
    resume: bool = False
    """Continue the run in ``--out``, with the settings in its ``config.yaml``."""
    report_to: Annotated[tuple[Dashboard, ...], BeforeValidator(as_names)] = ()
    """Dashboards for metrics and sample episodes; tensorboard writes files in the run's folder."""
    otel: bool = False
    """Send OpenTelemetry spans of the recorded episodes, with their texts, to
    OTEL_EXPORTER_OTLP_ENDPOINT (a viewer such as Phoenix), by default http://localhost:4318."""
    export: Literal["none", "merged"] = "none"
    """``merged``: write the trained policy to ``checkpoints/merged``, with its adapters merged into
    the base model, for transformers and vLLM. With ``--resume`` also for a finished run."""
    push_to_hub: str | None = None
    """Push the trained policy (merged with ``--export merged``) and its card to this repository of
    the Hugging Face hub, ``USER/NAME``. The token comes from ``HF_TOKEN`` or ``hf auth login``.
    With ``--resume`` also for a finished run."""
    hub_private: bool = False
    """Make a new repository private; the hub's default is public unless the organisation sets
    another."""
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
    vllm: VllmConfig = field(default_factory=VllmConfig)
    """vLLM."""
    sglang: SglangConfig = field(default_factory=SglangConfig)
    """SGLang."""
    health: HealthConfig = field(default_factory=HealthConfig)
    """Alarms."""
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    """Precision and memory."""
    envs: Suppress[tuple[EnvConfig, ...]] = ()
    """The entries of the list ``env`` of a file."""

    @property
    def foreign_loop(self) -> bool:
        """Whether something else than the trainer owns the loop of an episode."""
        return self.agent is not None or self.agent_command is not None


if TYPE_CHECKING:
    TrainConfig = CoreConfig
else:
    TrainConfig = make_dataclass(
        "TrainConfig",
        [
            (method.name, method.section, field(default_factory=method.section))
            for method in methods()
            if method.section is not None
        ],
        bases=(CoreConfig,),
        namespace={"__doc__": "All settings of a run.", "__module__": __name__},
        frozen=True,
    )


PLAINER: Mapping[str, str] = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer, unable to parse string as an integer": "a whole number",
    "a valid integer, got a number with a fractional part": "a whole number",
    "a valid integer": "a whole number",
    "a valid number, unable to parse string as a number": "a number",
    "a valid number": "a number",
    "a valid boolean, unable to interpret input": "True or False",
}
"""Pydantic's wording, and a plainer one."""


def from_mapping(values: Mapping[str, Any]) -> TrainConfig:
    """Make a configuration from plain, nested values by field name, such as those of a file.

    Raises:
        ConfigurationError: There is no such setting, or a value is out of its range.
    """
    return _checked_together(_parsed(values))


def with_flags(config: TrainConfig, flags: Mapping[str, Any]) -> TrainConfig:
    """Override the settings of a file with flags.

    Args:
        config: The settings of the file.
        flags: Texts or lists of texts, by dotted name.

    Raises:
        ConfigurationError: A value is out of its range.
    """
    typed = _parsed(nested({"env": config.env, **flags}))
    for name in flags:
        config = with_value(config, name, attrgetter(name)(typed))
    return _checked_together(config)


def _parsed(values: Mapping[str, Any]) -> TrainConfig:
    """Make settings of plain values, checking each on its own."""
    try:
        config: TrainConfig = _validator().validate_python(_with_listed_envs(values))
    except ValidationError as error:
        raise ConfigurationError(_sentence(error)) from error
    return config


def _checked_together(config: TrainConfig) -> TrainConfig:
    """Return settings after checking that their values fit together."""
    if config.lora.dropout != 0:
        raise ConfigurationError(
            "expected --lora.dropout to be 0, because reinforcement learning must train the policy "
            "that acted, and dropout changes the policy in every forward pass; got "
            f"{config.lora.dropout}"
        )
    width = config.tiny.head_dim or config.tiny.hidden // config.tiny.heads
    if width < 2 or width % 2:
        raise ConfigurationError(
            "expected attention heads of an even width (--tiny.hidden / --tiny.heads, or "
            f"--tiny.head-dim), which rotary positions need; got {width}"
        )
    return config


def _with_listed_envs(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with a list ``env``, which files may hold, moved to ``envs``."""
    listed = values.get("env")
    if not isinstance(listed, list | tuple):
        return values
    entries = [{"env": entry} if isinstance(entry, str) else entry for entry in listed]
    names = [str(entry.get("env") or "") for entry in entries if isinstance(entry, Mapping)]
    if not names or len(names) < len(entries) or not all(names):
        raise ConfigurationError(
            "expected env to be a name, or a list of names and of groups of settings that have one "
            f"(env: webshop); got {listed!r:.200}"
        )
    return {**values, "env": ",".join(names), "envs": entries}


@cache
def _validator() -> TypeAdapter[TrainConfig]:
    """Return the validator of all settings."""
    return TypeAdapter(TrainConfig)


def _sentence(error: ValidationError) -> str:
    """Return a message about the first wrong setting."""
    first = error.errors()[0]
    place = _place(first)
    # All entries of a list belong to one flag.
    names = [str(part) for part in place if isinstance(part, str)]
    flag = "--" + ".".join(names).replace("_", "-")
    if place[0] == "envs" and len(place) > 1:  # an entry of the list in a file
        flag = f"{'.'.join(map(str, place[2:])) or 'settings'} of entry {int(place[1]) + 1} of env"
    if first["type"] == "unexpected_keyword_argument":
        allowed = f"a setting of {program_name()} (see --help)"
        if place[0] == "envs":
            allowed = f"one of {', '.join(item.name for item in dataclasses.fields(EnvConfig))}"
        return f"expected {allowed}, got {flag.removeprefix('--')!r}"
    if first["type"] == "missing":
        return f"expected {flag}, got none"
    # A union reports an error per member: join what each of them accepts.
    choices = [choice for choice in error.errors() if _place(choice) == place]
    expectation = " or ".join(choice["msg"].removeprefix("Input should be ") for choice in choices)
    if first["type"] in ("dataclass_type", "tuple_type"):  # Python's terms, which files do not use
        expectation = (
            "a list" if first["type"] == "tuple_type" else "a group of settings (name: value)"
        )
    for word, plainer in PLAINER.items():
        expectation = expectation.replace(word, plainer)
    return f"expected {flag} to be {expectation}, got {first['input']}"


def _place(error: ErrorDetails) -> tuple[int | str, ...]:
    """Return the path of a wrong setting, without the type names that Pydantic adds."""
    return tuple(part for part in error["loc"] if isinstance(part, int) or part.isidentifier())


def to_dict(config: TrainConfig) -> dict[str, Any]:
    """Return a configuration as plain JSON types."""
    fields: dict[str, Any] = _validator().dump_python(config, mode="json")
    return fields
