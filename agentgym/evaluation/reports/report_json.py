"""A report as JSON.

A report in JSON has the format ``agentgym.report/1``: the fields of `Report`, with its episodes
under ``rows``, and figures computed from them: ``n``, ``errors``, ``headline`` (the first figures
of a table: ``score`` and ``success`` with their intervals, lower bounds if ``at_least``; null if
``success_unknown``), ``success_lower_bound``, ``success_lower_bound_ci95`` and the same for
``score`` (over all planned episodes), ``score_mean``, ``score_ci95``, ``success``, ``success_ci95``
(over the episodes that count), ``incomplete``, ``turns_mean``, ``invalid_share``,
``repeated_share``, ``pass_at``, ``pass_hat``, ``tokens``, ``tokens_per_second`` (completion
tokens), ``cost``, ``judges`` and ``costs`` (by hook name), ``scaled``, ``stop_reasons``,
``finish_reasons``, ``by_label``; ``figures``, the protocol's figures (name, value, ci95, n), and
``departures`` from the protocol. The fields ``protocol``, ``limits`` and ``failed`` may be missing.
``failed`` is the treatment of broken episodes, see `Report`. Figures are null if there is nothing
to average. Readers ignore unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from agentgym.evaluation.episode_result import EpisodeResult
from agentgym.evaluation.reports.data import FigureResult, ReportData, mean_score, success_rate
from agentgym.support.statistics import Estimate

FORMAT = "agentgym.report/1"
"""Name and version of a report's format; the version changes when a reader must."""


def report_to_dict(report: ReportData) -> dict[str, Any]:
    """Return a report as JSON-safe data."""
    plain_fields = {
        entry.name: getattr(report, entry.name)
        for entry in fields(report)
        if entry.name not in ("rows", "limits", "prices", "scale", "protocol")
    }
    figures = _figures(report.valid)
    some = bool(report.valid)
    return {
        "format": FORMAT,
        **plain_fields,
        "limits": asdict(report.limits) if report.limits else None,
        "prices": asdict(report.prices) if report.prices else None,
        "scale": asdict(report.scale) if report.scale else None,
        "protocol": asdict(report.protocol) if report.protocol else None,
        "figures": [_figure(figure) for figure in report.figures()],
        "departures": {name: list(pair) for name, pair in report.departures.items()},
        "finished": report.finished,
        "incomplete": report.incomplete,
        "n": report.n,
        "errors": report.errors,
        "success_unknown": report.success_unknown,
        "headline": _headline(report),
        **_bounds(report),
        **figures,
        "turns_mean": report.turns_mean if some else None,
        "invalid_share": report.invalid_share,
        "repeated_share": report.repeated_share,
        "pass_at": _draws(report, report.pass_at),
        "pass_hat": _draws(report, report.pass_hat),
        "scaled": report.scaled if some else None,
        "tokens": report.tokens,
        "tokens_per_second": report.tokens_per_second,
        "cost": report.cost,
        "judges": {
            name: {**asdict(count), "mean": count.mean} for name, count in report.judges.items()
        },
        "costs": {name: cost._asdict() for name, cost in report.costs.items()},
        "stop_reasons": report.stop_reasons,
        "finish_reasons": report.finish_reasons,
        "by_label": {
            name: {value: {"n": len(rows), **_figures(rows)} for value, rows in values.items()}
            for name, values in report.by_label().items()
        },
        "rows": [asdict(row) for row in report.rows],
    }


def _headline(report: ReportData) -> dict[str, Any] | None:
    """Return the headline figures; None if there are no episodes."""
    if not report.n or report.success_unknown:
        return None
    score, success = report.headline_score, report.headline_success
    return {
        "at_least": bool(report.left_out),
        "score": score.value,
        "score_ci95": [score.low, score.high],
        "success": success.value,
        "success_ci95": [success.low, success.high],
    }


def _bounds(report: ReportData) -> dict[str, Any]:
    """Return the lower bounds over all planned episodes; values are None if none is planned."""
    bounds = {"success": report.success_lower_bound, "score": report.score_lower_bound}
    lower_bounds = bounds if report.size else dict.fromkeys(bounds)
    return {
        **{f"{name}_lower_bound": bound and bound.value for name, bound in lower_bounds.items()},
        **{
            f"{name}_lower_bound_ci95": bound and [bound.low, bound.high]
            for name, bound in lower_bounds.items()
        },
    }


def _figure(figure: FigureResult) -> dict[str, Any]:
    estimate = figure.estimate
    return {
        "name": figure.name,
        "value": estimate.value if estimate else None,
        "ci95": [estimate.low, estimate.high] if estimate else None,
        "n": figure.n,
    }


def _figures(rows: list[EpisodeResult]) -> dict[str, Any]:
    if not rows:
        return dict.fromkeys(("score_mean", "score_ci95", "success", "success_ci95"))
    score, success = mean_score(rows), success_rate(rows)
    return {
        "score_mean": score.value,
        "score_ci95": [score.low, score.high],
        "success": success.value,
        "success_ci95": [success.low, success.high],
    }


def _draws(report: ReportData, estimate: Callable[[int], Estimate]) -> dict[str, Any]:
    """Return an estimate for every k from 1 to the number of samples."""
    draws = range(1, report.draws + 1) if report.samples > 1 else ()
    return {str(k): list(estimate(k)) for k in draws}
