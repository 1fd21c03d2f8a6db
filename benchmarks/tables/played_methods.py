"""The table of methods that were played on a toy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.formats import Table, bold_without_zero, result, share, shares
from trainers.algorithms.presets import PRESETS

FILES = ("methods.json", "methods_added.json", "methods_matpo.json")
"""Of presets that were there first, of those that came later, and of one that plays with workers
and so has no ``turn-loo`` beside it."""


def played_methods() -> Mapping[str, Any]:
    """Return the figures of each method by its name."""
    return {name: row for file in FILES for name, row in result(file)["methods"].items()}


def played_methods_table() -> Table:
    """Return each method's success beside that of ``turn-loo``, the best first."""
    found = played_methods()
    table = [["preset", "updates a step", "success", "each seed", "minus `turn-loo`"]]
    for name, row in sorted(found.items(), key=lambda item: -item[1]["success"]["mean"]):
        success, difference = row["success"], row["minus_turn_loo"]
        table.append(
            [
                f"`{name}`",
                f"{PRESETS[name].minibatches * PRESETS[name].iterations}",
                share(success["mean"]),
                shares(success["values"]),
                bold_without_zero(difference["mean"], difference["ci95"]) if difference else "",
            ]
        )
    return table
