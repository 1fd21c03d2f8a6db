"""The result of one training over several seeds: figures with intervals over the seeds.

Every figure of a seed is a mean over held-out tasks. Only the spread of these means predicts
another training, so intervals are Student's t over the seeds. Fewer than three seeds, or equal
values, have no interval, and the sentences state this. The paired interval of each seed, over its
tasks, is given as a detail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from agentgym.evaluation.reports.verdicts import signed
from agentgym.support.statistics import FEWEST_TRAININGS, mean_over_trainings, why_no_interval
from trainers.output.headline import Headline, HeadlineChange, judge
from trainers.output.roles import (
    BASELINES,
    DEMONSTRATOR,
    ORACLE,
    RANDOM,
    ROLES,
    TRAINED,
    WARM_START,
    field_of,
)

__all__ = [
    "SeedComparison",
    "comparisons",
    "seeds_headline",
    "seeds_sentences",
    "seeds_summary",
    "spread",
]

UNTRAINED = (RANDOM, DEMONSTRATOR, ORACLE)
"""Policies that are the same in every seed: their interval is over the tasks."""
START = f"trained_minus_{field_of(WARM_START)}"
"""The first comparison: with the policy that training started from."""
AGAINST = tuple(f"trained_minus_{field_of(arm)}" for arm in BASELINES)
"""Comparisons with baselines trained from the same start."""
FIGURES = {"success": "success", "score": "score_mean"}
"""Figure -> its name in the result of an arm."""

Summaries = Sequence[Mapping[str, Any]]
"""Contents of ``summary.json``, one for each seed."""


class SeedComparison(NamedTuple):
    """The trained policy minus another, over seeds."""

    name: str
    """Name of the comparison, such as ``trained_minus_bc``."""
    other: str
    """Name of the other policy."""
    success: Mapping[str, Any]
    """Difference in success, as :func:`spread` gives it, with the ``paired`` ones of each seed."""
    score: Mapping[str, Any]
    """Difference in score, likewise."""

    @property
    def change(self) -> HeadlineChange:
        """The comparison as the headline judges it."""
        success, score = self.success, self.score
        return HeadlineChange(
            self.other, score["mean"], score["ci95"], success["mean"], success["ci95"]
        )

    @property
    def problem(self) -> str:
        """Why it has no interval over trainings; empty if both measures have one."""
        return why_no_interval(self.success["values"]) or why_no_interval(self.score["values"])


def spread(
    values: Sequence[float], bounds: tuple[float, float] = (-math.inf, math.inf)
) -> dict[str, Any]:
    """Return mean, standard deviation over seeds, 95 % interval and the values themselves.

    The interval is Student's t over the values, cut to the possible range; None where
    `agentgym.support.statistics.why_no_interval` says why there is none. One value has no standard
    deviation either.
    """
    estimate = mean_over_trainings(values, bounds)
    return {
        "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "ci95": [estimate.low, estimate.high] if estimate else None,
        "values": list(values),
    }


def seeds_summary(summaries: Summaries) -> dict[str, Any]:
    """Return the content of ``summary.json`` of several seeds.

    Args:
        summaries: Those of the seeds, at least two, in the order of the seeds.
    """
    first = summaries[0]
    names = first.get("families", {})
    families = {
        name: _results([summary["families"][name] for summary in summaries]) for name in names
    }
    result = {
        "env": first["env"],
        "preset": first["preset"],
        "seeds": [summary["seed"] for summary in summaries],
        "interval": _interval_kind(len(summaries)),
        "evaluation": first["evaluation"],
        **_results(summaries),
        **({"families": families} if families else {}),
        "runs": [_run(summary) for summary in summaries],
        "packages": first["packages"],
        "commits": list(dict.fromkeys(summary["commit"] for summary in summaries)),
    }
    headline = seeds_headline(result)
    return {**result, "verdict": headline.text, "headline": headline._asdict()}


def _interval_kind(count: int) -> str:
    """Return a sentence on the kind of the intervals."""
    if count < FEWEST_TRAININGS:
        return f"none over {count} seeds: it takes at least {FEWEST_TRAININGS}"
    return f"95 %, Student t over {count} seeds"


def comparisons(results: Mapping[str, Any], kind: str = "paired") -> Iterator[SeedComparison]:
    """Yield the comparisons in the ``paired`` or ``greedy_paired`` results."""
    for name, figures in results.get(kind, {}).items():
        rival = results["names"][_arm(name.removeprefix("trained_minus_"), results["names"])]
        yield SeedComparison(name, rival, figures["success"], figures["score"])


def seeds_headline(result: Mapping[str, Any]) -> Headline:
    """Return the first line of the report, by the rules of a single run's.

    The strongest baseline is the one with the smallest lead of the trained policy.
    """
    by_name = {comparison.name: comparison for comparison in comparisons(result)}
    start, runs = by_name[START], result["runs"]
    if any(run["untrained"] for run in runs):
        return Headline("down", "In at least one seed nothing was trained")
    baselines = [comparison for name, comparison in by_name.items() if name in AGAINST]
    strongest = min(baselines, key=lambda comparison: comparison.success["mean"], default=None)
    if problem := start.problem or (strongest.problem if strongest else ""):
        return Headline("flat", f"Not decided, as {problem}: {start.change.in_both}")
    greedy = {comparison.name: comparison for comparison in comparisons(result, "greedy_paired")}
    greedy_strongest = greedy.get(strongest.name) if strongest else None
    tone, text = judge(
        start.change,
        strongest.change if strongest else None,
        greedy_strongest.change if greedy_strongest else None,
        steps=min(run["steps"] for run in runs),
        imitated=any(run["imitated"] for run in runs),
    )
    return Headline(tone, f"{text}, over {len(runs)} seeds")


def seeds_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Return a sentence for each comparison over the seeds; without an interval it says why."""
    count = len(result["seeds"])
    for kind, opening in (("paired", ""), ("greedy_paired", "With greedy actions, ")):
        for comparison in comparisons(result, kind):
            change = comparison.change
            compared = (
                f"{opening}trained minus {comparison.other} is {change.in_success} and "
                f"{change.in_score}, over {count} seeds"
            ).capitalize()
            if not comparison.problem:
                yield f"{compared}."
                continue
            by_seed = zip(comparison.success["values"], comparison.success["paired"], strict=True)
            over_tasks = ", ".join(signed(mean, interval) for mean, interval in by_seed)
            yield (
                f"{compared}: {comparison.problem}. Over the tasks of each seed, which say nothing "
                f"about another training: {over_tasks} in success."
            )


