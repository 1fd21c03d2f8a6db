"""The tables of credit by forks: exact gradients, and results in training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.tables.formats import (
    Table,
    about,
    bold_without_zero,
    result,
    share,
    shares,
)

FILE = "fork_variance.json"
STUDY, NOISE = "fork_credit.json", "fork_noise.json"
TITLES = {"toy": "toy", "textworld": "coins of TextWorld", "webshop": "WebShop"}
"""Names of the study's families on the page."""


def noise_table() -> Table:
    """Return for each estimator the turns needed for a gradient as large as its noise."""
    processes = result(FILE)["processes"]
    names = list(processes)
    table = [["turns for a gradient as large as its noise; rewards", *names, "turns of a group"]]
    table[0].append("lowest cosine with the exact gradient")
    for label in processes[names[0]]["estimators"]:
        figures = [processes[name]["estimators"][label] for name in names]
        prices = [f"{row['turns_for_noise_of_one']:.0f}" for row in figures]
        cosine = share(min(row["cosine"] for row in figures))
        table.append([label, *prices, f"{figures[0]['turns']:.0f}", cosine])
    return table


def families_table() -> Table:
    """Return each family and preset's success at equal tokens, and the cost of a gradient.

    Figures by seed are in the order of the seeds.
    """
    names = ["family, preset", "success at equal tokens", "each seed", "minus `turn-loo`"]
    table = [[*names, "tokens to target", "tokens for a gradient as large as its noise"]]
    noise = result(NOISE)["families"]
    for family, figures in result(STUDY)["families"].items():
        for method, row in figures["methods"].items():
            success, difference = row["success_at_equal_tokens"], row["minus_turn_loo"]
            prices: Iterable[Mapping[str, Any]] = noise.get(family, {}).get(method, ())
            table.append(
                [
                    f"{TITLES[family]}, `{method}`",
                    share(success["mean"]),
                    shares(success["values"]),
                    bold_without_zero(difference["mean"], difference["ci95"]),
                    _tokens(row["tokens_to_target"], "never"),
                    _tokens((price["tokens_for_noise_of_one"] for price in prices), "unknown"),
                ]
            )
    return table


def _tokens(seeds: Iterable[float | None], nothing: str) -> str:
    """Write numbers of tokens, one per seed, with a word for none."""
    return "; ".join(nothing if tokens is None else about(tokens) for tokens in seeds)
