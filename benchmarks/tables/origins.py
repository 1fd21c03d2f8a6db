"""The provenance of each result: command, commit, seeds and tasks."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from benchmarks.provenance import drawn
from benchmarks.tables.formats import Table, commit_of, result
from benchmarks.tables.reports import REPORTS

COMMANDS = {
    "async_training.json": "python benchmarks/async_training.py --engines hf-copy vllm-server "
    "--delays 0 --pairs 2 --seeds 0 1 --train-steps 40",
    "core_overhead.json": "python benchmarks/core_overhead.py",
    "rollout_overlap.json": "python benchmarks/rollout_overlap.py --repeats 5",
    "sandbox.json": "python benchmarks/sandbox.py",
    "search_engines.json": "python benchmarks/search_engines.py --million",
    "trainer_overhead.json": "python benchmarks/trainer_overhead.py",
    "trainer_profile.json": "python benchmarks/trainer_profile.py",
    "large_model_cpu.json": "python benchmarks/large_model.py --engines hf vllm --ranks 0 16 "
    "--groups 1",
    "search_chains_training_gain.json": "python benchmarks/training_gain.py --env search --jobs 1",
    "webshop_training_gain_5_7_9.json": "python benchmarks/training_gain.py --env webshop",
}
"""Commands of results that store none."""
MEASURED = "measured"
"""Suffix of the entries with the provenance of a result or a part of it."""
PLACES = ("--out", "--results", "--rows", "--log", "--jobs", "--told", "--helper")
"""Options that name output files, and remarks."""
SWITCHES = ("--collect", "--replace")
LONGEST = 120
"""Maximum characters of a command in a table; the result has all of it."""


def origins_table(report: str) -> Table:
    """Return a row for each result of a report, with parts from other commits.

    Args:
        report: Name of a report.
    """
    table = [["result", "command", "commit", "seeds", "n"]]
    for name in REPORTS[report]:
        content = result(name)
        figures = {key: value for key, value in content.items() if not key.endswith(MEASURED)}
        counted = drawn(figures)
        cells = [", ".join(map(str, counted.get(key, ()))) for key in ("seeds", "n")]
        link = f"[`{name}`](../results/{name})"
        table.append([link, f"`{_shortened(command_of(name))}`", _commits(content), *cells])
    return table


def blocks(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the provenance of a result's parts, by name.

    The unnamed part is everything that has no separate entry.
    """
    return {
        key.removesuffix(MEASURED).rstrip("_"): value
        for key, value in content.items()
        if key.endswith(MEASURED)
    }


def command_of(name: str) -> str:
    """Return the command of a result, without output folders.

    Args:
        name: Name of a result file; its entry ``measured`` has the whole command.
    """
    command: str = result(name)["measured"].get("command") or COMMANDS.get(name, "")
    if " benchmarks" not in command:
        return command
    words = iter(shlex.split(command))
    remaining = []
    for word in words:
        if word in PLACES:
            next(words)
        elif word not in SWITCHES:
            remaining.append(word)
    return shlex.join(remaining)


def _shortened(command: str) -> str:
    """Cut a command after a word if it is too long for a table."""
    if len(command) <= LONGEST:
        return command
    return f"{command[:LONGEST].rpartition(' ')[0]} ..."


def _commits(content: Mapping[str, Any]) -> str:
    """Write the commits of a result: of its runs if several, and of its parts."""
    measured = blocks(content)
    commits = sorted(commit[:7] for commit in content.get("commits", ()))
    if not commits or commits == [commit_of(measured[""])]:
        commits = [commit_of(measured[""])]
    parts = (f"{commit_of(value)} (`{part}`)" for part, value in measured.items() if part)
    return ", ".join([*commits, *parts])
