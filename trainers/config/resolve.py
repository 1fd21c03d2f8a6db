"""Every default of a run, decided in one place before anything expensive begins.

A setting is what its flag says; else what the preset's paper says; else the default of the
environment's family; else the house's. Some give way a little, because they depend on others: a
preset's number of updates is lowered to a divisor of the episodes of a step, and default stages of
the horizon are cut to ``max_turns`` where the environment was asked for with it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agentgym import making
from agentgym.core import TextEnv
from agentgym.errors import ConfigurationError
from agentgym.hooks import TurnReward
from agentgym.rewards import InvalidAction, SuccessBonus, parse_hooks
from agentgym.tasks import Panel
from agentgym.vector.backends import preferred_backend
from trainers.algorithms.presets import SERVES, Preset, get_preset
from trainers.algorithms.schedule import Gated, Stages, parse_rounds
from trainers.config.families import FamilyDefaults, defaults_for
from trainers.config.schema import TINY, FilledConfig, TrainConfig, checked
from trainers.grpo.arguments import largest_divisor, loss_arguments
from trainers.grpo.precision import check_memory_options, chosen_precision
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.tasks import TrainingTasks, knows_oracle_lengths

logger = logging.getLogger(__name__)

TRAIN, VALID, TEST = "train", "valid", "test"
"""Splits: to learn from, to decide by, to compare on."""

DEFAULT_MINUTES = 12.0
"""Of the default run, which is to end within 15 minutes, evaluation included."""
GROUPS, GROUP_SIZE = 16, 8
"""Tasks of a step, and episodes of a task."""
SUCCESS_BONUS, INVALID_PENALTY = 1.0, 0.05
"""Added to the reward of the turn that solves the task, and taken from that of an invalid turn."""
TINY_RATES, PRETRAINED_RATES = (6e-3, 6e-4), (1e-5, 1e-6)
"""Learning rates of warm start and reinforcement learning."""
ADAPTER_RATE = 2e-5
"""Learning rate of reinforcement learning that trains adapters."""
TINY_STEPS = 1600
"""Most steps of the tiny policy's warm start."""
TINY_TURN = 18
"""Tokens per turn of the tiny policy; a family decides on those of its episodes."""
PRETRAINED_TURN, PRETRAINED_EPISODE = 256, 4096
"""Tokens per turn and per episode of a pretrained model."""
VLLM_MEMORY, VLLM_SLEEPER = 0.3, 0.5
"""Share of a GPU for vLLM beside the training, and if it sleeps meanwhile."""
THINKING_TURN = 1024
"""Tokens per turn of a model that may think first."""
TINY_MICRO, PRETRAINED_MICRO = 2048, 16_384
"""Tokens per forward and backward pass; those of the tiny policy stay in the cache of a CPU."""
EVAL_TASKS = 500
"""Evaluation tasks where the test split has as many."""

STARTS = 20
"""Tasks that are tried in the search for one that starts."""


@dataclass(frozen=True)
class ResolvedRun:
    """A run in which nothing is left open."""

    config: FilledConfig
    """The settings."""
    filled: Mapping[str, Any]
    """Those that were left open, as they were filled in."""
    family: str
    """Short name of the environment family."""
    env_id: str
    """Gymnasium id."""
    env_kwargs: Mapping[str, Any]
    """Keyword arguments of the environment."""
    rounds: tuple[int, ...]
    """Turns that an agent may take, stage by stage."""
    has_expert: bool
    """Whether the environment knows an expert: without one there are no demonstrations."""
    preset: Preset
    """Credit assignment and loss."""
    template_args: Mapping[str, Any]
    """Arguments of the chat template."""

    @property
    def seconds(self) -> float:
        """Wall time after which training is cut short."""
        return 60 * self.config.minutes if self.config.minutes else math.inf

    def resolved(self) -> dict[str, Any]:
        """Return what the settings leave open, as it was filled in: kept with the run."""
        return {
            "env_id": self.env_id,
            "env": dict(self.env_kwargs),
            "rounds": list(self.rounds),
            **self.filled,
            "preset_parts": self.preset.described(),
        }

    def make_schedule(self) -> Stages | Gated:
        """Make the turn budget by step; a gated one remembers what it was told."""
        config = self.config
        if config.horizon_gate is None:
            return Stages(self.rounds, config.horizon_every)
        return Gated(self.rounds, config.horizon_gate, config.horizon_every)

    def make_hooks(self) -> list[TurnReward]:
        """Make the turn-level rewards that training adds to the family's own.

        The price of an invalid turn is not among them if a correction of the preset takes it.
        """
        settings = self.config.rl
        hooks: list[TurnReward] = []
        if settings.success_bonus:
            hooks.append(SuccessBonus(settings.success_bonus))
        if settings.invalid_penalty and self.preset.invalid_penalty is None:
            hooks.append(InvalidAction(settings.invalid_penalty))
        return [*hooks, *parse_hooks(settings.hooks)]

    def make_training_tasks(self) -> TrainingTasks:
        """Make the source of training tasks."""
        env = self.make_env()
        try:
            return TrainingTasks(env.tasks, TRAIN, self.config.seed, self.config.fit_horizon)
        finally:
            env.close()

    def panel(self, split: str, most: int) -> Panel:
        """Choose at most ``most`` tasks that depend on neither seed nor settings of training."""
        env = self.make_env()
        try:
            return env.tasks.panel(split, min(most, env.tasks.len(split)))
        finally:
            env.close()

    def make_env(self, **extra: Any) -> TextEnv:
        """Make one environment of the run, with further keyword arguments.

        Raises:
            ConfigurationError: The environment does not take these arguments.
        """
        return making.make_env(self.env_id, {**self.env_kwargs, **extra}, "--env-args")


