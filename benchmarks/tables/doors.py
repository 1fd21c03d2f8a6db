"""The table of the number of equal tasks through each interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentgym.registration import FAMILIES
from benchmarks.tables.formats import Table, result

INTERFACES = {
    "http": "AgentGym's calls over HTTP",
    "mcp1": "MCP, both transports",
    "mcp2": "MCP, both transports",
    "openenv": "OpenEnv",
    "trl": "TRL",
    "talks": "as SkyRL and verl-agent talk",
    "verifiers": "verifiers",
    "inspect": "Inspect",
    "harbor": "Harbor",
}
"""Name in the benchmark -> the interface in words."""


def doors_table() -> Table:
    """Return a row per interface: the number of tasks with equal episodes."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(_rows(), key=lambda row: (row.get("first", 0), row["tasks"])):
        best_row = best.get((row["door"], row["env"]), {"tasks": 0, "tests": {}})
        # Differences in the first tasks must not be hidden by later rows.
        if row.get("first", 0) <= best_row["tasks"] < row["tasks"] and not _differing(best_row):
            best[row["door"], row["env"]] = row
    table = [["interface", *(entry.name for entry in FAMILIES)]]
    for door, words in INTERFACES.items():
        cells = [_cell(best.get((door, entry.id))) for entry in FAMILIES]
        peers = {row["peer"] for key, row in best.items() if key[0] == door and row.get("peer")}
        table.append([", ".join((words, *sorted(peers))), *cells])
    return table


def _rows() -> Iterator[dict[str, Any]]:
    """Yield the rows of each interface, from every part of the result."""
    conformance = result("conformance.json")
    for part in (
        conformance,
        *(section for section in conformance.values() if isinstance(section, dict)),
    ):
        yield from part.get("rows", ())


def _cell(row: dict[str, Any] | None) -> str:
    """Write the number of equal tasks, or the differences."""
    if row is None:
        return ""
    return f"differs: {row['told'][:40]}" if _differing(row) else str(row["tasks"])


def _differing(row: dict[str, Any]) -> int:
    """Return the number of test runs that differed."""
    return sum(row["tests"].get(name, 0) for name in ("failure", "error"))
