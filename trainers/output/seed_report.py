"""The results of runs over several seeds: ``summary.json``, ``curve.png`` and a report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from agentgym.support.caching import write_atomically
from trainers.output.curve import Key, Records, family_records
from trainers.output.page_templates import render
from trainers.output.roles import GREEDY
from trainers.output.run_folder import RunFolder
from trainers.output.seed_curve import draw_seeds, seed_panels
from trainers.output.seed_summary import comparisons, seeds_summary

__all__ = ["seeds_table", "write_seeds"]


class _SeedPart(NamedTuple):
    """The results of an environment, or of several pooled, with their curves."""

    name: str
    """Name of the environment; empty if there is only one, and for the pooled results."""
    results: Mapping[str, Any]
    """How the policies compare over seeds."""
    panels: dict[str, str]
    """Curves by quantity."""
    keys: list[Key]
    """Their legend."""


def write_seeds(folder: Path, runs: Sequence[RunFolder]) -> dict[str, Any]:
    """Combine the finished runs of several seeds in a folder; return the summary.

    The summary is written last, so its presence means that everything is there.

    Args:
        folder: Where it is written.
        runs: Folders of the runs, in the order of the seeds.
    """
    summary = seeds_summary([json.loads(run.summary_path.read_text()) for run in runs])
    records = [run.metrics() for run in runs]
    chosen_steps = [run["chosen"]["step"] for run in summary["runs"]]
    picture = draw_seeds(records, summary["names"], chosen_steps, summary["env"])
    write_atomically(folder / "curve.png", picture)
    page = render(
        "seed_report.html.j2",
        folder=folder,
        summary=summary,
        differences=list(_differences(summary)),
        compared=list(_parts(summary, records, chosen_steps)),
        comparisons=comparisons,
    )
    write_atomically(folder / "report.html", page.encode())
    text = json.dumps(summary, indent=2) + "\n"
    write_atomically(folder / "summary.json", text.encode())
    return summary


def seeds_table(summary: Mapping[str, Any]) -> Table:
    """Return the compared policies over seeds as a table for a terminal."""
    table = Table("policy", "success", "95 %", "score", "95 %", title=summary["env"])
    for kind, note in (("eval", ""), ("greedy_eval", GREEDY)):
        for arm, row in summary.get(kind, {}).items():
            cells = []
            for figure in (row["success"], row["score"]):
                ends = figure["ci95"]
                cells += [
                    f"{figure['mean']:.3f}", f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else "-"
                ]  # fmt: skip
            table.add_row(summary["names"][arm] + note, *cells)
    table.caption = (
        f"intervals over seeds: {summary['interval']}; over tasks for policies that do not depend "
        "on the seed"
    )
    return table


def _parts(
    summary: Mapping[str, Any], records: Sequence[Records], chosen_steps: Sequence[int]
) -> Iterator[_SeedPart]:
    """Yield the results to show: first those over all tasks."""
    yield _SeedPart("", summary, *seed_panels(records, summary["names"], chosen_steps))
    for name, results in summary.get("families", {}).items():
        seed_records = [family_records(run_records, name) for run_records in records]
        yield _SeedPart(name, results, *seed_panels(seed_records, results["names"], chosen_steps))


def _differences(
    summary: Mapping[str, Any],
) -> Iterator[tuple[str, float, Sequence[float] | None]]:
    """Yield what training changed over seeds, each a row of the plot, with its interval if any."""
    decoding = summary["evaluation"]["decoding"]
    for kind, name in (("paired", decoding), ("greedy_paired", "greedy")):
        for comparison in comparisons(summary, kind):
            for figure, statistics in (
                ("score", comparison.score),
                ("success", comparison.success),
            ):
                yield (
                    f"{figure}, {name}, minus {comparison.other}",
                    statistics["mean"],
                    statistics["ci95"],
                )
