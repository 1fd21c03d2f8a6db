"""Every default of a run, decided in one place before anything expensive begins.

A setting comes from its flag, else the preset, else the default of the environment's family, else
the general default. Some are adjusted because they depend on others: a preset's number of updates
is lowered to a divisor of the episodes of a step, and default stages of the horizon are cut to the
environment's own ``horizon`` if it was given one.
"""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agentgym.core.hooks import TurnReward
from agentgym.errors import AgentGymError, ConfigurationError
from agentgym.policies.identity import is_ours
from agentgym.registration import making
from agentgym.rewards import JudgeMask
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import SERVES
from trainers.config.budget import Budget, parse_budget
from trainers.config.config_file import (
    CONFIG_FILE,
    RESOLVED,
    check_no_secret_is_missing,
    read_settings,
)
from trainers.config.default_layers import (
    family_layers,
    is_small,
    method_layers,
    preset_layer,
    strongest,
    trainer_layer,
)
from trainers.config.layers import DEFAULT, PRESET, Layer, merge_layers
from trainers.config.own_parts import file_hashes, find_preset, sources
from trainers.config.preset_file import with_parts_of
from trainers.config.preset_knobs import with_knobs
from trainers.config.preset_values import values_of_preset
from trainers.config.resolved_environments import (
    VALID,
    ResolvedEnv,
    asked_names,
    resolve_envs,
)
from trainers.config.schema import TINY, FilledConfig, TrainConfig, checked
from trainers.grpo.precision import check_memory_options, chosen_precision
from trainers.grpo.trl_arguments import largest_divisor
from trainers.methods.table import methods
from trainers.model_files.chat_templates import read_tokenizer
from trainers.model_files.source import model_source
from trainers.rollouts.chat import TurnTokenizer

logger = logging.getLogger(__name__)

DELEGATING_TURN = 64
"""Tokens per turn at least of a policy that delegates tasks in words; its episodes get twice as
many as a family says."""
THINKING_TURN = 1024
"""Tokens per turn of a model that may think first."""
OWN_SUCCESSES = "expert-iteration"
"""The baseline that imitates no demonstrations, but the policy's own solved episodes."""
BACKENDS = ("sync", "thread", "process")
"""Where environments may run; of several the one that suits most is last."""


@dataclass(frozen=True)
class ResolvedRun:
    """A run with every setting resolved."""

    config: FilledConfig
    """The settings."""
    filled: Mapping[str, Any]
    """Those that were left open, as they were filled in; of a preset's parts what they stand for,
    such as ``rl.beta``."""
    sources: Mapping[str, str]
    """Who decided on each of these, by its name with dots: see `trainers.config.layers`."""
    envs: tuple[ResolvedEnv, ...]
    """The environments, most often one."""
    preset: Preset
    """Credit assignment and loss."""
    template_args: Mapping[str, Any]
    """Arguments of the chat template."""
    opening_tokens: int = 0
    """Tokens of an opening, of which the estimate of memory is made; 0: they are not known."""

    @property
    def seconds(self) -> float:
        """Wall time after which training is cut short."""
        return 60 * self.config.minutes if self.config.minutes else math.inf

    @property
    def budget(self) -> Budget:
        """What imitation and reinforcement learning may spend together."""
        return parse_budget(self.config.budget)

    @property
    def several(self) -> bool:
        """Whether there is more than one environment."""
        return len(self.envs) > 1

    @property
    def title(self) -> str:
        """What the environments are called, with their task sets: ``webshop:easy``."""
        return " + ".join(env.label if self.several else env.title for env in self.envs)

    def env(self, name: str) -> ResolvedEnv:
        """Return the environment of a name."""
        return next(env for env in self.envs if env.name == name)

    @property
    def exact_text(self) -> bool:
        """Whether the tiny policy has to keep blanks and case of what it reads and writes."""
        return any(env.defaults.exact_text for env in self.envs)

    @property
    def imitates(self) -> bool:
        """Whether the policy is warm-started on demonstrations."""
        return self.config.sft.max_steps > 0

    def without_warm_start(self) -> ResolvedRun:
        """Return the same run without a warm start and the baselines that begin with it."""
        config = self.config
        baselines = tuple(
            baseline for baseline in config.eval.baselines if baseline == OWN_SUCCESSES
        )
        sft = replace(config.sft, max_steps=0, rounds=0, if_needed=False)
        changed = replace(config, sft=sft, eval=replace(config.eval, baselines=baselines))
        return replace(self, config=changed)

    @property
    def imitating_baselines(self) -> tuple[str, ...]:
        """The baselines that imitate the demonstrations of the warm start."""
        return tuple(
            baseline for baseline in self.config.eval.baselines if baseline != OWN_SUCCESSES
        )

    def resolved(self) -> dict[str, Any]:
        """Return what the settings leave open, as it was filled in: kept with the run."""
        places: dict[str, Any]
        if self.several:
            places = {"envs": {env.name: _plain(env) for env in self.envs}}
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
        """Return a hash of the source of each part of one's own, by its name."""
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
    """Return a hash of what hooks have read from files, by their names: a file may change."""
    texts = {hook.name: getattr(hook, field, "") for hook in hooks}
    return {name: sha256(text.encode()).hexdigest() for name, text in texts.items() if text}


