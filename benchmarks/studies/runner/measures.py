"""Figures of finished runs that several studies use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from trainers.output.seed_summary import spread
from trainers.phases.multirun.played import PlayedRun, oracle_turns, tokens_read

Curve = dict[str, list[float]]
"""Columns of equal length."""


def held_out(runs: Sequence[PlayedRun], arm: str, figure: str = "success") -> dict[str, Any]:
    """Return the spread over seeds of a policy's ``success`` or ``score_mean`` on test tasks."""
    return spread([run.summary["eval"][arm][figure] for run in runs])


def minus(runs: Sequence[PlayedRun], other_runs: Sequence[PlayedRun]) -> dict[str, Any] | None:
    """Return the spread of differences in test success, seed by seed; None without common seeds.

    Runs of one seed have the same test tasks and, if they share it, the same warm start.
    """
    of_seed = {run.seed: run.summary["eval"]["trained"]["success"] for run in other_runs}
    differences = [
        run.summary["eval"]["trained"]["success"] - of_seed[run.seed]
        for run in runs
        if run.seed in of_seed
    ]
    return spread(differences) if differences else None


def count_differences(cells: Iterable[Mapping[str, Mapping[str, Any] | None]]) -> dict[str, int]:
    """Count differences to one arm, and how many of them are informative.

    Args:
        cells: For each cell the differences of its arms, as :func:`minus` returns them.

    Returns:
        ``all`` differences; the ``informative`` ones among them, which have an interval, are not
        zero in every seed, and are not those of another arm of the cell in every seed: of equal
        arms one counts; and how many of these have an interval ``without_zero``.
    """
    spreads = [[spread for spread in cell.values() if spread is not None] for cell in cells]
    distinct = [
        spread["ci95"]
        for cell in spreads
        for spread in {tuple(spread["values"]): spread for spread in cell}.values()
        if spread["ci95"] is not None and any(spread["values"])
    ]
    return {
        "all": sum(map(len, spreads)),
        "informative": len(distinct),
        "without_zero": sum(low > 0 or high < 0 for low, high in distinct),
    }


def validation_curve(run: PlayedRun) -> Curve:
    """Return success and score on validation tasks over environment turns and tokens.

    ``tokens`` are those of all training episodes, read and written; see :func:`tokens_by_step`.
    ``sampled`` are those that the policy wrote, which is what a run's ``tokens_total`` counts.
    """
    tokens = {0: 0.0, **tokens_by_step(run)}
    sampled = {0: 0.0, **{step["step"]: step["tokens_total"] for step in run.steps}}
    points = run.validations
    return {
        "turns": [point["turns_total"] for point in points],
        "tokens": [tokens[point["step"]] for point in points],
        "sampled": [sampled[point["step"]] for point in points],
        "success": [point["success"] for point in points],
        "score": [point["score"] for point in points],
    }


def tokens_by_step(run: PlayedRun) -> dict[int, float]:
    """Return all tokens of the training episodes up to each step, read and written.

    The record of a step only counts sampled tokens. Read tokens are counted in the episodes stored
    by ``--rl.log-groups``; if these are only a part of the step, their mean is used for the rest.
    """
    of_step: dict[int, list[int]] = defaultdict(list)
    for episode in run.training_episodes:
        of_step[episode["options"]["training_step"]].append(tokens_read(episode["turns"]))
    steps, episodes = run.steps, _episodes(run)
    totals = accumulate(episodes * float(np.mean(of_step[step["step"]])) for step in steps)
    return {step["step"]: total for step, total in zip(steps, totals, strict=True)}


def _episodes(run: PlayedRun) -> float:
    """Return the episodes of a step, which are as many in each."""
    first = run.steps[0]
    return float(first["turns_total"] / first["turns"])


def at_equal(curves: Sequence[Curve], unit: str, figure: str = "success") -> list[float]:
    """Read curves off where the shortest of them ends.

    Args:
        curves: Curves over ``unit``, such as those of :func:`validation_curve`.
        unit: Column that is to be equal: ``turns``, ``tokens`` or ``sampled``.
        figure: Column that is read.

    Returns:
        The figure of each curve at the smallest last value of ``unit``, between two points by a
        straight line.
    """
    end = min(curve[unit][-1] for curve in curves)
    return [float(np.interp(end, curve[unit], curve[figure])) for curve in curves]


def tokens_to(curve: Curve, target: float) -> float | None:
    """Return the sampled tokens at which success first is at a target; None if it never is."""
    if curve["success"][0] >= target:
        return curve["sampled"][0]
    for length in range(1, len(curve["success"])):
        low, high = curve["success"][length - 1 : length + 1]
        if low < target <= high:
            share = (target - low) / (high - low)
            lower, upper = curve["sampled"][length - 1 : length + 1]
            return lower + share * (upper - lower)
    return None


