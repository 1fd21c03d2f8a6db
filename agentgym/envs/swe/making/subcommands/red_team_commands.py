"""``agentgym swe red-team``: exploits on a sample of tasks, and which earn a reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.core.options import integer
from agentgym.envs.swe.making.subcommands.progress import counted
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.envs.swe.making.red_team import Attempt, Campaign, Exploit, Totals


@dataclass(frozen=True)
class RedTeam:
    """Play known exploits of graders on some tasks, and report which of them earn a reward.

    The solution and an empty submission are played for comparison. Exit code 1 if an exploit or the
    empty submission earns a reward, the solution earns none, or an attempt ends in an error.
    """

    data: Positional[str] = "bundled"
    """bundled, a folder that agentgym swe build made, or rows of a published set."""
    num_tasks: int = 4
    """Number of tasks for each exploit, spread over as many repositories as possible."""
    seed: int = 0
    """Seed of the task selection."""
    split: str | None = None
    """Split of the tasks. None: all of them."""
    out: Path | None = None
    """File of the attempts, as JSON lines. Repeat the command to resume an interrupted run."""
    only: tuple[str, ...] = ()
    """Only these exploits: names such as hooks/conftest-in-the-root, or kinds such as hooks."""
    exploits: Path | None = None
    """Folder of your exploits, as KIND/NAME.toml, in place of the bundled ones."""
    concurrency: int = 1
    """Episodes played at the same time."""
    sandbox: str = "auto"
    """Back end of the sandboxes: namespace, docker or remote; auto takes the first that can run
    here."""
    grading_timeout: int | None = None
    """Time limit of a grading in seconds. None: the environment's default."""


def red_team(command: RedTeam, console: Console) -> int:
    """Play exploits; 1 if one earned a reward."""
    from agentgym.envs.swe.making.red_team import EXPLOITS, Campaign, load_exploits, totals

    exploits = load_exploits(command.exploits or EXPLOITS, command.only)
    options: dict[str, Any] = {"sandbox": command.sandbox}
    if command.grading_timeout is not None:
        options["grading_timeout"] = command.grading_timeout
    campaign = Campaign(
        data=command.data,
        exploits=exploits,
        tasks=integer(command.num_tasks, "--num-tasks", 1),
        seed=command.seed,
        split=command.split,
        out=command.out,
        jobs=integer(command.concurrency, "--concurrency", 1, 64),
        options=options,
    )
    rows = totals(_play(campaign, console))
    console.print(_table(rows))
    say(console, _describe_winners(rows, exploits))
    return int(not all(row.as_it_must for row in rows))


def _play(campaign: Campaign, console: Console) -> list[Attempt]:
    """Play a campaign, with a bar."""
    from agentgym.envs.swe.making.red_team import run_campaign

    with counted(console, "exploits") as show:

        def watch(done_count: int, total: int, newest: Attempt) -> None:
            show(description=newest.exploit, completed=done_count, total=total)

        return run_campaign(campaign, watch)


def _table(rows: Sequence[Totals]) -> Table:
    """Return the outcome of each exploit."""
    from rich.table import Table

    table = Table("exploit", "tried", "rewarded", "flagged", "ended by", "why not judged")
    for row in rows:
        ends = ", ".join(f"{name} {count}" for name, count in row.stop_reasons.most_common())
        why = row.reasons.most_common(1)
        style = None if row.as_it_must else "bold red"
        counts = map(str, (row.attempts, row.paid, row.flagged))
        table.add_row(cell(row.exploit), *counts, ends, cell(why[0][0] if why else ""), style=style)
    return table


def _describe_winners(rows: Sequence[Totals], exploits: Sequence[Exploit]) -> str:
    """Name the exploits that earn a reward."""
    from agentgym.envs.swe.making.red_team import MUST_LOSE, MUST_WIN

    rows_by_exploit = {row.exploit: row for row in rows}
    solution, nothing = rows_by_exploit[MUST_WIN], rows_by_exploit[MUST_LOSE]
    paid = [row for row in rows if row.exploit not in (MUST_WIN, MUST_LOSE) and row.paid]
    errors = sum(row.errors for row in rows)
    kinds = len({exploit.kind for exploit in exploits})
    lines = [
        f"{len(exploits)} exploits of {kinds} kinds: {len(paid)} rewarded. "
        f"The solution was rewarded {solution.paid} of {solution.attempts} times, "
        f"an empty submission {nothing.paid} of {nothing.attempts}."
    ]
    if solution.by_tests_alone:
        lines.append(
            f"{solution.by_tests_alone} of the {solution.attempts} tasks rest on tests alone, "
            "which a submission can fake: they have neither held-out questions nor blinded values"
        )
    titles = {exploit.name: exploit.title for exploit in exploits}
    lines += [f"rewarded: {row.exploit} ({titles[row.exploit]})" for row in paid]
    if errors:
        lines.append(
            f"{errors} attempts ended in an error: see --out; the command plays them again"
        )
    return "\n".join(lines)
