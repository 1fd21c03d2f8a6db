"""Resolves every open setting of a run before anything expensive begins.

A setting comes from its flag, else the preset, else the default of the environment's family, else
the general default. Some depend on others: a preset's number of updates is lowered to a divisor of
the episodes per step, and default stages are capped at the environment's ``horizon``, if set.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentgym.core.hooks import TurnReward
from agentgym.errors import ConfigurationError
from agentgym.policies.identity import is_ours
from agentgym.registration import making
from agentgym.rewards import JudgeMask
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import served
from trainers.config.budget import Budget, parse_budget
from trainers.config.config_file import check_no_secret_is_missing
from trainers.config.default_layers import (
    family_layers,
    is_small,
    method_layers,
    preset_layer,
    strongest,
    trainer_layer,
)
from trainers.config.layers import DEFAULT, PRESET, Decisions, Layer
from trainers.config.model_choices import choose_engine, choose_precision, count_weights, thinks
from trainers.config.model_files.precision import check_memory_options
from trainers.config.own_parts import file_hashes, find_preset, sources
from trainers.config.preset_file import with_parts_of
from trainers.config.preset_knobs import with_knobs
from trainers.config.preset_values import values_of_preset
from trainers.config.resolved_env import VALID, ResolvedEnv
from trainers.config.resolved_environments import asked_names, resolve_envs
from trainers.config.schema import TINY, TrainConfig
from trainers.config.sections import RlConfig
from trainers.config.setting_checks import (
    OWN_SUCCESSES,
    check_baselines,
    check_costs,
    check_engine,
    check_imitation,
    check_template,
)
from trainers.methods.table import methods

DELEGATING_TURN = 64
"""Minimum tokens per turn of a policy that delegates tasks in words; its episodes get twice the
tokens of the family's default."""
THINKING_TURN = 1024
"""Tokens per turn of a model that may think first."""
BACKENDS = ("sync", "thread", "process")
"""Back ends; for several environments the last one that any of them needs is used."""


@dataclass(frozen=True)
class ResolvedRun:
    """A run with every setting resolved."""

    config: TrainConfig
    """The settings."""
    filled: Mapping[str, Any]
    """Values chosen for open settings, including those that correspond to parts of the preset, such
    as ``rl.beta``."""
    sources: Mapping[str, str]
    """Source of each of these, by dotted name: see `trainers.config.layers`."""
    envs: tuple[ResolvedEnv, ...]
    """The environments, usually one."""
    preset: Preset
    """Credit assignment and loss."""
    template_args: Mapping[str, Any]
    """Arguments of the chat template."""
    warm_start_if_needed: bool = False
    """Whether the base model is tested first: if it solves enough tasks, there is no warm start."""
    opening_tokens: int = 0
    """Tokens of an opening, for the estimate of memory; 0: unknown."""

    @property
    def seconds(self) -> float:
        """Wall time after which training is cut short."""
        return 60 * self.config.minutes if self.config.minutes else math.inf

    @property
    def budget(self) -> Budget:
        """The joint budget of imitation and reinforcement learning."""
        return parse_budget(self.config.budget)

    @property
    def several(self) -> bool:
        """Whether there is more than one environment."""
        return len(self.envs) > 1

    @property
    def title(self) -> str:
        """Names of the environments with their task sets, such as ``webshop:easy``."""
        return " + ".join(env.label if self.several else env.title for env in self.envs)

    def env(self, name: str) -> ResolvedEnv:
        """Return the environment of a name."""
        return next(env for env in self.envs if env.name == name)

    @property
    def exact_text(self) -> bool:
        """Whether the tiny policy has to keep whitespace and case of what it reads and writes."""
        return any(env.defaults.exact_text for env in self.envs)

    @property
    def imitates(self) -> bool:
        """Whether the policy is warm-started on demonstrations."""
        return self.config.sft.max_steps > 0

    def without_warm_start(self) -> ResolvedRun:
        """Return the same run without the warm start and the baselines that start from it."""
        config = self.config
        baselines = tuple(
            baseline for baseline in config.eval.baselines if baseline == OWN_SUCCESSES
        )
        sft = replace(config.sft, max_steps=0, rounds=0)
        changed = replace(config, sft=sft, eval=replace(config.eval, baselines=baselines))
        return replace(self, config=changed, warm_start_if_needed=False)

    @property
    def imitating_baselines(self) -> tuple[str, ...]:
        """The baselines that imitate the demonstrations of the warm start."""
        return tuple(
            baseline for baseline in self.config.eval.baselines if baseline != OWN_SUCCESSES
        )

    def resolved(self) -> dict[str, Any]:
        """Return the resolved values, which are stored with the run."""
        places: dict[str, Any]
        if self.several:
            places = {"envs": {env.name: _plain_env(env) for env in self.envs}}
        else:
            env = self.envs[0]
            places = {"env_name": env.title, "env_id": env.env_id, "env": dict(env.kwargs)}
            places |= {"rounds": list(env.rounds)}
            places |= {"prompt": env.prompt, "layout": env.layout.to_dict()}
        hashes: dict[str, Any] = {"source_sha256": sources} if (sources := self._sources()) else {}
        hooks = [hook for env in self.envs for hook in env.make_hooks()]
        for field in ("rubric", "rules"):
            if texts := _texts(hooks, field):
                hashes[f"{field}_sha256"] = texts
        return {**places, **self.filled, "preset_parts": self.preset.described(), **hashes}

    def _sources(self) -> dict[str, str]:
        """Return the hash of the source code of each user-defined part, by name."""
        config = self.config
        hooks = [type(hook) for env in self.envs for hook in env.make_hooks()]
        templates = [Path(config.chat_template)] if config.chat_template else []
        return file_hashes([*config.sft.episodes, *templates]) | sources(
            [
                *(config.preset, config.engine, config.rl.sampler, *(config.rl.filters or ())),
                *((config.agent,) if config.agent else ()),
                *(env.schedule for env in self.envs),
                *(f"{cls.__module__}:{cls.__qualname__}" for cls in hooks if not is_ours(cls)),
            ]
        )


