"""One thing has one flag in all commands, and one flag means one thing in each of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest

from agentgym.cli.parsing import subcommands
from agentgym.support.flag_hints import synonyms
from agentgym.support.help_page import FlagHelp, flag_rows

trainer = pytest.importorskip("trainers.commands", reason="the trainer's flags need its packages")

MEANINGS: Mapping[str, str] = {
    "agent": r"^Agent ",
    "backend": r"^Where environments run",
    "chart": r"PNG or SVG file",
    "concurrency": r"^Episodes played at the same time",
    "config": r"^YAML (or TOML )?file of settings",
    "data": r"^File or folder of rows",
    "data-set": r"^Set of the rows",
    "dry-run": r"[Ss]how (what|every setting)",
    "env": r"^Environment|of the environment that was recorded",
    "env-kwargs": r"[Aa]rguments of the environment",
    "grammar": r"^How actions are written",
    "horizon": r"^Turn budget|^Turns that an agent may take",
    "host": r"^Address to listen on",
    "idle-timeout": r"^Seconds without a request",
    "image-mirror": r"^Registry",
    "json": r"^Print JSON",
    "max-envs": r"^Most environments at a time",
    "max-episodes": r"^Most episodes to read",
    "max-size": r"^Total size|^Size to keep",
    "model": r"[Nn]ame of the model|pretrained chat model",
    "num-tasks": r"[Nn]umber of tasks|[Tt]asks (of|to)",
    "open": r"^Open the page in the browser",
    "otel": r"^Send OpenTelemetry spans",
    "out": r"[Ff]older|[Ff]ile|page",
    "owner": r"^Your account or organization",
    "port": r"^Port to listen on",
    "prompt": r"[Ww]hat the model reads|^What a model reads|^Prompt",
    "public": r"^With --upload",
    "reward-hooks": r"[Rr]eward hooks|[Tt]urn-level rewards",
    "sandbox": r"^Back end of the sandboxes",
    "seed": r"[Ss]eed of",
    "shots": r"^Worked examples",
    "skip-broken-rows": r"^Skip and count",
    "split": r"^Splits? (of|to)|tasks of this split",
    "step-timeout": r"^Seconds that an environment may take for one turn",
    "temperature": r"^Sampling temperature",
    "test-timeout": r"^Time limit of a test run in seconds",
    "token": r"^Ask clients for a token",
    "top-p": r"^Nucleus",
    "trust": r"^Allow a file to name this code or data",
    "upload": r"^Also upload the folder",
    "window": r"[Ll]ast turns that the (policy|model) reads",
    "workers": r"^(Processes that play at the same time|Threads, processes or actors)",
}
"""What a flag of several commands means: each of their texts says so."""
ONE_NAME: Mapping[str, str] = {
    "env-kwargs": r"^(Further |Keyword )?[Aa]rguments of the environment",
    "policy-kwargs": r"^Options of a policy",
    "reward-hooks": r"[Tt]urn-level rewards",
    "window": r"[Ll]ast turns that the (policy|model) reads|turns of history",
    "backend": r"^Where environments run",
    "step-timeout": r"[Ss]econds that (an environment|one step)",
    "temperature": r"^Sampling temperature",
    "top-p": r"^Nucleus",
    "trust": r"^Allow a file to name this code or data",
    "config": r"file of settings",
    "num-tasks": r"^Number of tasks|^Tasks to (check|play)|^How many tasks",
    "max-episodes": r"^Most episodes (to read|of each file)|^Only the first episodes",
    "max-images": r"^Maximum number of images",
    "only-successes": r"^(Keep|Leave out|Take).* (solved|did not solve) their task",
    "hints": r"^Show the expert's next action",
    "max-envs": r"^(Most|How many) environments",
    "max-sandboxes": r"^(Most|How many) sandboxes",
    "idle-timeout": r"^Seconds (without a request|after which .* closed)",
    "concurrency": r"^Episodes (played )?at",
    "learning-rate": r"^(Peak )?[Ll]earning rate",
    "num-generations": r"^Episodes of each task in|^Episodes per task",
    "warmup-steps": r"^(Steps of the )?[Ww]arm-?up|^Steps .* learning rate rises",
    "json": r"^Print JSON",
    "port": r"^Port",
    "host": r"^Address to listen",
    "split": r"^Splits? of",
    "seed": r"^Seed of",
    "grammar": r"^How actions are written",
}
"""The one flag of a thing, of which these words speak."""
REASONS: Mapping[str, str] = {
    "eval --max-tokens": "the endpoint's own word; of the trainer's budgets one is of a turn",
    "merge --method": "how weights are merged, no method of learning",
    "index --index": "the search engine, an argument of the environment that has this name",
    "synth --generator-seed": "the environment's argument, beside its seed of episodes",
    "train --horizon": "a number in every command; training also takes a schedule, in words",
}
"""Flags that one of the rules would refuse, and why they stay."""


def all_commands() -> dict[str, type]:
    """Return the arguments of every command, by what is typed for it."""
    added = {"train": trainer.TRAIN, "presets": trainer.PRESETS, "merge": trainer.MERGE}
    return {**subcommands(), **{name: command.arguments() for name, command in added.items()}}


def flags_of(commands: Mapping[str, type]) -> dict[str, dict[str, FlagHelp]]:
    """Return the flags by name, without dashes, and by the command that has them."""
    flags: dict[str, dict[str, FlagHelp]] = defaultdict(dict)
    for command, arguments in commands.items():
        for row in flag_rows(arguments):
            flags["env" if row.flag == "ENV" else row.flag.removeprefix("--")][command] = row
    return {name: rows for name, rows in flags.items() if not name.isupper()}


def family(kind: Any) -> str:
    """Return what people type for a value: text, a number, nothing."""
    if get_origin(kind) is tuple:
        return family(get_args(kind)[0])
    if get_origin(kind) is Literal or kind in (str, Path):
        return "text"
    if get_origin(kind) is not None:
        kinds = {family(part) for part in get_args(kind) if part is not NoneType}
        return "text" if "text" in kinds else kinds.pop()
    return {int: "number", float: "number", bool: "switch"}[kind]


def two_names(commands: Mapping[str, type]) -> list[str]:
    """Return the flags that are another word for what has a flag already."""
    problems = []
    for name, rows in flags_of(commands).items():
        last = name.rpartition(".")[2]
        for command, row in rows.items():
            spot = f"{command} --{name}"
            names = [flag for flag, words in ONE_NAME.items() if re.search(words, row.text)]
            if names and last not in names and spot not in REASONS:
                problems.append(f"{spot} is --{names[0]}: {row.text:.60}")
            if name in synonyms() and spot not in REASONS:
                problems.append(f"{spot} is hinted at as another's word for {synonyms()[name]}")
    return problems


def two_meanings(commands: Mapping[str, type]) -> list[str]:
    """Return the flags of several commands that do not mean the same in all of them."""
    problems = []
    for name, rows in flags_of(commands).items():
        if len(rows) < 2:
            continue
        for command, row in rows.items():
            if not re.search(MEANINGS.get(name, r"^\b$"), row.text):
                problems.append(f"{command} --{name} means something else: {row.text:.60}")
        typed = {
            family(row.kind)
            for command, row in rows.items()
            if f"{command} --{name}" not in REASONS
        }
        if len(typed) > 1:
            problems.append(f"--{name} is typed in several ways: {sorted(typed)}")
    return problems


def test_one_thing_has_one_name() -> None:
    assert two_names(all_commands()) == []


def test_one_name_has_one_meaning() -> None:
    assert two_meanings(all_commands()) == []


def test_the_tables_speak_of_flags_that_exist() -> None:
    flags = flags_of(all_commands())
    shared = {name for name, rows in flags.items() if len(rows) > 1}
    last = {name.rpartition(".")[2] for name in flags}
    assert {*MEANINGS} == shared and {*ONE_NAME} <= last
    used = {f"{command} --{name}" for name, rows in flags.items() for command in rows}
    assert {*REASONS} <= used


def test_the_pairs_that_readers_found_are_gone() -> None:
    old_flags = (
        "set policy-set hooks rl.hooks rollout.window rollout.backend rl.temperature rl.top-p "
        "file n limit eval.tasks only-success oracle most idle lease doors lr rl.lr sft.lr "
        "critic.lr rl.kl rl.group-size rl.clip-low rl.clip-high rl.iterations rl.warmup "
        "sft.gate-success"
    )
    assert not {*old_flags.split()} & {*flags_of(all_commands())}


@dataclass(frozen=True)
class Planted:
    """A command that names known things by other words."""

    set: tuple[str, ...] = ()
    """Arguments of the environment as name=value."""
    tasks: int = 1
    """Number of tasks to play."""
    out: int = 0
    """Folder of the run."""
    budget: str = ""
    """Size of the cache."""
    lr: float = 0.1
    """Peak learning rate."""


def planted(problems: Iterable[str]) -> set[str]:
    return {word.rstrip(":") for line in problems for word in line.split() if word.startswith("--")}


def test_a_planted_duplicate_is_found() -> None:
    commands = {**all_commands(), "planted": Planted}
    names = [line for line in two_names(commands) if line.startswith("planted ")]
    assert {line.split()[1] for line in names} == {"--set", "--tasks", "--lr"}
    meanings = two_meanings(commands)
    assert any(line.startswith("planted --budget means something else") for line in meanings)
    assert "--out is typed in several ways: ['number', 'text']" in meanings