def resolve(asked: TrainConfig) -> ResolvedRun:
    """Check a configuration and decide what it leaves open.

    Raises:
        AgentGymError: A setting names something that does not exist, is out of range, or
            contradicts another.
    """
    asked = checked(asked)
    family, env_id = making.resolve(asked.env)
    arguments = making.parse_pairs(asked.env_args, "--env-args")
    defaults = defaults_for(family).for_args(arguments)
    preset = _preset(asked.preset)
    settings = _filled(asked, preset, defaults)
    settings["out"] = asked.out or default_out(asked)
    rounds = parse_rounds(settings["horizon"])
    if asked.horizon is None:
        rounds = _cut(rounds, arguments.get("max_turns"))
    if asked.horizon_gate is not None and len(rounds) < 2:
        raise ConfigurationError(
            f"expected --horizon with several stages, such as 5,8,10, for --horizon-gate to open; "
            f"got {settings['horizon']!r}"
        )
    settings["horizon"] = ",".join(map(str, rounds))
    full = settings["eval"]["horizon"] = asked.eval.horizon or max(rounds)
    _fill_tokens(asked, settings["rl"], defaults, max(*rounds, full))
    kwargs = {**defaults.env, **arguments}
    kwargs.setdefault("max_turns", full)
    _choose_backend(settings["rollout"], env_id, kwargs)
    _check_engine(asked)
    # With the hooks that are asked for, since an environment may refuse them.
    hooks = {"reward_hooks": parse_hooks(asked.rl.hooks)} if asked.rl.hooks else {}
    env = making.make_env(env_id, {**kwargs, **hooks}, "--env-args")
    try:
        expert = _decide_by_env(asked, settings, env)
        # A first stage that no task fits is noticed now, not after the warm start.
        training = TrainingTasks(env.tasks, TRAIN, asked.seed, settings["fit_horizon"])
        training.draw(1, settings["rl"]["groups"], rounds[0])
    finally:
        env.close()
    config: FilledConfig = _filler().validate_python(settings)
    return ResolvedRun(
        config=config,
        filled=_differences(asdict(asked), asdict(config)),
        family=family,
        env_id=env_id,
        env_kwargs=kwargs,
        rounds=rounds,
        has_expert=expert,
        preset=preset.with_invalid_penalty(config.rl.invalid_penalty),
        template_args=making.parse_pairs(asked.template_args, "--template-args"),
    )


def default_out(asked: TrainConfig) -> Path:
    """Return the folder of a run that names none."""
    family, _ = making.resolve(asked.env)
    return Path("runs") / f"{family}-{Path(asked.model).name}-seed{asked.seed}"


@cache
def _filler() -> TypeAdapter[Any]:
    """Return what makes settings of plain values and refuses one that is still open."""
    return TypeAdapter(FilledConfig)


def _preset(name: str) -> Preset:
    """Return a preset that this trainer can carry out."""
    preset = get_preset(name)
    preset.require(SERVES)
    loss_arguments(preset.loss)
    return preset


# -- defaults --------------------------------------------------------------------------------------