def _results(parts: Summaries) -> dict[str, Any]:
    """Return the comparison over seeds, of one environment or pooled over all."""
    greedy = [part.get("greedy") or {} for part in parts]
    results = {
        "names": parts[0]["names"],
        "eval": _arms([part["eval"] for part in parts]),
        "paired": _differences([part["paired"] for part in parts]),
    }
    if all(greedy):
        names = parts[0]["names"]
        arms = [{_arm(key, names): value for key, value in result.items()} for result in greedy]
        results["greedy_eval"] = _arms(
            [{a: arm_results[a] for a in arm_results if a in names} for arm_results in arms]
        )
        results["greedy_paired"] = _differences(greedy)
    return results


def _arm(key: str, names: Mapping[str, str]) -> str:
    """Return the policy of a key, with hyphens for underscores."""
    return next((arm for arm in names if field_of(arm) == key), key)


def _arms(results: Summaries) -> dict[str, Any]:
    """Return the figures of the policies that all seeds have, in the order of ``ROLES``."""
    common = [arm for arm in results[0] if all(result.get(arm) for result in results)]
    ranks = {arm: rank for rank, arm in enumerate(ROLES)}
    common.sort(key=lambda arm: ranks.get(arm, ranks[TRAINED]))
    return {
        arm: {
            "n": results[0][arm]["n"],
            "over": "tasks" if arm in UNTRAINED else "seeds",
            **{name: _figure(arm, [r[arm] for r in results], key) for name, key in FIGURES.items()},
            "turns": float(np.mean([result[arm]["turns_mean"] for result in results])),
        }
        for arm in common
    }


def _figure(arm: str, results: Summaries, key: str) -> dict[str, Any]:
    """Return a figure of a policy over the seeds; if untrained, over the tasks."""
    if arm not in UNTRAINED:
        return spread([result[key] for result in results], (0.0, 1.0))
    interval = f"{key.removesuffix('_mean')}_ci95"
    return {"mean": results[0][key], "ci95": list(results[0][interval])}


def _differences(results: Summaries) -> dict[str, Any]:
    """Return the comparisons that all seeds have, over the seeds and per seed."""
    common = [
        name
        for name in results[0]
        if name.startswith("trained_minus_") and all(result.get(name) for result in results)
    ]
    return {
        name: {
            figure: {
                **spread([result[name][f"{figure}_mean"] for result in results], (-1.0, 1.0)),
                "paired": [list(result[name][f"{figure}_ci95"]) for result in results],
            }
            for figure in FIGURES
        }
        for name in common
    }


def _run(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts about the run of one seed."""
    return {
        "seed": summary["seed"],
        "folder": f"seed{summary['seed']}",
        **{
            name: summary[name]
            for name in ("steps", "chosen", "wall_s", "cpu_s", "commit", "untrained")
        },
        "imitated": any(
            part["warm_start"] for part in (summary, *summary.get("families", {}).values())
        ),
        "verdict": summary["verdict"],
        "remarks": list(summary["remarks"]),
    }
