"""The table of recipes: each preset at its best of three rates, beside ``turn-loo`` at its own."""

from __future__ import annotations

from benchmarks.tables.formats import Table, bold_without_zero, result, share
from benchmarks.tables.method_rates import rate_in_words

FILE = "recipes.json"


def recipes_table() -> Table:
    """Return rate, success and difference of each recipe and family, best first.

    Recipes are ordered by their mean difference over families.
    """
    families = result(FILE)["families"]
    names = dict.fromkeys(name for figures in families.values() for name in figures["recipes"])
    table = [["preset"]]
    for family in families:
        table[0] += [f"{family}: rate", "success", "minus `turn-loo`"]
    for name in sorted(names, key=_mean_difference, reverse=True):
        preset, comma, size = name.partition(",")
        table.append([f"`{preset}`{comma}{size}"])
        for figures in families.values():
            row = figures["recipes"].get(name)
            if row is None:
                table[-1] += [""] * 3
                continue
            minus = row["minus_turn_loo"]
            table[-1] += [
                rate_in_words(row["rate"]),
                share(row["success"]["mean"]),
                bold_without_zero(minus["mean"], minus["ci95"]) if minus else "",
            ]
    return table


def _mean_difference(name: str) -> float:
    """Return the mean over families of a recipe's difference to ``turn-loo``."""
    rows = [figures["recipes"].get(name) for figures in result(FILE)["families"].values()]
    differences = [row["minus_turn_loo"]["mean"] for row in rows if row and row["minus_turn_loo"]]
    return sum(differences) / len(differences) if differences else -1.0
