"""The description of a resolved run before it starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table

from agentgym.rewards.judge.terms import AskingHook
from agentgym.support.nested import flat
from agentgym.support.terminal import cell
from trainers import processes
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import PRESETS, get_preset, served
from trainers.config.config_file import RESOLVED, stored_settings
from trainers.config.family_defaults import ENOUGH
from trainers.config.layers import DEFAULT, FILE, FLAG
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.config.schema import TINY, TrainConfig, to_dict
from trainers.methods.table import methods

NOT_SHOWN = ("env", "resume", "out", "envs", "seed")
"""Settings that the sentences above the table cover, or that are not part of the run."""


def describe(
    settings: TrainConfig, run: ResolvedRun, typed: Collection[str] = ()
) -> RenderableType:
    """Describe the settings of a run and their sources.

    Args:
        settings: The settings as given by flags and file.
        run: The resolved run.
        typed: Dotted names of the settings that flags set.
    """
    config = run.config
    sentences = [
        *(sentence for env in run.envs for sentence in _environment(run, env)),
        f"warm start: {_warm_start(run)}",
        f"reinforcement learning: {config.steps} steps of {config.rl.groups} tasks x "
        f"{config.rl.num_generations} episodes with {run.preset.name!r}"
        + (f", at most {config.minutes:g} minutes in all" if config.minutes else "")
        + (f", of a budget of {' '.join(config.budget)}" if config.budget else ""),
        f"seed {config.seed}, folder: {config.out} (nothing was written)",
    ]
    title = "settings; those that are off or do not apply are left out"
    table = Table("setting", "value", "from", title=title)
    for row in settings_rows(settings, run, typed):
        table.add_row(f"--{row.flag}", cell(row.text), row.source)
    return Group(*map(cell, sentences), table)


class SettingsRow(NamedTuple):
    """A setting of a run."""

    name: str
    """Its name with dots, as in ``config.yaml``, such as ``rl.learning_rate``."""
    value: Any
    """Its value, as ``config.yaml`` holds it."""
    source: str
    """Its source, one of `trainers.config.layers`."""

    @property
    def flag(self) -> str:
        """The flag without its leading hyphens."""
        return self.name.replace("_", "-")

    @property
    def text(self) -> str:
        """The value as a flag takes it."""
        values = self.value if isinstance(self.value, list | tuple) else [self.value]
        return " ".join(map(_number_or_text, values))


def settings_rows(
    config: TrainConfig, run: ResolvedRun, typed: Collection[str] = ()
) -> Iterator[SettingsRow]:
    """Yield the settings that take effect in a run, with their values as in ``config.yaml``.

    Args:
        config: The settings as given by flags and file.
        run: The resolved run.
        typed: Dotted names of the settings that flags set.
    """
    settings, usual = flat(to_dict(config)), flat(to_dict(TrainConfig(config.env)))
    stored = stored_settings(config, run.resolved())
    decided = flat(stored.pop(RESOLVED))
    used = flat(stored)
    left_out = _without_use(run)
    for name, value in used.items():
        value = decided.get(name, value)
        section, dot, _ = name.partition(".")
        if name in NOT_SHOWN or (dot and section in left_out) or name in left_out:
            continue
        if value is None or value in ((), [], "", "none"):
            continue
        if name in typed:
            source = FLAG
        elif settings[name] != usual[name]:
            source = FILE
        else:
            source = run.sources.get(name, DEFAULT)
        yield SettingsRow(name, value, source)


def _without_use(run: ResolvedRun) -> frozenset[str]:
    """Return the sections and settings that a run does not read."""
    config, needs = run.config, run.preset.needs
    tiny, vllm = config.model == TINY, config.engine in ("vllm", "vllm-server")
    without = {
        "tiny": not tiny,
        "lora": tiny,
        "vllm": not vllm,
        "sglang": config.engine != "sglang-server",
        "sft": not run.imitates,
        "rollout.rank_timeout": processes.world() == 1,
        "push_to_hub": config.push_to_hub is None,
        "hub_private": config.push_to_hub is None,
        "horizon_every": len(run.envs) == 1 and len(run.envs[0].rounds) == 1,
        "sft.copy_steps": not tiny,
        "sft.teacher": not config.sft.rounds,
        "sft.round_tasks": not config.sft.rounds,
        "sft.round_steps": not config.sft.rounds,
        "sft.beta": config.sft.weights == "none",
        "rl.turn_budget": not config.rl.turn_budget,
        "rl.price_rate": not config.rl.price_rate,
    }
    names = [name for name, unused in without.items() if unused]
    for method in methods():
        if method.needs and not {*method.needs} & {*needs}:
            names.append(method.name)
        names += [f"{method.name}.{name}" for name in method.unread(run.preset, config)]
    return frozenset(names)


def _number_or_text(value: Any) -> str:
    """Format a number in its shortest form."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def describe_presets() -> RenderableType:
    """Return a table with a row per preset: its name, its method and its paper."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("preset", no_wrap=True)
    table.add_column("method")
    table.add_column("arXiv", no_wrap=True)
    for preset in PRESETS.values():
        table.add_row(preset.name, preset.title, preset.arxiv or "-")
    return table


def describe_preset(name: str) -> Iterator[str]:
    """Describe a preset: its method, its paper, each of its parts, and whether it runs."""
    preset = get_preset(name)
    yield preset.name
    yield f"  method: {preset.title}"
    yield f"  arXiv: {preset.arxiv or '-'}"
    yield "  parts:"
    yield from (f"    {part}" for part in parts_in_words(preset))
    lacks = [need.description for need in preset.missing(served(preset))] + list(preset.left_out)
    if lacks:
        yield f"  lacks: {', '.join(lacks)}"
    else:
        yield f"  runs without {preset.omits}" if preset.omits else "  runs"


def parts_in_words(preset: Preset) -> Iterator[str]:
    """Describe the parts of a preset: each class, with the fields that differ from its defaults."""
    parts = (
        *preset.terms, preset.post, preset.loss, *preset.filters, *preset.shapers,
        preset.pool, preset.branching,
    )  # fmt: skip
    for part in parts:
        if part is not None:
            yield _part(part)
    yield from preset.reward_hooks
    if preset.worker_turns:
        yield f"workers: {preset.worker_turns} turns"
    if preset.sampler != "uniform":
        yield f"tasks: {preset.sampler}"
    if preset.refill:
        yield f"refill: {preset.refill}"


def _part(part: Any) -> str:
    """Format a part as a Python expression, without defaults."""
    cls = type(part).__name__
    if not dataclasses.is_dataclass(part):
        return cls
    changes = [
        (item.name, getattr(part, item.name))
        for item in dataclasses.fields(part)
        if getattr(part, item.name) != item.default
    ]
    fields = [
        _part(value) if dataclasses.is_dataclass(value) else f"{name}={value!r}"
        for name, value in changes
    ]
    return f"{cls}({', '.join(fields)})"


def _environment(run: ResolvedRun, env: ResolvedEnv) -> Iterator[str]:
    """Describe an environment, its use in training and its evaluation."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in env.shown_kwargs.items())
    hooks = ", ".join(hook.name for hook in env.make_hooks())
    weights = sum(member.weight for member in run.envs)
    share = f", {env.weight / weights:.0%} of the tasks" if run.several else ""
    yield f"{env.label if run.several else env.title}: {env.env_id} ({arguments}){share}"
    reason = f": {env.grammar_reason}" if env.grammar_reason else ""
    yield f"  actions are written in the grammar {env.grammar}{reason}"
    if shots := env.layout.shots:
        turns = [turn for shot in shots for turn in shot.turns]
        length = sum(len(turn.observation) + len(turn.action) for turn in turns)
        yield f"  prompt with {len(shots)} worked examples, {length:,} characters"
    yield f"  horizon {horizon_in_words(env)}"
    yield f"  rewards in training only: {hooks or 'none'}"
    for hook in env.judges:
        if isinstance(hook, AskingHook):
            yield (
                f"  {hook.name} asks {hook.model}: at most {hook.calls:,} questions and "
                f"{hook.tokens:,} tokens in each process"
            )
    yield f"  evaluation: {env.eval_tasks} held-out tasks, {env.full_horizon} turns"


