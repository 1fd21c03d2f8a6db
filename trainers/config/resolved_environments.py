"""Resolves the tasks, turns and rewards of each environment of a run.

Most runs have one. With several (``--env webshop,alfworld``) a setting comes from the environment's
entry in a file of settings, else from the flag, which applies to all, else from the preset, else
from the environment's family.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentgym.core.env import TextEnv
from agentgym.core.extensions import Extensions
from agentgym.errors import ConfigurationError
from agentgym.evaluation.demonstrations import make_shots
from agentgym.protocols.prompts import find_prompt
from agentgym.registration import making
from agentgym.rewards import parse_hooks
from trainers.algorithms.preset import Preset
from trainers.algorithms.schedule import parse_rounds
from trainers.config.family_defaults import FamilyDefaults, defaults_for, source_of
from trainers.config.layers import DEFAULT, FILE, PRESET
from trainers.config.model_grammar import ChosenGrammar, grammar_of_model
from trainers.config.own_parts import find_sampler, find_schedule, is_own
from trainers.config.resolved_env import TEST, TRAIN, VALID, ResolvedEnv, names_hook
from trainers.config.schema import TINY, TrainConfig
from trainers.config.sections import EnvConfig
from trainers.rollouts.task_feed import TrainingTasks, knows_oracle_lengths

__all__ = ["INVALID_PENALTY", "asked_names", "resolve_envs"]

logger = logging.getLogger(__name__)

SUCCESS_BONUS, INVALID_PENALTY = 1.0, 0.05
"""Default reward for solving the task, and default penalty for an invalid turn."""
RANDOM_GATE = 1.0
"""Target success when random actions are imitated: out of reach, so that the steps end it."""
STARTS = 20
"""Maximum number of tasks to try until one starts."""


def resolve_envs(config: TrainConfig, preset: Preset) -> tuple[ResolvedEnv, ...]:
    """Resolve the settings of a run's environments.

    Raises:
        AgentGymError: A setting names something that does not exist, is out of range, or
            contradicts another.
    """
    entries = _entries(config)
    names = _names(entries)
    arguments = _addressed(config.env_kwargs, names)
    envs = tuple(
        _Decision(config, preset, entry, name, arguments[name]).decide(len(entries) > 1)
        for entry, name in zip(entries, names, strict=True)
    )
    if preset.invalid_penalty is not None:
        named = [env.prices_invalid_by_hook for env in envs]
        if any(named) and not all(named):
            raise ConfigurationError(
                "expected the hook invalid_action for all environments or for none, because "
                f"preset {preset.name!r} prices invalid turns of all alike; got it for "
                f"{', '.join(env.name for env, has in zip(envs, named, strict=True) if has)} only"
            )
    return envs


def asked_names(config: TrainConfig) -> list[str]:
    """Return the names of a run's environments.

    Raises:
        ConfigurationError: There is no such environment, or two have the same name.
    """
    return _names(_entries(config))


def _entries(config: TrainConfig) -> list[EnvConfig]:
    """Return an entry for each requested environment."""
    parts = [part.strip() for part in config.env.split(",")]
    if not all(parts):
        raise ConfigurationError(
            "expected --env to be an environment such as webshop, or several separated by commas "
            f"such as webshop,alfworld; got {config.env!r}"
        )
    if [entry.env for entry in config.envs] == parts:
        return list(config.envs)
    # --env replaces the file's list, whose entries still apply to environments that both name.
    entries = {entry.env: entry for entry in config.envs}
    return [entries.get(part, EnvConfig(part)) for part in parts]


def _with_flags(entry: EnvConfig, config: TrainConfig) -> EnvConfig:
    """Return an entry whose open settings are filled from the flags."""
    names = ("horizon", "horizon_every", "horizon_gate", "fit_horizon", "reward_hooks")
    flags = {name: getattr(config, name) for name in names}
    flags["target_success"] = config.sft.target_success
    is_open = {name: value for name, value in flags.items() if getattr(entry, name) in (None, "")}
    return replace(entry, **is_open)


def _names(entries: Sequence[EnvConfig]) -> list[str]:
    """Return the name of each environment."""
    names = [entry.name or making.resolve(entry.env).short for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(
            f"expected environments of different names, got {twice[0]} twice; in a file of "
            "settings an entry of the list env may set its own name"
        )
    for name in names:
        if not name.replace("-", "_").isidentifier():
            raise ConfigurationError(
                "expected the name of an environment to be a word such as shop or shop-hard, got "
                f"{name!r}"
            )
    return names


def _addressed(pairs: Iterable[str], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read ``--env-kwargs``: for all environments, or for one as ``webshop.size=1000``."""
    for_all: list[str] = []
    of: dict[str, list[str]] = {name: [] for name in names}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        owner, dot, argument = key.partition(".")
        if not dot or not separator:
            for_all.append(pair)
        elif owner in of:
            of[owner].append(f"{argument}={value}")
        else:
            raise ConfigurationError(
                "expected --env-kwargs as name=value, or as ENV.name=value for one of "
                f"{', '.join(names)}; got {pair!r}"
            )
    common = making.parse_pairs(for_all, "--env-kwargs")
    return {
        name: {**common, **making.parse_pairs(own_pairs, "--env-kwargs")}
        for name, own_pairs in of.items()
    }