def _texts(hooks: Sequence[TurnReward], field: str) -> dict[str, str]:
    """Return hashes of texts that hooks read from files, by hook, because files may change."""
    texts = {hook.name: getattr(hook, field, "") for hook in hooks}
    return {name: sha256(text.encode()).hexdigest() for name, text in texts.items() if text}


def resolve(config: TrainConfig) -> ResolvedRun:
    """Resolve the open settings of a configuration that `schema.from_mapping` has checked.

    Raises:
        AgentGymError: A setting names something that does not exist, or contradicts another.
    """
    check_no_secret_is_missing(config)
    check_template(config)
    preset = _preset(config)
    envs = resolve_envs(config, preset)
    check_costs(config, envs)
    _check_needs(config, preset, envs)
    decisions = _decide(config, preset, envs)
    decided = decisions.settings
    check_engine(decided)
    check_imitation(decided.sft, config.sft.max_steps, envs)
    check_baselines(decided)
    without_expert = [env.name for env in envs if not env.has_expert]
    for method in methods():
        method.check(preset, decided, without_expert)
    preset = preset.with_invalid_penalty(decided.rl.invalid_penalty)
    decisions.fill(Layer(PRESET, values_of_preset(preset)))
    values = asdict(decisions.settings)
    values["sft"]["if_needed"] = if_needed = _is_tested_first(config, decided)
    return ResolvedRun(
        config=decided,
        filled=_differences(asdict(config), values),
        sources=decisions.sources,
        envs=envs,
        preset=preset,
        template_args=making.parse_pairs(config.template_args, "--template-args"),
        warm_start_if_needed=if_needed,
    )


def default_out(config: TrainConfig) -> Path:
    """Return the default folder of a run; quick runs have a different one."""
    names = "-".join(asked_names(config))
    quick = "-quick" if config.quick else ""
    return Path("runs") / f"{names}-{Path(config.model).name}{quick}-seed{config.seed}"