def _warm_start(run: ResolvedRun) -> str:
    """Describe the warm start."""
    sft, model = run.config.sft, run.config.model
    origin = "a policy from scratch" if model == TINY else model
    if not sft.max_steps:
        return f"none, from {origin}"
    if run.warm_start_if_needed:
        origin += f", if it solves fewer than {ENOUGH:.0%} of {sft.eval_tasks} validation tasks"
    gates = " and ".join(
        f"{env.target_success:g} of the validation tasks" + (f" of {env.name}" * run.several)
        for env in run.envs
        if env.demonstrator
    )
    if sft.demonstrator == "random":
        return f"{origin}, {sft.max_steps} steps on {sft.demonstrations} episodes of random actions"
    amount = (
        f"{sft.demonstrations or 'all'} {'recorded episodes' if sft.episodes else 'demonstrations'}"
    )
    return f"{origin}, at most {sft.max_steps} steps on {amount}, until {gates} are solved"


def horizon_in_words(env: ResolvedEnv) -> str:
    """Describe the turns of each stage, and when the next one begins."""
    rounds = ", ".join(map(str, env.rounds))
    if env.schedule:
        return f"{rounds}, as {env.schedule} says"
    if len(env.rounds) == 1:
        return rounds
    steps = env.horizon_every
    if env.horizon_gate is None:
        return f"{rounds}, each for {steps} step{'s' if steps > 1 else ''}"
    return f"{rounds}, the next when {env.horizon_gate:g} of the episodes of {steps} steps succeed"