def training_curve(run: PlayedRun, points: int) -> Curve:
    """Return figures of training episodes over environment turns, at evenly spaced points.

    Each point is the mean over the steps since the last one: ``ended_by_horizon`` (share of
    episodes), ``repeat`` (share of turns that repeat an action in the same state), ``success``,
    ``horizon``, and ``tokens_per_success`` (all tokens over solved episodes; None without one).
    """
    steps, tokens, episodes = run.steps, tokens_by_step(run), _episodes(run)
    total = steps[-1]["turns_total"]
    parts: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for step in steps:
        parts[min(points - 1, int(points * step["turns_total"] / (total + 1)))].append(step)
    curve: dict[str, list[Any]] = defaultdict(list)
    spent = 0.0
    for number in sorted(parts):
        part = parts[number]
        curve["turns"].append(part[-1]["turns_total"])
        for name in ("ended_by_horizon", "repeat", "success", "horizon"):
            curve[name].append(float(np.mean([step[name] for step in part])))
        used, spent = tokens[part[-1]["step"]] - spent, tokens[part[-1]["step"]]
        solved = sum(step["success"] for step in part) * episodes
        curve["tokens_per_success"].append(used / solved if solved else None)
    return dict(curve)


def training_means(runs: Sequence[PlayedRun]) -> dict[str, float | None]:
    """Return figures of the training episodes, one point per run, averaged over runs.

    See :func:`training_curve`; ``tokens_per_success`` is None where a run solved nothing.
    """
    curves = [training_curve(run, 1) for run in runs]
    means: dict[str, float | None] = {}
    for name in ("ended_by_horizon", "repeat", "success", "tokens_per_success"):
        values = [curve[name][0] for curve in curves]
        means[name] = None if None in values else float(np.mean(values))
    return means


def last_by_length(runs: Sequence[PlayedRun], edges: Sequence[int]) -> dict[str, float]:
    """Return success on validation tasks at the end, by the length of the plan, over runs."""
    by_length: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        for name, curve in success_by_length(run, edges).items():
            by_length[name].append(curve["success"][-1])
    return {name: float(np.mean(values)) for name, values in by_length.items()}


def success_by_length(run: PlayedRun, edges: Sequence[int]) -> dict[str, Curve]:
    """Return success on validation tasks over turns, by the length of the expert's plan.

    Args:
        run: The run.
        edges: Longest plan of each class, rising.

    Returns:
        A curve for each class that has tasks, named like ``1-4``.
    """
    turns = {point["step"]: point["turns_total"] for point in run.validations}
    outcomes: dict[str, dict[int, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for episode in run.validation_episodes:
        length = oracle_turns(episode)
        name = _class_of(length, edges) if length is not None else None
        if name is not None:
            won = bool(episode["turns"]) and episode["turns"][-1]["success"]
            outcomes[name][episode["extra"]["step"]].append(won)
    return {
        name: {
            "turns": [turns[step] for step in sorted(by_step)],
            "success": [float(np.mean(by_step[step])) for step in sorted(by_step)],
        }
        for name, by_step in sorted(outcomes.items(), key=lambda item: int(item[0].split("-")[0]))
    }


def _class_of(length: int, edges: Sequence[int]) -> str | None:
    """Return the name of the class that a length lies in, or None."""
    first = 1
    for last in edges:
        if length <= last:
            return f"{first}-{last}"
        first = last + 1
    return None


def mean_curve(curves: Iterable[Curve], unit: str, figure: str, points: int) -> Curve:
    """Return the mean of curves at points of equal distance, up to where the shortest ends."""
    some = [curve for curve in curves if curve[unit]]
    grid = np.linspace(0, min(curve[unit][-1] for curve in some), points)
    lines = [np.interp(grid, curve[unit], curve[figure]) for curve in some]
    return {unit: grid.tolist(), figure: np.mean(lines, axis=0).tolist()}


def compared_at_equal_cost(runs: Mapping[str, Sequence[PlayedRun]]) -> dict[str, Any]:
    """Return validation success of arms at equal cost, by unit of cost.

    Seed by seed, over common seeds, every arm is read at the final cost of the cheapest arm: in
    ``turns``, ``tokens`` (all that were read and written) and ``sampled`` (those that were
    written).
    """
    seeds = set.intersection(*({run.seed for run in arm_runs} for arm_runs in runs.values()))
    curves = {
        arm: {run.seed: validation_curve(run) for run in arm_runs if run.seed in seeds}
        for arm, arm_runs in runs.items()
    }
    if not seeds:
        return {"at_equal": {}}
    comparisons: dict[str, dict[str, list[float]]] = {}
    for unit in ("turns", "tokens", "sampled"):
        by_seed = [
            at_equal([some[seed] for some in curves.values()], unit) for seed in sorted(seeds)
        ]
        comparisons[unit] = {
            arm: list(row) for arm, row in zip(curves, zip(*by_seed, strict=True), strict=True)
        }
    return {
        "at_equal": {
            unit: {arm: spread(values) for arm, values in by_arm.items()}
            for unit, by_arm in comparisons.items()
        }
    }