def _plain_env(env: ResolvedEnv) -> dict[str, Any]:
    """Return a resolved environment as a file holds it."""
    values = {**asdict(env), "kwargs": dict(env.kwargs), "layout": env.layout.to_dict()}
    values["env_name"] = env.title
    del values["sources"], values["grammar_reason"]
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def _preset(config: TrainConfig) -> Preset:
    """Return the run's preset, after checking that the trainer supports it."""
    preset = find_preset(config.preset)
    if config.preset_file is not None:
        preset = with_parts_of(preset, config.preset_file)
    for method in methods():
        preset = method.extend_preset(preset, config)
    preset = with_knobs(preset, config.rl)
    for method in methods():
        preset = method.change_preset(preset, config)
    # Needs that hooks or settings of methods provide are checked later, in `_check_needs`.
    preset.require((JUDGE, *served(preset), *(need for m in methods() for need in m.needs)))
    return preset


def _check_needs(config: TrainConfig, preset: Preset, envs: Sequence[ResolvedEnv]) -> None:
    """Check that the run provides all that the preset needs."""
    masked = all(JudgeMask.name in [hook.name for hook in env.judges] for env in envs)
    named = [m for m in methods() if m.provides is not None and m.provides(preset, config)]
    provided = [need for method in named for need in method.needs]
    preset.require((*served(preset), *[JUDGE] * masked, *provided))


# -- defaults --------------------------------------------------------------------------------------


def _decide(
    config: TrainConfig, preset: Preset, envs: Sequence[ResolvedEnv]
) -> Decisions[TrainConfig]:
    """Resolve all settings, and record their sources."""
    small = config.model != TINY and config.lora.r > 0 and is_small(count_weights(config.model))
    decisions = Decisions(config)
    decide = partial(decisions.decide, DEFAULT)
    decide({"out": config.out or default_out(config)})
    if config.sft.max_steps == "auto":
        decide({"sft.max_steps": None})
    decisions.fill(
        preset_layer(config, preset, envs),
        *family_layers(config, envs, small),
        trainer_layer(config, envs, choose_engine(config), small),
    )
    rate = decisions.settings.rl.learning_rate
    decisions.fill(*method_layers(config, preset, rate))
    if not any(env.demonstrator for env in envs):
        decide({"sft.max_steps": 0})
    if config.eval.baselines is None and not decisions.settings.sft.max_steps:
        decide({"eval.baselines": ()})
    if without := [env.label for env in envs if not env.validates]:
        _check_unvalidated(config, decisions.settings, without)
        decide({"eval.every": 0, "eval.keep": config.eval.keep or "last"})
    minibatches = _minibatches(decisions.settings.rl, preset)
    source = DEFAULT if preset.minibatches == 1 else PRESET
    decisions.decide(source, {"rl.minibatches": minibatches})
    if config.eval.keep == "best" and decisions.settings.eval.every == 0:
        raise ConfigurationError(
            "expected --eval.every of at least 1 with --eval.keep best, because the best policy is "
            "found by validation; got 0"
        )
    decide(_memory_settings(decisions.settings))
    if len(envs) == 1:
        for name, value in envs[0].settings.items():
            decisions.decide(envs[0].sources[name], {name: value})
    _decide_tokens(decisions, envs)
    decide({"backend": _backend(decisions.settings, envs)})
    return decisions


def _is_tested_first(config: TrainConfig, decided: TrainConfig) -> bool:
    """Return whether a test of the base model decides on the warm start."""
    if config.model == TINY or not decided.sft.max_steps:
        return False
    baselines = [
        baseline
        for baseline in config.eval.baselines or ()
        if baseline not in (OWN_SUCCESSES, "none")
    ]
    needed = config.sft.episodes or config.sft.rounds or baselines
    return config.sft.max_steps == "auto" or (config.sft.max_steps is None and not needed)


def _check_unvalidated(config: TrainConfig, decided: TrainConfig, without: list[str]) -> None:
    """Check that no setting needs the validation tasks that are missing."""
    needs = {
        "--sft.max-steps 0": decided.sft.max_steps,
        "--eval.every 0": config.eval.every,
        "--eval.baselines none": decided.eval.baselines,
    }
    if needed := [flag for flag, value in needs.items() if value]:
        raise ConfigurationError(
            f"expected validation tasks, but {' and '.join(without)} has no split {VALID}; give "
            f"three rows or more, name the split {VALID} in some of them, or pass "
            f"{' '.join(needed)}"
        )


