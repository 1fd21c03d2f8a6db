"""The tables of methods at several rates, and of critics beside values of 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.formats import Table, bold_without_zero, result, share, shares
from benchmarks.tables.played_methods import played_methods

RATES, CRITICS = ("method_rates.json", "method_rates_added.json"), "critic_control.json"
"""Result files: the first presets and those added later; critics."""


def rates_table() -> Table:
    """Return each method's success by learning rate, and with one update per step; empty: not run.

    The last column is the difference to ``turn-loo`` at the lowest rate.
    """
    arms: list[Mapping[str, Any]] = [r for file in RATES for r in result(file)["arms"].values()]
    rates = sorted({row["rate"] for row in arms if not row["one_update"]}, reverse=True)
    names = [rate_in_words(rate) for rate in (result(RATES[0])["full_rate"], *rates)]
    head = ["preset", *names, f"{names[0]}, one update a step", f"{names[-1]}, minus `turn-loo`"]
    table = [head]
    for preset in dict.fromkeys(row["preset"] for row in arms):
        once = [row for row in arms if row["preset"] == preset and row["one_update"]]
        of = {r["rate"]: r for r in arms if r["preset"] == preset and not r["one_update"]}
        cells = [_success(of.get(rate)) for rate in rates]
        difference = of[rates[-1]]["minus_turn_loo"] if rates[-1] in of else None
        minus = bold_without_zero(difference["mean"], difference["ci95"]) if difference else ""
        full = _success(played_methods()[preset])
        table.append([f"`{preset}`", full, *cells, _success(*once), minus])
    return table


def critics_table() -> Table:
    """Return the results of presets with a critic and with the control."""
    table = [["preset", "critic", "success", "each seed", "minus `zero`", "explained variance"]]
    for row in result(CRITICS)["arms"].values():
        minus = row["minus_zero"]
        control = row["critic"] == "zero"
        table.append(
            [
                f"`{row['preset']}`",
                f"`{row['critic']}`",
                share(row["success"]["mean"]),
                shares(row["success"]["values"]),
                "" if control else bold_without_zero(minus["mean"], minus["ci95"]),
                "" if control else shares(row["explained_variance"]),
            ]
        )
    return table


def rate_in_words(rate: float) -> str:
    """Write a rate as the pages do."""
    return f"{rate:g}".removeprefix("0")


def _success(row: Mapping[str, Any] | None = None) -> str:
    """Write a mean and the seeds behind it."""
    if row is None:
        return ""
    return f"{share(row['success']['mean'])} ({shares(row['success']['values'])})"
