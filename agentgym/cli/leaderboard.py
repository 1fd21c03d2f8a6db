"""``agentgym leaderboard``: verify entries, seal and open panels."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agentgym.cli.leaderboard_arguments import OpenPanel, SealPanel, VerifyEntries
from agentgym.cli.record_files import progress
from agentgym.errors import ConfigurationError
from agentgym.registration.making import parse_pairs
from agentgym.support.terminal import say

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.evaluation.entries import EntryVerdict, OpenedPanel


def _verify(command: VerifyEntries, console: Console) -> int:
    """Verify entries; return 1 if one is not accepted."""
    from agentgym.evaluation.entries import OpenedPanel, entries_page, verify_entries
    from agentgym.evaluation.suites.suite_folder import reports_at
    from agentgym.support.caching import write_atomically

    panel = OpenedPanel.read(command.panel) if command.panel else None
    paths = [entry for path in command.entries for entry in reports_at(path)]
    if not paths:
        raise ConfigurationError("expected the folder of an evaluation, or several, got none")
    verdicts = []
    for path in paths:
        file = (path if path.is_dir() else path.parent) / "episodes.jsonl"
        with progress(file, console, f"verifying {path.name}", silent=command.json) as advance:
            verdicts += verify_entries(
                [path],
                panel=panel,
                env=command.env,
                workers=command.workers,
                on_episode=advance,
            )
    if command.page:
        command.page.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(command.page, entries_page(verdicts).encode())
    if command.json:
        rows = [verdict.to_dict() for verdict in verdicts]
        sys.stdout.write(json.dumps(rows, indent=2, allow_nan=False) + "\n")
    else:
        for verdict in verdicts:
            say(console, _sentence(verdict))
    return int(any(verdict.entry is None for verdict in verdicts))


def _sentence(verdict: EntryVerdict) -> str:
    """Return a verdict in a sentence."""
    from agentgym.evaluation.entries.page import panel_facts
    from agentgym.evaluation.reports.report_tables import headline

    if verdict.entry is None:
        word = "refused" if verdict.place else "not verified"
        return f"{verdict.path.name}: {word}: {verdict.problem}"
    report = verdict.entry.report
    floors = ""
    if report.scale and report.scale.random is not None:
        expert = report.scale.expert
        floors = f", random {report.scale.random:.3f}"
        floors += "" if expert is None else f", expert {expert:.3f}"
    return (
        f"{verdict.path.name}: verified: {report.policy}, {headline(report)}{floors}, on "
        f"{'; '.join(panel_facts(verdict.entry))}; entry {verdict.entry.sha256[:16]}"
    )


def _seal(command: SealPanel, console: Console) -> int:
    """Seal a panel."""
    from agentgym.evaluation.entries import seal_panel

    opened = seal_panel(
        command.env,
        command.split,
        command.num_tasks,
        horizon=command.horizon,
        env_kwargs=parse_pairs(command.env_kwargs, "--env-kwargs"),
    )
    opened.write(command.out / "opening.json")
    (command.out / "opening.json").chmod(0o600)
    opened.seal().write(command.out / "sealed.json")
    say(
        console,
        f"commitment {opened.commitment}\nPublish {command.out / 'sealed.json'} now. Keep "
        f"{command.out / 'opening.json'} secret until the tasks may be known, then publish it too.",
    )
    return 0


def _open(command: OpenPanel, console: Console) -> int:
    """Open a panel."""
    from agentgym.evaluation.entries import OpenedPanel, SealedPanel, open_panel

    opened = open_panel(SealedPanel.read(command.sealed), OpenedPanel.read(command.opening))
    if command.json:
        sys.stdout.write(json.dumps(opened.to_dict(), indent=2) + "\n")
    else:
        say(
            console,
            f"The opening is what was sealed as {opened.commitment}: {opened.num_tasks:,} tasks, "
            f"panel {opened.panel_sha256[:16]}. Play it with\n{_eval_command(opened)}",
        )
    return 0


def _eval_command(opened: OpenedPanel) -> str:
    """Return the command that plays an opened panel."""
    words = ["agentgym", "eval", opened.env_id, "--split", opened.split]
    words += ["--num-tasks", str(opened.num_tasks), "--seed", str(opened.seed)]
    if opened.horizon is not None:
        words += ["--horizon", str(opened.horizon)]
    for name, value in opened.env_kwargs.items():
        words += ["--env-kwargs", f"{name}={json.dumps(value)}"]
    return shlex.join([*words, "--policy", "POLICY", "--out", "ENTRY"])


ACTIONS: Mapping[type, Callable[[Any, Console], int]] = {
    VerifyEntries: _verify,
    SealPanel: _seal,
    OpenPanel: _open,
}
"""What each subcommand does."""