def resolve(config: TrainConfig) -> ResolvedRun:
    """Check a configuration and fill in its open settings.

    Raises:
        AgentGymError: A setting names something that does not exist, is out of range, or
            contradicts another.
    """
    config = checked(config)
    check_no_secret_is_missing(config)
    _check_template(config)
    preset = _preset(config)
    envs = resolve_envs(config, preset)
    limited = any(cost.limit >= 0 for env in envs for cost in env.costs)
    if config.rl.price_rate and not limited:
        raise ConfigurationError(
            "expected a cost with a limit for --rl.price-rate, such as --reward-hooks calls=3, "
            "got none"
        )
    masked = all(JudgeMask.name in [hook.name for hook in env.judges] for env in envs)
    named = [m for m in methods() if m.provides is not None and m.provides(preset, config)]
    provided = [need for method in named for need in method.needs]
    preset.require((*SERVES, *[JUDGE] * masked, *provided))
    settings, sources = _filled(config, preset, envs)
    settings["out"] = config.out or default_out(config)
    if len(envs) == 1:
        _fill_from(settings, envs[0])
        sources |= envs[0].sources
    thinks = _fill_tokens(config, settings["rl"], envs)
    for limit in ("turn_tokens", "episode_tokens"):
        source = DEFAULT if thinks else strongest(env.source_of(limit) for env in envs)
        sources[f"rl.{limit}"] = source
    _choose_backend(settings, envs)
    _check_engine(config, settings["engine"])
    _check_imitation(config, envs, settings)
    _check_baselines(settings)
    without_expert = [env.name for env in envs if not env.has_expert]
    filled_config = _filler().validate_python(settings)
    for method in methods():
        method.check(preset, filled_config, without_expert)
    preset = preset.with_invalid_penalty(filled_config.rl.invalid_penalty)
    parts = Layer(PRESET, values_of_preset(preset))
    values, of_parts = merge_layers(asdict(filled_config), [parts])
    return ResolvedRun(
        config=filled_config,
        filled=_differences(asdict(config), values),
        sources={**sources, **of_parts},
        envs=envs,
        preset=preset,
        template_args=making.parse_pairs(config.template_args, "--template-args"),
    )


def default_out(config: TrainConfig) -> Path:
    """Return the folder of a run that names none; a quick one leaves that of the default free."""
    names = "-".join(asked_names(config))
    quick = "-quick" if config.quick else ""
    return Path("runs") / f"{names}-{Path(config.model).name}{quick}-seed{config.seed}"


def _plain(env: ResolvedEnv) -> dict[str, Any]:
    """Return what was decided about an environment, as a file holds it."""
    values = {**asdict(env), "kwargs": dict(env.kwargs), "layout": env.layout.to_dict()}
    values["env_name"] = env.title
    del values["sources"], values["grammar_reason"]
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def _fill_from(settings: dict[str, Any], env: ResolvedEnv) -> None:
    """Fill in what the only environment of a run decided."""
    settings["horizon"] = env.schedule or ",".join(map(str, env.rounds))
    settings["horizon_every"], settings["fit_horizon"] = env.horizon_every, env.fit_horizon
    settings["eval"] |= {"horizon": env.full_horizon, "num_tasks": env.eval_tasks}
    settings["sft"]["target_success"] = env.target_success
    settings["rl"]["success_bonus"] = env.success_bonus


@cache
def _filler() -> TypeAdapter[FilledConfig]:
    """Return what makes settings of plain values and refuses one that is still open."""
    return TypeAdapter(FilledConfig)


