"""The table of the map of horizons, and what it can tell."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.tables.formats import Table, bold_without_zero, result, share

FILE = "horizon_map.json"
TASKS = {
    "short": "mazes, short (levels 1 to 4)",
    "long": "mazes, long (levels 9 to 12)",
    "mixed": "mazes, mixed (levels 1 to 12)",
    "textworld": "TextWorld `w4-o6-q8` ({} turns)",
    "alfworld": "ALFWorld ({} turns)",
    "search": "Search ({} turns)",
}
SCHEDULES = {
    "short": "short",
    "growing": "growing",
    "gated": "gated",
    "growing-fit": "growing, tasks that fit",
}
"""Compared with the constant long horizon."""


def horizon_table() -> Table:
    """Return success at the full horizon, and the differences to the constant long horizon."""
    found = result(FILE)
    table = [
        ["tasks", "warm start", "success: start, long", *SCHEDULES.values(), "updates: long, short"]
    ]
    for tasks, words in TASKS.items():
        for start in found["rows"]:
            cell = found["cells"][f"{start}/{tasks}"]
            long = cell["schedules"]["long"]
            name = words.format(", ".join(map(str, cell["stages"])))
            levels = f"{share(long['warm_start']['mean'])}, {share(long['success']['mean'])}"
            differences = [_difference(cell["schedules"][each]["minus_long"]) for each in SCHEDULES]
            updates = ", ".join(_updates(found, start, tasks, each) for each in ("long", "short"))
            table.append([name, start, levels, *differences, updates])
    return table


def power() -> dict[str, Any]:
    """Return how small a difference the map could have shown.

    Returns:
        ``differences`` to the long horizon that are not zero in every seed, the ``median`` half
        width of their intervals, and the ``share`` of half widths above .05.
    """
    cells = result(FILE)["cells"].values()
    spreads = [cell["schedules"][each]["minus_long"] for cell in cells for each in SCHEDULES]
    widths = [
        (each["ci95"][1] - each["ci95"][0]) / 2 for each in spreads if each and any(each["values"])
    ]
    return {
        "differences": len(widths),
        "median": median(widths),
        "share": sum(width > 0.05 for width in widths) / len(widths),
    }


def power_table() -> Table:
    """Return how small a difference the map could have shown, as a table."""
    found = power()
    return [
        ["differences that are not zero in every seed", "median half-width of their intervals",
         "wider than .05"],
        [str(found["differences"]), share(found["median"]), f"{100 * found['share']:.0f} %"],
    ]  # fmt: skip


def _difference(spread: dict[str, Any]) -> str:
    """Write a difference over seeds."""
    return bold_without_zero(spread["mean"], spread["ci95"])


def _updates(found: dict[str, Any], start: str, tasks: str, schedule: str) -> str:
    """Write the updates that the runs of an arm made, the median over seeds."""
    runs = found["runs"][f"{start}/{tasks}/{schedule}"]["runs"]
    return f"{median(run['steps'] for run in runs):.0f}"
