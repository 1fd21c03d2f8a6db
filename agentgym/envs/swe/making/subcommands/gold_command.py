"""``agentgym swe gold``: compute in advance the values by which published tasks are graded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.core.options import integer
from agentgym.envs.swe.making.subcommands.image_commands import instances_of, open_rows
from agentgym.envs.swe.making.subcommands.progress import counted
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.envs.swe.grading.preparation import Prepared
    from agentgym.envs.swe.instance import Instance


@dataclass(frozen=True)
class PrepareGold:
    """Run the reference solutions of a published set, and store the values that its tests check.

    Hidden tests are then graded blinded: the expected values never enter a sandbox. Repeat the
    command to resume an interrupted run.
    """

    data: Positional[Path]
    """File or folder of rows, name of a set, or its id on the hub."""
    split: str | None = None
    """Split of the tasks. None: all of them."""
    num_tasks: int | None = None
    """Number of tasks, starting with the first. None: all of them."""
    sandbox: str = "auto"
    """Back end of the sandboxes, which must support images."""
    test_timeout: int = 1800
    """Time limit of a test run in seconds; a task needs up to seven runs."""
    pull: str = "missing"
    """When to pull images: missing, always or never."""
    data_set: str | None = None
    """Set of the rows, such as swe-gym. None: recognised by their fields."""
    image_mirror: str = ""
    """Registry and namespace to pull the images from instead of the original ones."""
    skip_broken_rows: bool = False
    """Skip and count unusable rows instead of stopping at the first."""


def gold(command: PrepareGold, console: Console) -> int:
    """Compute the values of instances; 1 if some fail."""
    from agentgym.core.options import choice
    from agentgym.envs.swe.grading.preparation import prepare
    from agentgym.envs.swe.instance_boxes import PULLS, Boxes
    from agentgym.sandbox.registry import check_name

    timeout = integer(command.test_timeout, "--test-timeout", 1)
    boxes = Boxes(check_name(command.sandbox), pull=choice(command.pull, "--pull", PULLS))
    rows = list(instances_of(open_rows(command), command.split))
    if command.num_tasks is not None:
        rows = rows[: integer(command.num_tasks, "--num-tasks", 1)]
    if rows:
        boxes.check(rows[0].source)
    with counted(console, "instances", len(rows), -1) as show:
        watch = lambda name: show(description=name, advance=1)  # noqa: E731
        gold_result = prepare(rows, boxes, timeout, watch)
    console.print(_table(rows, gold_result))
    for name, reason in gold_result.failed.items():
        say(console, f"failed: {name}: {reason}")
    if gold_result.untried:
        say(
            console,
            f"{len(gold_result.untried)} not tried, because several failed in a row; repeat the "
            "command to resume",
        )
    return int(bool(gold_result.failed))


def _table(rows: list[Instance], gold_result: Prepared) -> Table:
    """Return the evidence behind verdicts on instances."""
    from rich.table import Table

    from agentgym.envs.swe.grading.evidence import evidence_of

    table = Table("id", "evidence", "blinded tests", "of failing", "why not blinded")
    golds = {**gold_result.existing, **gold_result.created}
    for row in rows:
        row_gold = golds.get(row.id)
        if row_gold is not None:
            share = f"{row_gold.share(row):.2f}"
            counts = f"{len(row_gold.tests):,}", share
            table.add_row(*map(cell, (row.id, evidence_of(row), *counts, row_gold.reason)))
    return table