def _preset(config: TrainConfig) -> Preset:
    """Return a preset that this trainer can carry out."""
    preset = find_preset(config.preset)
    if config.preset_file is not None:
        preset = with_parts_of(preset, config.preset_file)
    for method in methods():
        preset = method.extend_preset(preset, config)
    preset = with_knobs(preset, config.rl)
    for method in methods():
        preset = method.change_preset(preset, config)
    # What the environments' hooks and a method's own settings have to name is checked later.
    preset.require((JUDGE, *SERVES, *(need for method in methods() for need in method.needs)))
    return preset


# -- defaults --------------------------------------------------------------------------------------


def _filled(
    config: TrainConfig, preset: Preset, envs: Sequence[ResolvedEnv]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings, with all filled in that no single environment decides, and by whom."""
    small = config.model != TINY and config.lora.r > 0 and is_small(_weights(config.model))
    layers = [
        preset_layer(config, preset, envs),
        *family_layers(config, envs, small),
        trainer_layer(config, envs, _engine(config), small),
    ]
    values = asdict(config)
    if config.sft.max_steps == "auto":
        values["sft"]["max_steps"] = None
    settings, sources = merge_layers(values, layers)
    rate = settings["rl"]["learning_rate"]
    settings, of_methods = merge_layers(settings, method_layers(config, preset, rate))
    sources |= of_methods
    if not any(env.demonstrator for env in envs):
        settings["sft"]["max_steps"], sources["sft.max_steps"] = 0, DEFAULT
    settings["sft"]["if_needed"] = _is_tested_first(config, settings)
    if config.eval.baselines is None and not settings["sft"]["max_steps"]:
        settings["eval"]["baselines"], sources["eval.baselines"] = (), DEFAULT
    if without := [env.label for env in envs if not env.validates]:
        _forgo_validation(config, settings, without)
        sources |= {"eval.every": DEFAULT, "eval.keep": DEFAULT}
    _divide(settings["rl"], preset)
    sources["rl.minibatches"] = DEFAULT if preset.minibatches == 1 else PRESET
    if config.eval.keep == "best" and settings["eval"]["every"] == 0:
        raise ConfigurationError(
            "expected --eval.every of at least 1 with --eval.keep best, because the best policy is "
            "found by validation; got 0"
        )
    _decide_memory(config, settings)
    return settings, sources


def _is_tested_first(config: TrainConfig, settings: Mapping[str, Any]) -> bool:
    """Return whether a test of the base model decides on the warm start."""
    if config.model == TINY or not settings["sft"]["max_steps"]:
        return False
    baselines = [
        baseline
        for baseline in config.eval.baselines or ()
        if baseline not in (OWN_SUCCESSES, "none")
    ]
    needed = config.sft.episodes or config.sft.rounds or baselines
    return config.sft.max_steps == "auto" or (config.sft.max_steps is None and not needed)


def _forgo_validation(config: TrainConfig, settings: dict[str, Any], without: list[str]) -> None:
    """Train without validation tasks; refuse what cannot be done without them."""
    needs = {
        "--sft.max-steps 0": settings["sft"]["max_steps"],
        "--eval.every 0": config.eval.every,
        "--eval.baselines none": settings["eval"]["baselines"],
    }
    if needed := [flag for flag, value in needs.items() if value]:
        raise ConfigurationError(
            f"expected validation tasks, but {' and '.join(without)} has no split {VALID}; give "
            f"three rows or more, name the split {VALID} in some of them, or pass "
            f"{' '.join(needed)}"
        )
    settings["eval"] |= {"every": 0, "keep": config.eval.keep or "last"}


def _check_imitation(
    config: TrainConfig, envs: Sequence[ResolvedEnv], settings: Mapping[str, Any]
) -> None:
    """Refuse to imitate where there is nobody to be imitated, and episodes that nobody imitates."""
    sft = config.sft
    if sft.episodes and not settings["sft"]["max_steps"]:
        raise ConfigurationError(
            "expected --sft.max-steps of at least 1 with --sft.episodes, which a warm start "
            f"imitates; got {settings['sft']['max_steps']}"
        )
    if sft.rounds and not settings["sft"]["max_steps"]:
        raise ConfigurationError(
            "expected --sft.max-steps of at least 1 with --sft.rounds, which begin with a warm "
            f"start on demonstrations; got {settings['sft']['max_steps']}"
        )
    without = [env.name for env in envs if not env.has_expert]
    if sft.rounds and sft.teacher == "expert" and without:
        raise ConfigurationError(
            f"expected --sft.teacher self, because {', '.join(without)} has no expert to label "
            "states; got expert"
        )
    if sft.episodes and sft.demonstrator != "expert":
        raise ConfigurationError(
            "expected --sft.episodes or --sft.demonstrator, because each selects the "
            f"demonstrations; got both, {sft.demonstrator} and {' '.join(map(str, sft.episodes))}"
        )
    if config.sft.max_steps not in (None, 0, "auto") and not any(env.demonstrator for env in envs):
        tasks = ", ".join(env.name for env in envs)
        raise ConfigurationError(
            f"expected --sft.max-steps 0, because {tasks} has no expert whose demonstrations a "
            f"warm start could imitate, or --sft.demonstrator random; got {config.sft.max_steps}"
        )


def _check_baselines(settings: Mapping[str, Any]) -> None:
    """Refuse baselines that have nothing to imitate."""
    baselines = settings["eval"]["baselines"]
    imitating = [baseline for baseline in baselines if baseline != OWN_SUCCESSES]
    if imitating and not settings["sft"]["max_steps"]:
        raise ConfigurationError(
            f"expected --eval.baselines none or {OWN_SUCCESSES}, because without a warm start "
            "there are no demonstrations that could be imitated further; got "
            f"{' '.join(baselines)}"
        )


def _decide_memory(config: TrainConfig, settings: dict[str, Any]) -> None:
    """Fill in precision and memory; refuse what cannot be had."""
    tiny, memory = config.model == TINY, settings["memory"]
    memory["precision"] = _precision(config)
    if config.memory.checkpointing == "auto":
        memory["checkpointing"] = "off" if tiny else "on"
    check_memory_options(
        quantize=config.memory.quantize,
        optimizer=config.memory.optimizer,
        adapters=not tiny and config.lora.r > 0,
        engine=settings["engine"],
        warm_start=settings["sft"]["max_steps"] > 0,
    )


def _precision(config: TrainConfig) -> str:
    """Return the precision of matrix products; a run that goes on keeps that of its beginning."""
    path = (config.out or default_out(config)) / CONFIG_FILE
    if config.resume and config.memory.precision == "auto" and path.exists():
        stored = read_settings(path).get(RESOLVED, {}).get("memory", {}).get("precision")
        if stored in ("fp32", "bf16"):
            return str(stored)
    return chosen_precision(
        config.memory.precision, config.model == TINY, lambda: _weights(config.model)
    )


def _weights(model: str) -> int:
    """Count the weights of a pretrained model by its configuration; 0 if it cannot be had."""
    try:
        return _count_weights(model)
    except Exception:  # a model that cannot be loaded is named where it is looked at
        logger.debug("no configuration of %s to read", model, exc_info=True)
        return 0


@cache
def _count_weights(model: str) -> int:
    """Count the weights of a pretrained model that exists."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):  # Shapes alone: no memory is taken.
        config = AutoConfig.from_pretrained(model_source(model))
        network = AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in network.parameters())


