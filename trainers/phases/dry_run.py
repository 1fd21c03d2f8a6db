"""What ``--dry-run`` shows of a run."""

from __future__ import annotations

from collections.abc import Collection

from rich.console import Console

from trainers.config.describe import describe
from trainers.config.schema import TrainConfig
from trainers.models.memory_plan import check_memory, memory_table, plan_memory
from trainers.models.threads import run_threads
from trainers.output.run_folder import RunFolder
from trainers.phases.start_checks import checked_run

__all__ = ["show_settings"]


def show_settings(config: TrainConfig, typed: Collection[str]) -> None:
    """Show the settings of a run, then raise every error that the run would raise.

    Args:
        config: The settings.
        typed: Those given by flags.
    """
    run, console = checked_run(config, folder=False), Console()
    plan = plan_memory(run)
    console.print(describe(config, run, typed), memory_table(run, plan), sep="\n")
    console.print(f"threads: {run_threads(run)}", highlight=False)
    if run.config.engine.endswith("-server"):
        from trainers.phases.rollout_setup import server_command

        console.print("server:", server_command(run), soft_wrap=True, highlight=False)
    check_memory(plan)
    RunFolder(run.config.out).check(config, run.resolved())
