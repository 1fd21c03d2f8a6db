"""``agentgym swe build`` and ``list``: make tasks from libraries, and list the tasks of a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentgym.core.options import integer
from agentgym.errors import ConfigurationError, DataError
from agentgym.support.flag_marks import Positional
from agentgym.support.terminal import cell, say

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentgym.envs.swe.making.task_builder import BuildProgress, Watch


Kind = Literal[
    "mutation",
    "two-faults",
    "removed-feature",
    "changed-interface",
    "moved-function",
    "missing-validation",
    "regression",
    "all",
    "versions",
]
"""Values of ``--kind``."""


@dataclass(frozen=True)
class Build:
    """Make SWE tasks from Python libraries: changes of their source, or pairs of releases."""

    library: Positional[tuple[str, ...]]
    """Source of the tasks: a requirement such as toolz==1.2.0, whose source distribution pip
    downloads, a source distribution file, a folder, or installed:NAME. For --kind versions, two or
    more releases of one library from old to new. bundled and bundled-tokens rebuild the tasks that
    come with the package."""
    out: Path
    """Folder of the tasks. Repeat the command to resume an interrupted run."""
    kind: tuple[Kind, ...] = ("mutation",)
    """Kinds of tasks. mutation: one wrong token; two-faults: two of them in different files;
    removed-feature: a function to reimplement; changed-interface: a parameter renamed or two
    swapped in all files; moved-function: imports from its old module; missing-validation: guards
    removed; all: each of these but mutation; regression: the patches of --regressions; versions,
    only alone: the tests of a release on the source of its predecessor."""
    regressions: Path | None = None
    """Folder of patches for --kind regression, each of which adds a regression to the library."""
    release_before: str = ""
    """Release before these regressions, which the issues name, such as 1.3."""
    num_tasks: int = 50
    """Maximum number of tasks per library, divided evenly among kinds. Not for versions."""
    seed: int = 0
    """Seed of the faults and of the wording."""
    sandbox: str = "auto"
    """Back end of the sandboxes: namespace, docker or remote; auto takes the first that can run
    here."""
    test_timeout: float = 120.0
    """Time limit of a test run in seconds."""
    held_out: bool = True
    """Make held-out questions for every task, which a repair has to answer like the original
    source. Without them only the visible tests decide."""


@dataclass(frozen=True)
class List:
    """List SWE tasks with repository, tests, evidence of verdicts, and issue."""

    data: Positional[str] = "bundled"
    """bundled, bundled-tokens, a folder that agentgym swe build made, or rows of a published
    set."""
    split: str | None = None
    """Split of the tasks. None: all of them."""
    num_tasks: int = 50
    """Maximum number of tasks to list per split."""


def build(command: Build, console: Console) -> int:
    """Make tasks from libraries, and print the outcome."""
    from agentgym.support.progress_bars import FittedProgress

    with FittedProgress(console, transient=True) as bar:
        bar_task = bar.begin("tests of the sound library", None)

        def watch(state: BuildProgress) -> None:
            bar.update(
                bar_task,
                description=state.library,
                total=state.target,
                completed=state.usable,
                values=f"{state.trials} tried",
            )

        rows = _build(command, watch)
    console.print(_yield(rows))
    total = sum(row.usable for row in rows)
    if total and command.held_out:
        _ask(command, console)
    if not total:
        raise DataError(
            f"expected tasks from {', '.join(command.library)}, got none; the outcome of each "
            f"trial is in {command.out / 'trials.jsonl'}"
        )
    say(console, f"{total} tasks in {command.out}{_splits(command)}. Next:")
    for use in ("play swe", "certify swe", "eval swe --policy oracle", "train --env swe"):
        say(console, f"  agentgym {use} --env-kwargs data={command.out}")
    return 0


def _splits(command: Build) -> str:
    """Describe the number of tasks per split; a rebuild of the bundled tasks has other folders."""
    from agentgym.envs.swe.tasks import INDEX, Source, open_instances

    if not (command.out / INDEX).is_file():
        return ""
    instances = open_instances(Source(command.out))
    return f" ({', '.join(f'{split} {instances.len(split)}' for split in instances.splits)})"


def _build(command: Build, watch: Watch) -> list[BuildProgress]:
    """Make the tasks of a command."""
    from agentgym.envs.swe.instance_boxes import Boxes
    from agentgym.envs.swe.making.bundled_sets import TASKS, build_bundled, frozen_text
    from agentgym.envs.swe.making.library_sources import obtain
    from agentgym.envs.swe.making.task_builder import build_tasks
    from agentgym.envs.swe.making.versions import build_versions

    if command.num_tasks < 1:
        raise ConfigurationError(f"expected --num-tasks to be at least 1, got {command.num_tasks}")
    boxes = Boxes(sandbox=command.sandbox)
    common: dict[str, Any] = {"boxes": boxes, "watch": watch}
    kinds = _kinds(command)
    if len(command.library) == 1 and command.library[0] in TASKS:
        rows = build_bundled(command.out, command.library[0], limit=command.num_tasks, **common)
        (command.out / "mutations.jsonl").write_text(frozen_text(command.out), "utf-8")
        return rows
    common |= {"seed": command.seed, "timeout": command.test_timeout}
    folders = [obtain(library, command.out / "sources") for library in command.library]
    if not kinds:
        return [build_versions(folders, command.out, **common)]
    if "regression" in kinds:
        common["regressions"] = _patches(command)
        common["release_before"] = command.release_before
    return [build_tasks(folder, command.out, kinds, **common) for folder in folders]


def _patches(command: Build) -> Path:
    """Return the folder of the regressions of a library.

    Raises:
        ConfigurationError: There is no such folder, or there are several libraries.
    """
    folder = command.regressions
    if folder is None or not any(folder.glob("*.patch")) or len(command.library) > 1:
        raise ConfigurationError(
            "expected --kind regression with one library and --regressions FOLDER, a folder of "
            f"*.patch files that each add a regression to it; got {len(command.library)} and "
            f"{folder or 'no folder'}"
        )
    return folder


def _kinds(command: Build) -> dict[str, int]:
    """Return the maximum number of tasks of each kind; empty for pairs of releases.

    Raises:
        ConfigurationError: Pairs of releases and other kinds are requested at once.
    """
    from agentgym.envs.swe.making.kinds import LARGER

    if "versions" in command.kind:
        if len(command.kind) > 1:
            raise ConfigurationError(
                f"expected --kind versions alone, got {' '.join(command.kind)}; call the command "
                "once for releases and once for the other kinds, with another --out"
            )
        return {}
    names: dict[str, None] = dict.fromkeys(command.kind)
    if "all" in names:
        names = dict.fromkeys(LARGER)
    per_kind, more = divmod(command.num_tasks, len(names))
    counts = {name: per_kind + (place < more) for place, name in enumerate(names)}
    return {name: count for name, count in counts.items() if count}


def _ask(command: Build, console: Console) -> None:
    """Make the held-out questions of the tasks, and report tasks with too few."""
    from agentgym.envs.swe.instance_boxes import Boxes
    from agentgym.envs.swe.making.banks import BankProgress, build_banks
    from agentgym.envs.swe.making.bundled_sets import TASKS, bundled_folders, collect_banks
    from agentgym.support.progress_bars import FittedProgress

    bundled = command.library[0] in TASKS
    folders = bundled_folders(command.out) if bundled else [command.out]
    lacking: list[str] = []
    with FittedProgress(console, transient=True) as bar:
        for folder in folders:
            bar_task = bar.begin(f"held-out questions of {folder.name}", None)

            def watch(state: BankProgress, bar_task: Any = bar_task) -> None:
                bar.update(bar_task, total=state.total, completed=state.done)

            questions_by_task = build_banks(
                folder, boxes=Boxes(sandbox=command.sandbox), watch=watch
            )
            lacking += [
                task for task, questions in questions_by_task.items() if not questions.enough
            ]
    if bundled:
        collect_banks(command.out)
    if lacking:
        say(console, f"too few held-out questions detect the fault of {', '.join(lacking)}")


def _yield(rows: Sequence[BuildProgress]) -> Table:
    """Return the outcome of libraries as a table."""
    from rich.table import Table

    from agentgym.envs.swe.making.task_builder import summary

    names = ("tests", "flaky", "candidates", "tried", "usable", "share", "s each")
    table = Table("library", box=None, padding=(0, 2, 0, 0), caption_justify="left")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    notes = []
    for library, *figures, other_outcomes in summary(rows):
        table.add_row(*map(cell, (library, *figures)))
        notes += [f"{library}, not usable: {other_outcomes}"] if other_outcomes else []
    table.caption = cell("\n".join(notes))
    return table


def list_tasks(command: List, console: Console) -> int:
    """List the tasks of a set."""
    from rich.table import Table

    from agentgym.envs.swe.grading.evidence import evidence_of
    from agentgym.envs.swe.tasks import Source, open_instances

    limit = integer(command.num_tasks, "--num-tasks", 1)
    instances = open_instances(Source(command.data))
    table = Table("split", box=None, padding=(0, 2, 1, 0))
    table.add_column("id, issue", ratio=1)
    for name in ("failing", "passing", "evidence"):
        table.add_column(name, no_wrap=True)
    for split in (command.split,) if command.split else instances.splits:
        for index in range(min(limit, instances.len(split))):
            instance = instances.instance(split, index)
            counts = f"{len(instance.fail_to_pass):,}", f"{len(instance.pass_to_pass):,}"
            title = instance.statement.strip().partition("\n")[0][:100]
            cells = (split, f"{instance.id}\n{title}", *counts, evidence_of(instance))
            table.add_row(*map(cell, cells))
    console.print(table)
    for split in instances.splits:
        console.print(f"{split}: {instances.len(split):,} tasks")
    return 0