def _memory_settings(config: TrainConfig) -> dict[str, str]:
    """Return precision and checkpointing, after checking the memory settings."""
    tiny, memory = config.model == TINY, config.memory
    precision, checkpointing = choose_precision(config, config.out), memory.checkpointing
    check_memory_options(
        quantize=memory.quantize,
        optimizer=memory.optimizer,
        adapters=not tiny and config.lora.r > 0,
        engine=config.engine,
        warm_start=config.sft.max_steps > 0,
    )
    if checkpointing == "auto":
        checkpointing = "off" if tiny else "on"
    return {"memory.precision": precision, "memory.checkpointing": checkpointing}


def _differences(settings: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were filled in, nested, without the folder."""
    differences: dict[str, Any] = {}
    for name, value in filled.items():
        if name == "out" or settings.get(name) == value:
            continue
        differences[name] = (
            _differences(settings[name], value) if isinstance(value, Mapping) else value
        )
    return differences


def _backend(config: TrainConfig, envs: Sequence[ResolvedEnv]) -> str:
    """Return the back end; check that its settings apply to it."""
    backend: str = config.backend
    if backend is None:
        # An environment that waits for a judge would block all others in its thread.
        suited = [*(env.backend for env in envs), *("thread" for env in envs if env.judges)]
        needs_process = config.workers or config.step_timeout
        backend = "process" if needs_process else max(suited, key=BACKENDS.index)
    for name in ("workers", "step_timeout"):
        if backend == "sync" and (value := getattr(config, name)) is not None:
            raise ConfigurationError(
                f"expected --{name.replace('_', '-')} only with --backend thread, "
                "process or ray, because an environment in this process cannot be stopped or "
                f"moved; got {value} with sync"
            )
    return backend


def _minibatches(rl: RlConfig, preset: Preset) -> int:
    """Return the number of updates per pass over a step's episodes."""
    if rl.num_generations < 2 and preset.compares_groups:
        raise ConfigurationError(
            f"expected --rl.num-generations to be at least 2, because preset {preset.name!r} "
            f"compares the episodes of a task; got {rl.num_generations}"
        )
    if rl.episodes < 2:
        raise ConfigurationError(
            "expected at least 2 episodes per step, got --rl.groups 1 and --rl.num-generations 1"
        )
    if rl.minibatches is None:
        parts = range(min(rl.episodes, preset.minibatches), 0, -1)
        return next(count for count in parts if rl.episodes % count == 0)
    if rl.episodes % rl.minibatches:
        raise ConfigurationError(
            f"expected --rl.minibatches to divide groups x num_generations = {rl.episodes}, got "
            f"{rl.minibatches}"
        )
    return rl.minibatches


def _decide_tokens(decisions: Decisions[TrainConfig], envs: Sequence[ResolvedEnv]) -> None:
    """Resolve the token limits; with thinking, turns rather than tokens end an episode."""
    config, rl = decisions.settings, decisions.settings.rl
    delegates = any(env.delegates for env in envs)
    is_open = rl.turn_tokens is None or rl.episode_tokens is None
    with_thoughts = config.model != TINY and is_open and thinks(config)
    turn_tokens = max(env.defaults.turn_tokens for env in envs)
    turn_tokens = max(turn_tokens, DELEGATING_TURN) if delegates else turn_tokens
    turn = rl.turn_tokens or (THINKING_TURN if with_thoughts else turn_tokens)
    episode_tokens = max(env.defaults.episode_tokens for env in envs) * (1 + delegates)
    turns = max(env.most_turns for env in envs)
    episode = episode_tokens + (turns * turn if with_thoughts else 0)
    for name, value in (("turn_tokens", turn), ("episode_tokens", episode)):
        source = strongest(env.source_of(name) for env in envs)
        decisions.fill(Layer(DEFAULT if with_thoughts else source, {f"rl.{name}": value}))
