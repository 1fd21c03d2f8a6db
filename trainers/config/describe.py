"""A resolved run in words, for a person to read before it begins."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from agentgym.rewards.judge.terms import AskingHook
from agentgym.support.redaction import for_others
from agentgym.support.terminal import cell
from trainers.algorithms.preset import NEEDS, SERVES, Preset
from trainers.algorithms.presets import PRESETS
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_environments import ResolvedEnv
from trainers.config.schema import TINY, TrainConfig

NOT_SHOWN = ("resume", "out", "envs")


def describe(asked: TrainConfig, run: ResolvedRun) -> RenderableType:
    """Lay out every setting of a run and whether it was asked for or decided."""
    config = run.config
    sentences = [
        *(sentence for env in run.envs for sentence in _environment(run, env)),
        f"warm start: {_warm_start(run)}",
        f"reinforcement learning: {config.steps} steps of {config.rl.groups} tasks x "
        f"{config.rl.num_generations} episodes with {run.preset.name!r}"
        + (f", at most {config.minutes:g} minutes in all" if config.minutes else "")
        + (f", of a budget of {' '.join(config.budget)}" if config.budget else ""),
        f"folder: {config.out} (nothing was written)",
    ]
    table = Table("setting", "value", "from", title="every setting")
    for name, value, given in _rows(asked, config, ""):
        table.add_row(name, cell(value), "you" if given else "default")
    return Group(*map(cell, sentences), table)


def describe_presets() -> RenderableType:
    """Lay out every preset: its method, its paper, its parts, and whether it runs."""
    names = ("preset", "method", "arXiv", "parts", "runs, or lacks")
    table = Table(*names, box=None, padding=(0, 2, 1, 0))
    for preset in PRESETS.values():
        lacks = [NEEDS[need] for need in preset.missing(SERVES)] + list(preset.left_out)
        cells = (preset.name, preset.title, preset.arxiv or "-", ", ".join(parts_in_words(preset)))
        runs = f"runs without {preset.omits}" if preset.omits else "runs"
        table.add_row(*cells, ", ".join(lacks) or runs)
    return table


def parts_in_words(preset: Preset) -> Iterator[str]:
    """Say what a preset is made of: each part by its class and what differs from its defaults."""
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
    """Write a part as it would be made in Python, without its defaults."""
    cls = type(part).__name__
    if not dataclasses.is_dataclass(part):
        return cls
    given = [
        (item.name, getattr(part, item.name))
        for item in dataclasses.fields(part)
        if getattr(part, item.name) != item.default
    ]
    fields = [
        _part(value) if dataclasses.is_dataclass(value) else f"{name}={value!r}"
        for name, value in given
    ]
    return f"{cls}({', '.join(fields)})"


def _environment(run: ResolvedRun, env: ResolvedEnv) -> Iterator[str]:
    """Say what an environment is, and how it is trained on and compared in."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in env.shown_kwargs.items())
    hooks = ", ".join(hook.name for hook in env.make_hooks())
    weights = sum(each.weight for each in run.envs)
    share = f", {env.weight / weights:.0%} of the tasks" if run.several else ""
    yield f"{env.label if run.several else env.title}: {env.env_id} ({arguments}){share}"
    yield f"  horizon {horizon_in_words(env)}"
    yield f"  rewards paid in training only: {hooks or 'none'}"
    for hook in env.judges:
        if isinstance(hook, AskingHook):
            yield (
                f"  {hook.name} is asked of {hook.model}: at most {hook.calls:,} questions and "
                f"{hook.tokens:,} tokens in each process"
            )
    yield f"  evaluation: {env.eval_tasks} held-out tasks, {env.full_horizon} turns"


def _warm_start(run: ResolvedRun) -> str:
    """Say how the policy begins."""
    sft, model = run.config.sft, run.config.model
    origin = "a policy from scratch" if model == TINY else model
    if not sft.max_steps:
        return f"none, from {origin}"
    gates = " and ".join(
        f"{env.target_success:g} of the validation tasks" + (f" of {env.name}" * run.several)
        for env in run.envs
        if env.demonstrator
    )
    if sft.demonstrator == "random":
        return f"{origin}, {sft.max_steps} steps on {sft.demonstrations} episodes of random actions"
    shown = (
        f"{sft.demonstrations or 'all'} {'recorded episodes' if sft.episodes else 'demonstrations'}"
    )
    return f"{origin}, at most {sft.max_steps} steps on {shown}, until {gates} are solved"


def horizon_in_words(env: ResolvedEnv) -> str:
    """Say how many turns an agent may take, and when that changes."""
    rounds = ", ".join(map(str, env.rounds))
    if env.schedule:
        return f"{rounds}, as {env.schedule} says"
    if len(env.rounds) == 1:
        return rounds
    every = env.horizon_every
    if env.horizon_gate is None:
        return f"{rounds}, each for {every} step{'s' if every > 1 else ''}"
    return f"{rounds}, the next when {env.horizon_gate:g} of the episodes of {every} steps succeed"


def _rows(asked: Any, config: Any, prefix: str) -> list[tuple[str, str, bool]]:
    """Return flag, value and whether it was asked for, of all settings."""
    rows: list[tuple[str, str, bool]] = []
    for item in dataclasses.fields(asked):
        value, given = getattr(config, item.name), getattr(asked, item.name)
        name = prefix + item.name.replace("_", "-")
        if dataclasses.is_dataclass(value):
            rows += _rows(given, value, f"{name}.")
        elif name not in NOT_SHOWN:
            parts = value if isinstance(value, tuple) else ("-" if value is None else value,)
            text = " ".join(for_others([*map(str, parts)]))
            rows.append((f"--{name}", text, given != _default(item)))
    return rows


def _default(item: dataclasses.Field[Any]) -> object:
    """Return what a setting is if nobody says anything."""
    return None if item.default is dataclasses.MISSING else item.default
