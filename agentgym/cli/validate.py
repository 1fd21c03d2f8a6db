"""``agentgym validate``: check tasks, and show the findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentgym.cli.advice import in_flags
from agentgym.errors import ConfigurationError
from agentgym.registration.making import make_named, parse_pairs
from agentgym.support.terminal import printable

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from agentgym.cli.arguments import Validate
    from agentgym.evaluation.validation import Finding

SHOWN = 20
"""Maximum number of failing tasks shown; the file contains all."""


def validate(command: Validate, console: Console) -> int:
    """Check tasks, show the findings, and return 1 if a task fails."""
    from agentgym.evaluation.validation import validate
    from agentgym.support.progress_bars import FittedProgress

    _write(command.failing, ())  # before a long run, not after it
    arguments = parse_pairs(command.env_kwargs, "--env-kwargs")
    env = make_named(command.env, arguments, "--env-kwargs")
    try:
        with FittedProgress(console, transient=True) as bar:
            bar_task = bar.begin("episodes", None)
            validation = validate(
                env,
                command.split,
                command.num_tasks,
                command.seed,
                blind_tasks=command.blind_tasks,
                blind_limit=command.blind_limit,
                concurrency=command.concurrency,
                on_episode=lambda row: bar.advance(bar_task),
                on_plan=lambda episodes: bar.update(bar_task, total=episodes),
            )
    finally:
        env.close()
    console.print(validation.table())
    _tell(validation.failing[:SHOWN], console)
    if len(validation.failing) > SHOWN:
        console.print(f"... and {len(validation.failing) - SHOWN:,} more")
    _write(command.failing, validation.failing)
    _tell(validation.unsound, console)
    console.print(str(validation))
    return int(not validation.passed)


def _tell(findings: Sequence[Finding], console: Console) -> None:
    for finding in findings:
        console.print(in_flags(printable(str(finding))), markup=False, soft_wrap=True)


def _write(file: Path | None, failing: Sequence[Finding]) -> None:
    """Write the ids of failing tasks to the file that was asked for."""
    if file is None:
        return
    try:
        file.write_text("".join(f"{finding.subject}\n" for finding in failing), "utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"expected a file that can be written, got {file}: {error.strerror}"
        ) from error
