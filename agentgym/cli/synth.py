"""``agentgym synth``: check a specification, and describe its tasks."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from agentgym.authoring.synth.making import make, open_specification
from agentgym.core.options import integer
from agentgym.support.terminal import cell, printable

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import Synth


def check(command: Synth, console: Console) -> int:
    """Draw and solve tasks of a specification, and show the lengths of their solutions.

    Raises:
        AgentGymError: The specification is invalid, or has no tasks.
    """
    from rich.table import Table

    from agentgym.support.progress_bars import FittedProgress

    spec = open_specification(command.spec)
    n = integer(command.num_tasks, "--num-tasks", 1)
    table = Table("split", "tasks", "drawn", "different", "turns of the expert: tasks", "states")
    env = make(command.spec, generator_seed=integer(command.generator_seed, "--generator-seed", 0))
    tasks = env.synth_tasks
    with FittedProgress(console, transient=True) as bar:
        bar_task = bar.begin("tasks", len(tasks.splits) * min(n, tasks.len("test")))
        for split in tasks.splits:
            turns, contents, max_turns = Counter[int](), set[str](), 0
            for index in range(min(n, tasks.len(split))):
                task = tasks.task(split, index)
                problem = tasks.problem(task)
                turns[tasks.oracle_turns(task) or 0] += 1
                contents.add(str(problem.content))
                max_turns = max(max_turns, problem.solution.states)
                bar.advance(bar_task)
            lengths = ", ".join(f"{length}: {count}" for length, count in sorted(turns.items()))
            row = (
                split,
                f"{tasks.len(split):,}",
                turns.total(),
                len(contents),
                lengths,
                f"{max_turns:,}",
            )
            table.add_row(*map(cell, map(str, row)))
    env.close()
    chance = "with chance" if spec.chancy else "without chance"
    console.print(
        printable(
            f"{spec.name}: {spec.summary}\n{len(spec.tools)} tools {chance}, {len(spec.facts)} "
            f"facts, {len(spec.goals)} goals; horizon {spec.horizon}"
        ),
        markup=False, highlight=False,
    )  # fmt: skip
    console.print(table)
    name = shlex.quote(f"synth:{command.spec}")
    for line in ("agentgym play", "agentgym certify", "agentgym train"):
        console.print(f"{line} {name}", markup=False, highlight=False, soft_wrap=True)
    return 0
