"""``agentgym doctor``: what works on this machine, and the commands that bring the rest."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table

from agentgym.cli.abilities import Ability, abilities, play_each, system_note
from agentgym.cli.arguments import Doctor
from agentgym.cli.doctor import Check, examine, install_command
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console

SANDBOX = "sandbox "
"""Begins the names of the checks of sandboxes."""
BUNDLED = ": bundled tasks"
"""Ends the names of the abilities of families."""


def show(command: Doctor, console: Console) -> int:
    """Examine the installation and print the findings; return the exit code."""
    checks = examine()
    boxes = [check for check in checks if check.name.startswith(SANDBOX)]
    sandbox = any(check.ok for check in boxes)
    able = list(abilities(sandbox))
    vital = any(check.vital for check in checks)
    if command.json:
        rows = [*map(asdict, checks), *map(_as_check, able)]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return int(vital)
    say(console, "The core is broken." if vital else "The core is fine.")
    if note := system_note():
        say(console, note)
    if command.all:
        console.print(_abilities(able, boxes))
        console.print(_packages([check for check in checks if check not in boxes]))
    else:
        console.print(_in_short(checks, able, boxes))
    for fix, groups in _fixes(checks, able, command.all).items():
        needed = "needed" if "core" in groups else "optional"
        say(console, f"{', '.join(groups)} ({needed}):\n  {fix}")
    if not command.all:
        say(console, "agentgym doctor --all shows every package, and each extra's command.")
    return max(int(vital), _play_families(console, sandbox) if command.play and not vital else 0)


def _as_check(able: Ability) -> dict[str, object]:
    """Return an ability in the form of a check, for programs."""
    lines = [*able.commands, *([install_command(able.extra)] if able.extra else [])]
    name, detail, fix = able.name, able.problem or "can be done here", " && ".join(lines)
    return {"group": able.group, "name": name, "ok": able.ok, "detail": detail, "fix": fix}


def _abilities(able: Sequence[Ability], boxes: Sequence[Check]) -> Table:
    """One row for each thing that can be done here, or not."""
    table = Table("here", "what", "what is missing")
    rows = [(ability.group, ability.name, ability.problem) for ability in able]
    rows += [("sandbox", box.name, "" if box.ok else box.detail) for box in boxes]
    for (group, name, problem), (following, *_) in zip(rows, [*rows[1:], ("",)], strict=True):
        state = "[yellow]no[/]" if problem else "[green]yes[/]"
        table.add_row(state, cell(name), cell(problem), end_section=group != following)
    return table


def _in_short(checks: Sequence[Check], able: Sequence[Ability], boxes: Sequence[Check]) -> Table:
    """Say what can be done here, and in a row each what cannot."""
    works: dict[str, list[str]] = {}
    for ability in able:
        if ability.ok:
            works.setdefault(ability.group, []).append(ability.name.removesuffix(BUNDLED))
    works["sandbox"] = [box.name.removeprefix(SANDBOX) for box in boxes if box.ok]
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for group, names in works.items():
        table.add_row(f"[green]{group}[/]", cell(", ".join(names) or "none"))
    for ability in able:
        if not ability.ok:
            table.add_row("[yellow]missing[/]", cell(f"{ability.name}: {ability.problem}"))
    for check in checks:
        if check.group in ("core", "machine") and not check.ok:
            state = "[red]broken[/]" if check.vital else "[yellow]missing[/]"
            # Reasons of sandboxes are long: show the missing parts first.
            table.add_row(state, cell(f"{check.name} {check.detail}".partition(";")[0]))
    absent = [extra for extra, group in _rows(checks).items() if not all(c.ok for c in group)]
    extras = [name for name in absent if name not in ("core", "machine")]
    table.add_row("extras", cell(f"not complete: {', '.join(extras)}" if extras else "all there"))
    return table


def _packages(checks: Sequence[Check]) -> Table:
    """One row for the core, for each extra and for the machine."""
    table = Table("", "packages", "found")
    for name, group in _rows(checks).items():
        bad = any(check.vital for check in group)
        good = all(check.ok for check in group)
        some = any(check.ok for check in group)
        lacking = "[red]broken[/]" if bad else f"[yellow]{'partly' if some else 'missing'}[/]"
        table.add_row("[green]ok[/]" if good else lacking, name, cell(_summarize_checks(group)))
    return table


def _summarize_checks(group: Sequence[Check]) -> str:
    """List the findings, each once; parts that are missing for the same reason are grouped."""
    present = dict.fromkeys(f"{check.name} {check.detail}" for check in group if check.ok)
    lacking: dict[str, list[str]] = {}
    for check in group:
        if not check.ok and check.name not in lacking.setdefault(check.detail, []):
            lacking[check.detail].append(check.name)
    parts = [", ".join(present), *(f"{', '.join(names)} {why}" for why, names in lacking.items())]
    return "; ".join(filter(None, parts))


def _rows(checks: Sequence[Check]) -> dict[str, list[Check]]:
    """Put the checks of a group together, in the order in which groups come."""
    rows: dict[str, list[Check]] = {}
    for check in checks:
        rows.setdefault(check.group, []).append(check)
    return rows


def _fixes(
    checks: Sequence[Check], able: Sequence[Ability], all_extras: bool
) -> dict[str, list[str]]:
    """Group what is missing by the command that installs it, in the order to type them.

    Unless ``all_extras`` fix is asked for, one line stands for those of all extras.
    """
    fixes: dict[str, list[str]] = {}
    for ability in able:
        for line in ability.commands:
            fixes.setdefault(line, []).append(ability.name)
    for check in checks:
        subject = check.name if check.group == "machine" else check.group
        extra = check.group not in ("core", "machine")
        if extra and not all_extras and check.fix == install_command(subject):
            fixes[install_command("EXTRA")] = ["an extra"]
            continue
        if check.fix and subject not in fixes.setdefault(check.fix, []):
            fixes[check.fix].append(subject)
    return fixes


def _play_families(console: Console, sandbox: bool) -> int:
    """Let each family's expert play a task, print the results, and return the exit code."""
    failed = 0
    for name, problem in play_each(sandbox):
        failed += bool(problem)
        say(console, f"{name}: {problem or 'the expert solved a task'}")
    return int(failed > 0)