def _differences(settings: Mapping[str, Any], filled: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were filled in, nested as they are; the folder is none of them."""
    differences: dict[str, Any] = {}
    for name, now in filled.items():
        if name == "out" or settings.get(name) == now:
            continue
        differences[name] = _differences(settings[name], now) if isinstance(now, Mapping) else now
    return differences


def _choose_backend(settings: dict[str, Any], envs: Sequence[ResolvedEnv]) -> None:
    """Decide where environments run; refuse what those in this process cannot have."""
    needs_process = settings["workers"] or settings["step_timeout"]
    if settings["backend"] is None:
        # While a judge is asked, an environment holds up whoever shares its thread.
        suited = [*(env.backend for env in envs), *("thread" for env in envs if env.judges)]
        settings["backend"] = "process" if needs_process else max(suited, key=BACKENDS.index)
    for name in ("workers", "step_timeout"):
        if settings["backend"] == "sync" and settings[name] is not None:
            raise ConfigurationError(
                f"expected --{name.replace('_', '-')} only with --backend thread, "
                "process or ray, because nothing can stop or share out an environment that runs "
                f"in this process; got {settings[name]} with sync"
            )


def _engine(config: TrainConfig) -> str:
    """Return what generates: vLLM for a pretrained model where it is installed and a GPU is there.

    The keys and values of an engine of transformers take the whole context of every episode.
    """
    if config.engine is not None:
        return config.engine
    if config.model == TINY or config.memory.quantize != "none":
        return "hf"
    import torch

    has_vllm = torch.cuda.is_available() and importlib.util.find_spec("vllm") is not None
    return "vllm" if has_vllm else "hf"


def _check_template(config: TrainConfig) -> None:
    """Refuse a chat template for a model that is made with its own."""
    for name, value in (
        ("chat-template", config.chat_template),
        ("end-of-turn", config.end_of_turn),
    ):
        if value is not None and config.model == TINY:
            raise ConfigurationError(
                f"expected --{name} only with a pretrained --model, got {value!r:.80} with "
                f"{TINY!r}, which is made with a template of its own: leave it out"
            )


def _check_engine(config: TrainConfig, engine: str) -> None:
    """Refuse settings of vLLM that the chosen engine has no use for."""
    settings, server = config.vllm, engine == "vllm-server"
    if server and not settings.url:
        raise ConfigurationError(
            "expected --vllm.url, the address of a vLLM server such as http://127.0.0.1:8000, for "
            "--engine vllm-server, got none; --dry-run with any address shows how to start one"
        )
    if settings.url and not server:
        raise ConfigurationError(
            f"expected --vllm.url only with --engine vllm-server, got it with {engine}"
        )
    if settings.sleep and engine != "vllm":
        raise ConfigurationError(
            "expected --vllm.sleep only with --engine vllm, which shares the GPU with the "
            f"training, got it with {engine}"
        )
    if settings.sleep and config.rl.staleness:
        raise ConfigurationError(
            "expected --vllm.sleep only with --rl.staleness 0, because generation ahead of the "
            f"training goes on while that trains; got {config.rl.staleness}"
        )


def _divide(rl: dict[str, Any], preset: Preset) -> None:
    """Fill in how the episodes of a step are divided into updates."""
    groups, size, parts = rl["groups"], rl["num_generations"], rl["minibatches"]
    if size < 2 and preset.compares_groups:
        raise ConfigurationError(
            f"expected --rl.num-generations to be at least 2, because preset {preset.name!r} "
            f"compares the episodes of a task; got {size}"
        )
    if preset.branching is not None:
        preset.branching.leaves(size)
    episodes = groups * size
    if episodes < 2:
        raise ConfigurationError(
            "expected at least 2 episodes per step, got --rl.groups 1 and --rl.num-generations 1"
        )
    if parts is None:
        parts = largest_divisor(episodes, preset.minibatches)
    elif episodes % parts:
        raise ConfigurationError(
            f"expected --rl.minibatches to divide groups x num_generations = {episodes}, got "
            f"{parts}"
        )
    rl["minibatches"] = parts


def _fill_tokens(config: TrainConfig, rl: dict[str, Any], envs: Sequence[ResolvedEnv]) -> bool:
    """Fill in the token budgets; with thinking, the turns and not the tokens end an episode.

    Returns:
        Whether the model thinks, and therefore decides on them.
    """
    delegates = any(env.delegates for env in envs)
    is_open = rl["turn_tokens"] is None or rl["episode_tokens"] is None
    thinks = config.model != TINY and is_open and _thinks(config)
    if rl["turn_tokens"] is None:
        plain = max(env.defaults.turn_tokens for env in envs)
        plain = max(plain, DELEGATING_TURN) if delegates else plain
        rl["turn_tokens"] = THINKING_TURN if thinks else plain
    if rl["episode_tokens"] is None:
        most = max(env.defaults.episode_tokens for env in envs) * (1 + delegates)
        turns = max(env.most_turns for env in envs)
        rl["episode_tokens"] = most + (turns * rl["turn_tokens"] if thinks else 0)
    return thinks


def _thinks(config: TrainConfig) -> bool:
    """Return whether the model may think before it answers, as its chat template tells."""
    arguments = making.parse_pairs(config.template_args, "--template-args")
    try:
        source = model_source(config.model)
        tokenizer = read_tokenizer(source, config.chat_template, config.end_of_turn)
        return TurnTokenizer(tokenizer, template_kwargs=arguments).thinks
    except AgentGymError:
        raise  # A chat template that no conversation can be made with.
    except Exception:  # a model that cannot be loaded is named where it is looked at
        logger.debug("no tokenizer of %s to ask", config.model, exc_info=True)
        return False
