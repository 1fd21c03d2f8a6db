"""The tables of the horizon map: at equal turns, at equal updates, and statistical power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from benchmarks.studies.runner.measures import Curve, at_equal
from benchmarks.tables.formats import Table, bold_without_zero, result, share
from trainers.output.seed_summary import spread

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
"""Schedules compared with the constant long horizon."""


def horizon_table() -> Table:
    """Return success at the full horizon, and the differences to the constant long horizon."""
    content = result(FILE)
    table = [
        ["tasks", "warm-start", "success: start, long", *SCHEDULES.values(), "updates: long, short"]
    ]
    for tasks, words in TASKS.items():
        for start in content["rows"]:
            cell = content["cells"][f"{start}/{tasks}"]
            long = cell["schedules"]["long"]
            name = words.format(", ".join(map(str, cell["stages"])))
            levels = f"{share(long['warm_start']['mean'])}, {share(long['success']['mean'])}"
            differences = [
                _difference(cell["schedules"][schedule]["minus_long"]) for schedule in SCHEDULES
            ]
            updates = ", ".join(
                _updates(content, start, tasks, schedule) for schedule in ("long", "short")
            )
            table.append([name, start, levels, *differences, updates])
    return table


def power() -> dict[str, Any]:
    """Return the statistical power of the map, as :func:`power_of` describes it."""
    cells = result(FILE)["cells"].values()
    return power_of(
        [cell["schedules"][schedule]["minus_long"] for cell in cells for schedule in SCHEDULES]
    )


def power_of(spreads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how small a difference could have been detected.

    Args:
        spreads: Differences over seeds, as ``spread`` returns them.

    Returns:
        ``differences`` that are not zero in every seed, the ``median`` half width of their
        intervals, the ``share`` of half widths above .05, and how many are ``without_zero``.
    """
    moved = [spread["ci95"] for spread in spreads if any(spread["values"])]
    widths = [(high - low) / 2 for low, high in moved]
    return {
        "differences": len(widths),
        "median": median(widths),
        "share": sum(width > 0.05 for width in widths) / len(widths),
        "without_zero": sum(low > 0 or high < 0 for low, high in moved),
    }


def power_table() -> Table:
    """Return the statistical power of the map, as a table."""
    content = result(FILE)
    updates = [at_equal_updates(content, cell)["success"] for cell in content["cells"]]
    spreads = [_minus_long(success, schedule) for success in updates for schedule in SCHEDULES]
    rows = {"turns, test tasks": power(), "updates, validation tasks": power_of(spreads)}
    head = ["compared at equal", "differences that are not zero in every seed",
            "median half-width of their intervals", "wider than .05", "excluding zero"]  # fmt: skip
    return [head, *([name, *_powers(row)] for name, row in rows.items())]


def at_equal_updates(content: Mapping[str, Any], cell: str) -> dict[str, Any]:
    """Read the curves of a cell where the arm with the fewest updates ended, seed by seed.

    A step makes one update. The file holds the curves over turns; the step of a validation follows
    from ``--eval.every``, because a run is validated before the first step, at this interval, and
    after the last.

    Args:
        content: The result.
        cell: Warm start and tasks, such as ``weak/mixed``.

    Returns:
        The ``updates`` of each seed; by schedule ``success`` on validation tasks and ``turns``.
    """
    schedules = content["cells"][cell]["schedules"]
    curves = {schedule: _over_updates(content, f"{cell}/{schedule}") for schedule in schedules}
    by_seed = [list(some) for some in zip(*curves.values(), strict=True)]
    figures_at: dict[str, Any] = {
        "updates": [min(c["updates"][-1] for c in some) for some in by_seed]
    }
    for figure in ("success", "turns"):
        rows = [at_equal(some, "updates", figure) for some in by_seed]
        figures_at[figure] = dict(zip(curves, zip(*rows, strict=True), strict=True))
    return figures_at


def _over_updates(content: Mapping[str, Any], arm: str) -> list[Curve]:
    """Return the curves of an arm over its updates, one for each seed."""
    cell, _, schedule = arm.rpartition("/")
    settings = content["runs"][arm]["settings"]
    interval = int(settings[settings.index("--eval.every") + 1])
    curves = content["cells"][cell]["schedules"][schedule]["curves"]
    return [
        {**curve, "updates": [*range(0, run["steps"], interval), run["steps"]]}
        for curve, run in zip(curves, content["runs"][arm]["runs"], strict=True)
    ]


def _minus_long(success: Mapping[str, Any], schedule: str) -> dict[str, Any]:
    """Return the spread over seeds of a difference to the long horizon."""
    return spread([a - b for a, b in zip(success[schedule], success["long"], strict=True)])


def _powers(powers: Mapping[str, Any]) -> list[str]:
    """Write the figures of :func:`power_of`."""
    wide = f"{100 * powers['share']:.0f} %"
    return [str(powers["differences"]), share(powers["median"]), wide, str(powers["without_zero"])]


def _difference(figures: Mapping[str, Any]) -> str:
    """Write a difference over seeds."""
    return bold_without_zero(figures["mean"], figures["ci95"])


def _updates(content: dict[str, Any], start: str, tasks: str, schedule: str) -> str:
    """Write the updates that the runs of an arm made, the median over seeds."""
    runs = content["runs"][f"{start}/{tasks}/{schedule}"]["runs"]
    return f"{median(run['steps'] for run in runs):.0f}"
