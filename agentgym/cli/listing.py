"""``agentgym list``: which environments there are, and what those of other projects are called."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentgym.errors import AgentGymError
from agentgym.imports.imported_env import ImportedEnv
from agentgym.imports.table import IMPORTS, Import, offered
from agentgym.making import make_env, resolve
from agentgym.registration import EnvFamily, families
from agentgym.support.terminal import cell, printable

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.cli.arguments import List

READY = "ready"
"""Status of what can be opened."""


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
    # What is listed of a peer has no status; what was named has to open.
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
        yield f"  tasks: {sizes or 'unknown'}"
        yield f"  status: {row['status']}"
        yield from (f"  {line}" for line in (row["summary"], *row.get("limits", ())) if line)


def _print(rows: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.table import Column, Table

    whole = partial(Column, no_wrap=True)  # what a person copies is never cut
    table = Table(whole("name"), whole("id"), whole("tasks"), "status", "summary")
    for row in rows:
        sizes = "\n".join(f"{split} {size:,}" for split, size in row["splits"].items())
        table.add_row(row["name"], row["id"], sizes, cell(row["status"]), row["summary"])
    console.print(table)


def _print_imports(console: Console) -> None:
    from rich.table import Column, Table

    whole = partial(Column, no_wrap=True)
    table = Table(whole("environments of other projects"), "status", "summary")
    for prefix, kind in IMPORTS.items():
        table.add_row(f"{prefix}:{kind.form}", _lacks(kind) or READY, kind.summary)
    console.print(table)


def _lacks(what: EnvFamily | Import) -> str:
    """Say which extra is missing; empty if none is."""
    missing = any(find_spec(name) is None for name in what.packages)
    return f"needs the extra {what.extra}" if missing else ""


def _names(prefix: str) -> list[dict[str, Any]]:
    """Return what a peer knows by name; one that cannot say so has no rows."""
    return [{"name": f"{prefix}{name}"} for name in offered(prefix[:-1])]


def _of_family(entry: EnvFamily) -> dict[str, Any]:
    """Describe a family; sizes are known only where it can be made."""
    row = {"name": entry.name, "id": entry.id, "summary": entry.summary, "splits": {}}
    return {**row, "status": lacking} if (lacking := _lacks(entry)) else _made(row)


def _named(name: str) -> dict[str, Any]:
    """Describe the environment that a person named."""
    short, env_id = resolve(name)
    summary = next((entry.summary for entry in families() if entry.id == env_id), "")
    return _made({"name": short, "id": env_id, "summary": summary, "splits": {}})


def _made(row: dict[str, Any]) -> dict[str, Any]:
    """Make an environment to see how many tasks it has and what it cannot do."""
    try:
        env = make_env(row["id"], {}, "--env-kwargs")
    except AgentGymError as error:
        return {**row, "status": str(error)}
    row["splits"] = {split: env.tasks.len(split) for split in env.tasks.splits}
    limits = {"limits": list(env.limits)} if isinstance(env, ImportedEnv) else {}
    env.close()
    return {**row, "status": READY, **limits}
