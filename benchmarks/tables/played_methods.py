"""The table of methods run on a toy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.formats import Table, bold_without_zero, result, share, shares
from trainers.algorithms.presets import PRESETS

FILES = ("methods.json", "methods_added.json", "methods_otherwise.json")
"""Result files: the first presets, those added later, and those that play differently (workers, an
agent that owns its loop, a judge)."""


def played_methods() -> Mapping[str, Any]:
    """Return the figures of each method by its name."""
    return {name: row for file in FILES for name, row in result(file)["methods"].items()}


def played_methods_table() -> Table:
    """Return each method's success beside that of ``turn-loo``, the best first.

    ``turn-loo`` with workers, the control of ``matpo``, is compared with nothing.
    """
    methods = played_methods()
    table = [["preset", "updates a step", "success", "each seed", "minus `turn-loo`"]]
    for name, row in sorted(methods.items(), key=lambda item: -item[1]["success"]["mean"]):
        preset, _, workers = name.partition("/")
        success, difference = row["success"], None if workers else row["minus_turn_loo"]
        table.append(
            [
                f"`{preset}` with workers" if workers else f"`{name}`",
                f"{PRESETS[preset].minibatches * PRESETS[preset].num_iterations}",
                share(success["mean"]),
                shares(success["values"]),
                bold_without_zero(difference["mean"], difference["ci95"]) if difference else "",
            ]
        )
    return table
