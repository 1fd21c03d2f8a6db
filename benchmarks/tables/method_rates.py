"""The tables of methods at several rates, and of critics beside values of 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.formats import Table, bold_without_zero, result, share, shares
from benchmarks.tables.played_methods import FILES

RATES, CRITICS = "method_rates.json", "critic_control.json"


def rates_table() -> Table:
    """Return each method's success by rate, and with one update a step; empty: not played."""
    found = result(RATES)
    arms: list[Mapping[str, Any]] = list(found["arms"].values())
    full = {name: row for file in FILES for name, row in result(file)["methods"].items()}
    rates = sorted({row["rate"] for row in arms if not row["one_update"]}, reverse=True)
    names = [_rate(rate) for rate in (found["full_rate"], *rates)]
    table = [["preset", *names, f"{names[0]}, one update a step"]]
    for preset in dict.fromkeys(row["preset"] for row in arms):
        own = [row for row in arms if row["preset"] == preset]
        cells = [_success(full[preset])]
        for rate in rates:
            cells += [_success(*(r for r in own if r["rate"] == rate and not r["one_update"]))]
        table.append([f"`{preset}`", *cells, _success(*(r for r in own if r["one_update"]))])
    return table


def critics_table() -> Table:
    """Return what presets with a critic reached, and what they did without one."""
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


def _rate(rate: float) -> str:
    """Write a rate as the pages do."""
    return f"{rate:g}".removeprefix("0")


def _success(row: Mapping[str, Any] | None = None) -> str:
    """Write a mean and the seeds behind it."""
    if row is None:
        return ""
    return f"{share(row['success']['mean'])} ({shares(row['success']['values'])})"