def _filled(asked: TrainConfig, preset: Preset, defaults: FamilyDefaults) -> dict[str, Any]:
    """Return the settings, with all filled in that does not depend on the environment made."""
    tiny = asked.model == TINY
    sft_rate, rl_rate = TINY_RATES if tiny else PRETRAINED_RATES
    if not tiny and asked.lora.r:
        rl_rate = ADAPTER_RATE
    stages = preset.horizon
    named = _priced_by_hooks(asked)
    own_price = preset.invalid_penalty
    settings = _merged(
        asdict(asked),
        {
            "horizon": ",".join(map(str, stages.rounds if stages else defaults.horizon)),
            "horizon_every": stages.every if stages else defaults.horizon_every,
            "steps": max(defaults.steps, len(stages.rounds) * stages.every if stages else 0),
            "minutes": DEFAULT_MINUTES if tiny and asked.steps is None else 0.0,
            "sft": {
                "lr": sft_rate,
                "max_steps": TINY_STEPS if tiny else 0,
                "gate_success": defaults.gate_success,
            },
            "eval": {"keep": "best" if asked.eval.every else "last"},
            "rl": {
                "groups": preset.groups or GROUPS,
                "group_size": preset.group_size or GROUP_SIZE,
                "iterations": preset.iterations,
                "lr": rl_rate,
                "success_bonus": 0.0 if "success_bonus" in named else SUCCESS_BONUS,
                "invalid_penalty": 0.0
                if "invalid_action" in named
                else INVALID_PENALTY
                if own_price is None
                else own_price,
            },
            "vllm": {"memory": VLLM_SLEEPER if asked.vllm.sleep else VLLM_MEMORY},
            "memory": {"micro_tokens": TINY_MICRO if tiny else PRETRAINED_MICRO},
        },
    )
    _divide(settings["rl"], preset)
    if asked.eval.keep == "best" and not asked.eval.every:
        raise ConfigurationError(
            "expected --eval.every of at least 1 with --eval.keep best, because the best policy is "
            "found by validation; got 0"
        )
    _decide_memory(asked, settings)
    return settings


def _decide_memory(asked: TrainConfig, settings: dict[str, Any]) -> None:
    """Fill in precision and memory; refuse what cannot be had."""
    tiny, memory = asked.model == TINY, settings["memory"]
    memory["precision"] = chosen_precision(asked.memory.precision, tiny)
    if asked.memory.checkpointing == "auto":
        memory["checkpointing"] = "off" if tiny else "on"
    check_memory_options(
        quantize=asked.memory.quantize,
        optimizer=asked.memory.optimizer,
        adapters=not tiny and asked.lora.r > 0,
        engine=asked.engine,
        warm_start=settings["sft"]["max_steps"] > 0,
    )


