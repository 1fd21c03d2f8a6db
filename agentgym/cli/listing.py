"""``agentgym list``: list the environments of the suite and of other projects."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentgym.errors import AgentGymError
from agentgym.interop.imported_env import ImportedEnv
from agentgym.registration import EnvFamily, families
from agentgym.registration.imports import IMPORTS, Import, offered
from agentgym.registration.making import make_env, resolve
from agentgym.support.terminal import cell, printable

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import List

READY = "ready"
"""Status of an environment that can be made."""
ROOM = (0, 2, 1, 0)
"""Cells above, right of, below and left of what stands in a table."""


def show(command: List, console: Console) -> int:
    """Print the families and the kinds of imports, or what was asked for by name.

    Returns:
        1 if something that was named cannot be opened, else 0.
    """
    rows: list[dict[str, Any]] = []
    for name in command.names:
        if name.endswith(":") and name[:-1] in IMPORTS:
            rows += _names(name)
        else:
            rows.append(_named(name))
    if not command.names:
        rows = [_of_family(entry) for entry in families()]
    # Listed environments of other projects have no status; a named one is actually made.
    code = int(any(row.get("status", READY) != READY for row in rows)) if command.names else 0
    if command.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return code
    if not command.names:
        _print(rows, console)
        _print_imports(console)
    for row in rows if command.names else ():
        sys.stdout.write("".join(f"{printable(line)}\n" for line in _lines(row)))
    return code


def _lines(row: dict[str, Any]) -> Iterator[str]:
    """Describe what was asked for by name: a line for what is only listed, more for the rest."""
    yield row["name"]
    if "id" in row:
        sizes = ", ".join(f"{split} {size:,}" for split, size in row["splits"].items())
        yield f"  id: {row['id']}"
        if arguments := row.get("env_kwargs"):
            yield "  arguments: " + " ".join(f"{k}={v}" for k, v in arguments.items())
        yield f"  tasks: {sizes or 'unknown'}"
        yield f"  status: {row['status']}"
        yield from (f"  {line}" for line in (row["summary"], *row.get("limits", ())) if line)
        if data := row.get("data"):
            yield f"  with --env-kwargs data=PATH: {data}"
        if sets := row.get("task_sets"):
            yield "  task sets, which can be used like names of environments:"
            yield from (f"    {name}: {summary}" for name, summary in sets.items())
            yield f"    agentgym train {row['name']} uses {row['training_set']}"


def _print(rows: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.table import Column, Table

    uncut = partial(Column, no_wrap=True)  # names and commands must stay copyable
    table = Table(uncut("name"), "summary", uncut("tasks"), "status", box=None, padding=ROOM)
    for row in rows:
        sizes = "\n".join(f"{split} {size:,}" for split, size in row["splits"].items())
        suffixes = "".join(f"\n{name.removeprefix(row['name'])}" for name in row["task_sets"])
        table.add_row(cell(row["name"] + suffixes), row["summary"], sizes, cell(row["status"]))
    console.print(table)
    example = next((row for row in rows if len(row["task_sets"]) > 1), None)
    if example is not None:
        name, several = example["name"], list(example["task_sets"])
        console.print(
            f"Task sets are listed below a name, as in {several[-1]}; {name} alone is "
            f"{several[0]}, but agentgym train {name} is {example['training_set']}. "
            f"agentgym list {name} tells more, such as the Gymnasium id.\n",
            markup=False,
            highlight=False,
        )


def _print_imports(console: Console) -> None:
    from rich.table import Column, Table

    uncut = partial(Column, no_wrap=True)
    table = Table(uncut("of others"), "summary", "status", box=None, padding=ROOM)
    for prefix, kind in IMPORTS.items():
        table.add_row(f"{prefix}:{kind.form}", kind.summary, _lacks(kind) or READY)
    console.print(table)


def _lacks(entry: EnvFamily | Import) -> str:
    """Return a note on the missing extra; empty if none is missing."""
    missing = any(find_spec(name) is None for name in entry.packages)
    return f"needs the extra {entry.extra}" if missing else ""


def _names(prefix: str) -> list[dict[str, Any]]:
    """Return the environments that another project lists; empty if it cannot list them."""
    return [{"name": f"{prefix}{name}"} for name in offered(prefix[:-1])]


def _of_family(entry: EnvFamily) -> dict[str, Any]:
    """Describe a family; sizes are known only where it can be made."""
    row = {"name": entry.name, "id": entry.id, "summary": entry.summary, "splits": {}}
    row |= _task_sets(entry)
    return {**row, "status": lacking} if (lacking := _lacks(entry)) else _make_row(row, {})


def _task_sets(entry: EnvFamily) -> dict[str, Any]:
    """Describe the named task sets of a family."""
    return {
        "task_sets": {
            f"{entry.name}:{task_set.name}": task_set.summary for task_set in entry.all_task_sets
        },
        "training_set": f"{entry.name}:{entry.training_set.name}",
    }


def _named(name: str) -> dict[str, Any]:
    """Describe the environment that a person named."""
    named = resolve(name)
    entry = next((entry for entry in families() if entry.id == named.id), None)
    row: dict[str, Any] = {"name": named.short, "id": named.id, "splits": {}}
    if entry is None:
        return _make_row({**row, "summary": ""}, named.kwargs)
    if not named.task_set:
        row |= {"summary": entry.summary, "data": entry.data, **_task_sets(entry)}
        return _make_row(row, named.kwargs)
    called = f"{entry.name}:{named.task_set}"
    row |= {"name": called, "summary": entry.task_set(named.task_set).summary}
    row["env_kwargs"] = dict(named.kwargs)
    return _make_row(row, named.kwargs)


def _make_row(row: dict[str, Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Make an environment to find its numbers of tasks and its limitations."""
    try:
        env = make_env(row["id"], kwargs, "--env-kwargs")
    except AgentGymError as error:
        return {**row, "status": str(error)}
    row["splits"] = {split: env.tasks.len(split) for split in env.tasks.splits}
    limits = {"limits": list(env.limits)} if isinstance(env, ImportedEnv) else {}
    env.close()
    return {**row, "status": READY, **limits}