def _demonstrator(config: TrainConfig, expert: bool) -> str:
    """Return the demonstrator of an environment; empty if there is none."""
    if config.sft.episodes:
        return "episodes"
    return config.sft.demonstrator if expert or config.sft.demonstrator != "expert" else ""


def _with_those_of(preset: Preset, hooks: Sequence[str]) -> tuple[str, ...]:
    """Return reward hooks after those of the preset that ``hooks`` does not name itself."""
    return (
        *(
            hook
            for hook in preset.reward_hooks
            if not names_hook(hooks, parse_hooks([hook])[0].name)
        ),
        *hooks,
    )


class _Decision:
    """Resolves the settings of one environment."""

    def __init__(
        self,
        config: TrainConfig,
        preset: Preset,
        entry: EnvConfig,
        name: str,
        arguments: Mapping[str, Any],
    ) -> None:
        self._config, self._preset, self._name, self._listed = config, preset, name, entry
        self._entry = entry = _with_flags(entry, config)
        named = making.resolve(entry.env)
        self._family, self._env_id = named.family, named.id
        entry_arguments = making.parse_pairs(entry.env_kwargs, "env_kwargs")
        workers = {"worker_turns": preset.worker_turns} if preset.worker_turns else {}
        self._arguments = {**workers, **arguments, **entry_arguments}
        self._named = named
        self._prompt = find_prompt(
            config.prompt or self._defaults_of(config.quick).prompt, entry.env
        )
        # The prompt's grammar selects defaults just as a requested one does.
        self._grammar = self._chosen_grammar()
        grammar = {"grammar": self._grammar.name} if self._grammar.name else {}
        self._arguments = {**grammar, **self._arguments}
        self._defaults: FamilyDefaults = self._defaults_of(config.quick)
        self._hooks = _with_those_of(preset, entry.reward_hooks or ())

    def _chosen_grammar(self) -> ChosenGrammar:
        """Choose the grammar, and give the reason.

        Raises:
            ConfigurationError: Two grammars are requested.
        """
        config, prompt = self._config, self._prompt
        grammar = self._arguments.get("grammar")
        if config.grammar != "auto":
            if grammar not in (None, config.grammar):
                raise ConfigurationError(
                    f"expected one grammar, got {config.grammar} (--grammar) and {grammar} "
                    "(--env-kwargs); leave out one of them"
                )
            return ChosenGrammar(config.grammar, "")
        if grammar is not None:
            return ChosenGrammar("", "")
        if prompt.grammar:
            return ChosenGrammar(prompt.grammar, f"that of the prompt {prompt.name}")
        # A bare prompt does not explain a grammar, and external agents write their own messages.
        if config.model == TINY or prompt.name == "bare" or config.foreign_loop:
            return ChosenGrammar("", "")
        return grammar_of_model(
            config.model, config.template_args, config.chat_template, config.end_of_turn
        )

    def _defaults_of(self, quick: bool) -> FamilyDefaults:
        """Return the family's defaults for these tasks."""
        named, pretrained = self._named, self._config.model != TINY
        return defaults_for(named.family, self._arguments, quick, named.task_set, pretrained)

    def decide(self, several: bool) -> ResolvedEnv:
        """Resolve all settings; with ``several`` environments a shared one need not fit here."""
        config, defaults, entry = self._config, self._defaults, self._entry
        schedule = text if is_own(text := entry.horizon or "") else ""
        rounds, stage_steps, gate = self._own_stages(schedule) if schedule else self._stages()
        full = config.eval.horizon or max(rounds)
        prompt, kwargs = self._prompt, {**defaults.env, **self._arguments}
        kwargs.setdefault("horizon", full)
        bonus, penalty = self._prices()
        gate_of_start = entry.target_success
        if gate_of_start is None:
            is_random = config.sft.demonstrator == "random"
            gate_of_start = RANDOM_GATE if is_random else defaults.target_success
        # With the requested hooks, because an environment may refuse them.
        hooks = {"reward_hooks": parse_hooks(self._hooks)} if self._hooks else {}
        env = making.make_env(self._env_id, {**kwargs, **hooks}, "--env-kwargs")
        try:
            prompt.at(env)
            fit = self._fit(env)
            first = find_schedule(schedule)(1) if schedule else rounds[0]
            self._check_first_stage(env, fit, int(first))
            return ResolvedEnv(
                name=self._name,
                family=self._family,
                asked=entry.env,
                env_id=self._env_id,
                kwargs=kwargs,
                prompt=prompt.name,
                layout=prompt.layout.windowed(config.window).with_shots(
                    make_shots(env, config.shots, config.seed)
                ),
                weight=entry.weight,
                schedule=schedule,
                rounds=rounds,
                horizon_every=stage_steps,
                horizon_gate=gate,
                fit_horizon=fit,
                full_horizon=full,
                success_bonus=bonus,
                invalid_penalty=penalty,
                reward_hooks=self._hooks,
                target_success=gate_of_start,
                eval_tasks=self._panel_size(env, several),
                quick=config.quick,
                pretrained=config.model != TINY,
                has_expert=(expert := _has_expert(env)),
                validates=_has_split(env, VALID),
                demonstrator=_demonstrator(config, expert),
                sources=self._sources(),
                grammar=env.language.grammar,
                grammar_reason=self._grammar.reason,
            )
        finally:
            env.close()

    def _sources(self) -> dict[str, str]:
        """Return the source of each setting of an environment that flags leave open."""
        entry, stages = self._listed, self._preset.horizon
        usual = self._defaults_of(quick=False)

        def default(name: str) -> str:
            return source_of(name, self._defaults, usual, self._config.model != TINY)

        sources = {
            "horizon": PRESET if stages else default("horizon"),
            "horizon_every": PRESET if stages else default("horizon_every"),
            "fit_horizon": default("fit_horizon"),
            "sft.target_success": default("target_success"),
            "eval.num_tasks": default("eval_tasks"),
            "rl.success_bonus": DEFAULT,
        }
        listed = ("horizon", "horizon_every", "fit_horizon")
        sources |= {name: FILE for name in listed if getattr(entry, name) is not None}
        if entry.target_success is not None:
            sources["sft.target_success"] = FILE
        return {**sources, "eval.horizon": sources["horizon"]}

    def _stages(self) -> tuple[tuple[int, ...], int, float | None]:
        """Return the turns of each stage, the steps per stage, and the gate between stages."""
        entry, stages = self._entry, self._preset.horizon
        if entry.horizon is not None:
            rounds = parse_rounds(entry.horizon)
        else:
            turns = stages.rounds if stages else self._extended(self._defaults.horizon)
            rounds = _cut(turns, self._arguments.get("horizon"))
        if entry.horizon_gate is not None and len(rounds) < 2:
            raise ConfigurationError(
                "expected --horizon with several stages, such as 5,8,10, for --horizon-gate to "
                f"open; got {','.join(map(str, rounds))!r} for {self._name}"
            )
        steps = stages.every if stages else self._defaults.horizon_every
        return rounds, entry.horizon_every or steps, entry.horizon_gate

    def _own_stages(self, name: str) -> tuple[tuple[int, ...], int, None]:
        """Return the same for a user's schedule, which has stages of any kind."""
        for flag in ("horizon_every", "horizon_gate"):
            if (value := getattr(self._entry, flag)) is not None:
                raise ConfigurationError(
                    f"expected --{flag.replace('_', '-')} only with stages such as 5,8,10, because "
                    f"the schedule {name} decides itself when it moves on; got {value}"
                )
        return find_schedule(name).rounds, 1, None

    def _extended(self, rounds: tuple[int, ...]) -> tuple[int, ...]:
        """Return stages with further turns for repeated tries and for delegated parts."""
        arguments = {
            k: self._arguments[k] for k in ("worker_turns", "tries") if k in self._arguments
        }
        extensions = Extensions.of(**arguments)
        return tuple(extensions.horizon(extensions.turns(n) or n) for n in rounds)

    def _prices(self) -> tuple[float, float]:
        """Return the success bonus and the invalid penalty; check that none is set twice."""
        settings = self._config.rl
        for name, flag, value in (
            ("success_bonus", "--rl.success-bonus", settings.success_bonus),
            ("invalid_action", "--rl.invalid-penalty", settings.invalid_penalty),
        ):
            if value is not None and names_hook(self._hooks, name):
                raise ConfigurationError(
                    f"expected {name} in --reward-hooks or {flag}, got both; leave one out"
                )
        bonus = SUCCESS_BONUS if settings.success_bonus is None else settings.success_bonus
        penalty = INVALID_PENALTY if settings.invalid_penalty is None else settings.invalid_penalty
        if names_hook(self._hooks, "success_bonus"):
            bonus = 0.0
        # The preset subtracts the penalty from the packed batch instead.
        if names_hook(self._hooks, "invalid_action") or self._preset.invalid_penalty is not None:
            penalty = 0.0
        return bonus, penalty

    def _fit(self, env: TextEnv) -> bool:
        """Resolve ``fit_horizon``, which needs the lengths of the expert's plans."""
        tasks = env.tasks
        if not _has_split(env, TRAIN):
            raise ConfigurationError(
                f"expected tasks to train on, but all tasks of {tasks.name} are in "
                f"{' and '.join(tasks.splits)}; training needs a split {TRAIN}, which your data "
                "may name (tasks of Harbor and Inspect without splits are divided into three by "
                "--env-kwargs deal=true)"
            )
        if not _has_split(env, TEST):  # needed only at the end of the run
            raise ConfigurationError(
                f"expected the splits {TRAIN} and {TEST} (which compares policies), but "
                f"{tasks.name} has {' and '.join(tasks.splits)} alone; give two rows or more, or "
                f"name the split {TEST} in some of them"
            )
        has_lengths = knows_oracle_lengths(env.tasks, TRAIN)
        flag = self._entry.fit_horizon
        if flag and not has_lengths:
            raise ConfigurationError(
                "expected --fit-horizon only where the expert's plan lengths are known, but "
                f"{env.tasks.name} does not know them; pass --no-fit-horizon"
            )
        return has_lengths and self._defaults.fit_horizon if flag is None else flag

    def _check_first_stage(self, env: TextEnv, fit: bool, turns: int) -> None:
        """Check before the warm start that some task fits the first stage."""
        settings = self._config.rl
        sampler = find_sampler(settings.sampler or self._preset.sampler)
        groups = settings.groups or self._preset.groups or self._defaults.groups
        source = TrainingTasks(env.tasks, TRAIN, self._config.seed, fit, sampler, env.plan_horizon)
        source(1, groups, turns)

    def _panel_size(self, env: TextEnv, several: bool) -> int:
        """Return the number of evaluation tasks, which the test split must have."""
        size, num_tasks = env.tasks.len(TEST), self._config.eval.num_tasks
        if num_tasks is not None and num_tasks > size and not several:
            raise ConfigurationError(
                f"expected --eval.num-tasks of at most {size}, the size of the test split of "
                f"{env.tasks.name}; got {num_tasks}"
            )
        return min(self._defaults.eval_tasks if num_tasks is None else num_tasks, size)


def _cut(rounds: tuple[int, ...], horizon: object) -> tuple[int, ...]:
    """Cap stages at the requested horizon of the environment, if there is one."""
    if not isinstance(horizon, int) or horizon < 1:
        return rounds
    return tuple(dict.fromkeys(min(turns, horizon) for turns in rounds))


def _has_split(env: TextEnv, split: str) -> bool:
    """Return whether there is a split or an alias of this name."""
    return split in (*env.tasks.splits, *env.tasks.aliases)


def _has_expert(env: TextEnv) -> bool:
    """Return whether an expert knows an action in the first training task that starts."""
    for index in range(min(STARTS, env.tasks.len(TRAIN))):
        try:
            env.reset(seed=0, options={"split": TRAIN, "index": index})
        except Exception:
            logger.info("task %d of %s does not start", index, env.tasks.name, exc_info=True)
        else:
            return env.oracle_action() is not None
    return True  # The phases that play report the failure.