def _merged(asked: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with a default wherever they hold None."""
    merged = dict(asked)
    for name, default in defaults.items():
        if isinstance(default, Mapping):
            merged[name] = _merged(merged[name], default)
        elif merged[name] is None:
            merged[name] = default
    return merged


def _differences(asked: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were filled in, nested as they are; the folder is none of them."""
    found: dict[str, Any] = {}
    for name, now in filled.items():
        if name == "out" or asked[name] == now:
            continue
        found[name] = _differences(asked[name], now) if isinstance(now, Mapping) else now
    return found


def _priced_by_hooks(asked: TrainConfig) -> set[str]:
    """Return the names of the asked hooks; refuse one that a flag prices, too."""
    names = {hook.name for hook in parse_hooks(asked.rl.hooks)}
    for name, flag, value in (
        ("success_bonus", "--rl.success-bonus", asked.rl.success_bonus),
        ("invalid_action", "--rl.invalid-penalty", asked.rl.invalid_penalty),
    ):
        if name in names and value is not None:
            raise ConfigurationError(
                f"expected {name} in --rl.hooks or {flag}, got both; leave one out"
            )
    return names


def _choose_backend(settings: dict[str, Any], env_id: str, kwargs: Mapping[str, Any]) -> None:
    """Decide where environments run; refuse what those in this process cannot have."""
    given = settings["workers"] or settings["step_timeout"]
    if settings["backend"] is None:
        settings["backend"] = "process" if given else preferred_backend(env_id, kwargs)
    for name in ("workers", "step_timeout"):
        if settings["backend"] == "sync" and settings[name] is not None:
            raise ConfigurationError(
                f"expected --rollout.{name.replace('_', '-')} only with --rollout.backend thread, "
                f"process or ray, because nothing can stop or share out an environment that runs "
                f"in this process; got {settings[name]} with sync"
            )


def _check_engine(asked: TrainConfig) -> None:
    """Refuse settings of vLLM that the chosen engine has no use for."""
    settings, server = asked.vllm, asked.engine == "vllm-server"
    if server and not settings.url:
        raise ConfigurationError(
            "expected --vllm.url, the address of a vLLM server such as http://127.0.0.1:8000, for "
            "--engine vllm-server, got none; --dry-run with any address shows how to start one"
        )
    if settings.url and not server:
        raise ConfigurationError(
            f"expected --vllm.url only with --engine vllm-server, got it with {asked.engine}"
        )
    if settings.sleep and asked.engine != "vllm":
        raise ConfigurationError(
            "expected --vllm.sleep only with --engine vllm, which shares the GPU with the "
            f"training, got it with {asked.engine}"
        )
    if settings.sleep and asked.rl.staleness:
        raise ConfigurationError(
            "expected --vllm.sleep only with --rl.staleness 0, because generation ahead of the "
            f"training goes on while that trains; got {asked.rl.staleness}"
        )


def _divide(rl: dict[str, Any], preset: Preset) -> None:
    """Fill in how the episodes of a step are divided into updates."""
    groups, size, parts = rl["groups"], rl["group_size"], rl["minibatches"]
    if size < 2 and preset.compares_groups:
        raise ConfigurationError(
            f"expected --rl.group-size to be at least 2, because preset {preset.name!r} compares "
            f"the episodes of a task; got {size}"
        )
    episodes = groups * size
    if episodes < 2:
        raise ConfigurationError(
            "expected at least 2 episodes per step, got --rl.groups 1 and --rl.group-size 1"
        )
    if parts is None:
        parts = largest_divisor(episodes, preset.minibatches)
    elif episodes % parts:
        raise ConfigurationError(
            f"expected --rl.minibatches to divide groups x group_size = {episodes}, got {parts}"
        )
    rl["minibatches"] = parts


def _fill_tokens(
    asked: TrainConfig, rl: dict[str, Any], defaults: FamilyDefaults, turns: int
) -> None:
    """Fill in the token budgets; with thinking, the turns and not the tokens end an episode."""
    tiny = asked.model == TINY
    is_open = rl["turn_tokens"] is None or rl["episode_tokens"] is None
    thinks = not tiny and is_open and _thinks(asked)
    if rl["turn_tokens"] is None:
        rl["turn_tokens"] = TINY_TURN if tiny else THINKING_TURN if thinks else PRETRAINED_TURN
    if rl["episode_tokens"] is None:
        most = defaults.episode_tokens if tiny else PRETRAINED_EPISODE
        rl["episode_tokens"] = most + (turns * rl["turn_tokens"] if thinks else 0)


def _thinks(asked: TrainConfig) -> bool:
    """Return whether the model may think before it answers, as its chat template tells."""
    arguments = making.parse_pairs(asked.template_args, "--template-args")
    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(asked.model)
        return TurnTokenizer(tokenizer, template_kwargs=arguments).thinks
    except Exception:  # whatever is wrong with the model is reported where it is loaded
        logger.debug("no tokenizer of %s to ask", asked.model, exc_info=True)
        return False


# -- horizon ---------------------------------------------------------------------------------------


def _cut(rounds: tuple[int, ...], max_turns: Any) -> tuple[int, ...]:
    """Cut stages to the turns that the environment was asked for with, if it was."""
    if not isinstance(max_turns, int) or max_turns < 1:
        return rounds
    return tuple(dict.fromkeys(min(turns, max_turns) for turns in rounds))


# -- what the environment decides ------------------------------------------------------------------


def _decide_by_env(asked: TrainConfig, settings: dict[str, Any], env: TextEnv) -> bool:
    """Fill in what depends on what the environment is; return whether it has an expert."""
    expert = _has_expert(env)
    if asked.sft.max_steps and not expert:
        raise ConfigurationError(
            f"expected --sft.max-steps 0, because {env.tasks.name} has no expert whose "
            f"demonstrations a warm start could imitate; got {asked.sft.max_steps}"
        )
    if not expert:
        settings["sft"]["max_steps"] = 0
    settings["fit_horizon"] = _fit(asked.fit_horizon, env)
    settings["eval"]["tasks"] = _panel_size(asked.eval.tasks, env)
    return expert


def _fit(asked: bool | None, env: TextEnv) -> bool:
    """Decide on ``fit_horizon``; refuse it where nothing is known about the expert's plans."""
    known = knows_oracle_lengths(env.tasks, TRAIN)
    if asked and not known:
        raise ConfigurationError(
            f"expected --fit-horizon only where the expert's plan lengths are known, but "
            f"{env.tasks.name} does not know them; pass --no-fit-horizon"
        )
    return known if asked is None else asked


def _has_expert(env: TextEnv) -> bool:
    """Return whether an expert can say what to do in the first training task that starts."""
    for index in range(min(STARTS, env.tasks.len(TRAIN))):
        try:
            env.reset(seed=0, options={"split": TRAIN, "index": index})
        except Exception:
            logger.info("task %d of %s does not start", index, env.tasks.name, exc_info=True)
        else:
            return env.oracle_action() is not None
    return True  # Whatever fails is reported by the phases that play.


def _panel_size(asked: int | None, env: TextEnv) -> int:
    """Return the number of evaluation tasks; refuse more than the test split has."""
    size = env.tasks.len(TEST)
    if asked is not None and asked > size:
        raise ConfigurationError(
            f"expected --eval.tasks of at most {size}, the size of the test split of "
            f"{env.tasks.name}; got {asked}"
        )
    return min(EVAL_TASKS, size) if asked is None else asked
