"""Run several evaluations in sequence, and collect them in a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgym.errors import AgentGymError, ConfigurationError, EvaluationFailed
from agentgym.evaluation.evaluation_folder import read_report
from agentgym.evaluation.reports.leaderboard import Leaderboard
from agentgym.evaluation.reports.plot import check_drawable
from agentgym.evaluation.reports.report import Report
from agentgym.evaluation.reports.report_tables import html
from agentgym.evaluation.reports.scale import Scale
from agentgym.evaluation.suites.named_evaluation import (
    SILENT,
    EvaluationProgress,
    NamedEvaluation,
    folder_name,
)
from agentgym.evaluation.suites.suite_file import Suite, read_suite
from agentgym.evaluation.suites.suite_folder import reports_before, write_leaderboard
from agentgym.support.folder_links import check_no_link_leads_out

RUNS = Path("runs")
"""Folder in which the command saves evaluations without an explicit folder."""
READ_WRITTEN = ("prompt", "completion")
"""Kinds of tokens that count for a limit; cached and reasoning tokens are included in these."""


@dataclass(frozen=True, repr=False)
class SuiteResult:
    """Result of several evaluations."""

    reports: Mapping[str, Report]
    """Reports by the names of the evaluations' folders, in the order of the suite."""
    failures: Mapping[str, AgentGymError]
    """Reasons of failed evaluations, by the same names."""
    out: Path | None = None
    """The folder with the table and a folder of each evaluation, if saved."""

    @property
    def complete(self) -> bool:
        """Whether all evaluations succeeded, and none is incomplete."""
        return not self.failures and not any(report.incomplete for report in self.reports.values())

    @property
    def leaderboard(self) -> Leaderboard:
        """The table of the reports.

        Raises:
            EvaluationFailed: There is no report.
        """
        if not self.reports:
            first = next(iter(self.failures.values()), None)
            raise EvaluationFailed(f"expected reports, but every evaluation failed; first: {first}")
        return Leaderboard([*self.reports.values()])

    def __repr__(self) -> str:
        """Return one line."""
        counts = f"{len(self.reports):,} reports, {len(self.failures):,} failed"
        return f"<SuiteResult: {counts}{'' if self.complete else ', incomplete'}>"

    def _repr_html_(self) -> str:
        failed = (f"<li>{html(f'{k}: {error}')}</li>" for k, error in self.failures.items())
        table = self.leaderboard._repr_html_() if self.reports else ""
        return f"{table}<ul>{''.join(failed)}</ul>"


def evaluate_all(
    suite: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    progress: EvaluationProgress = SILENT,
    **settings: Any,
) -> SuiteResult:
    """Play every policy of a suite on every environment.

    A failed evaluation does not affect the others. If the suite has a policy besides reference
    policies, every report has a scale, unless a setting disables it; the scale is measured once per
    panel.

    Args:
        suite: A YAML or TOML file, or a mapping of the same form, such as ``{"environments":
            ["webshop", "search"], "policies": ["random", "oracle"], "num_tasks": 20}``; see
            `agentgym.evaluation.suites.suite_file`.
        out: Folder with a subfolder for each evaluation, and ``leaderboard.json`` and
            ``leaderboard.md``, which are updated after each evaluation. The same call resumes
            there. Default: the folder in the suite; without it, nothing is saved.
        progress: Receives progress events.
        **settings: Settings of all evaluations, which override those of the suite, by the names of
            `agentgym.evaluation.suites.settings.EvaluationSettings`, such as ``num_tasks=5``.

    Returns:
        The reports and the failures.

    Raises:
        ConfigurationError: An entry or a setting is invalid, or the folder holds other files.
        DataError: The file cannot be read, or data of a protocol is missing.
        TaskNotFound: An environment has no such split.
    """
    overrides = settings if out is None else {**settings, "out": Path(out)}
    return play_suite(read_suite(suite, overrides), progress)


def play_suite(suite: Suite, progress: EvaluationProgress = SILENT) -> SuiteResult:
    """Play the evaluations of a suite, see `evaluate_all`."""
    check_suite(suite)
    playing = _Playing(suite, progress)
    for evaluation in suite.evaluations:
        playing.add(evaluation)
    playing.write({evaluation.name for evaluation in suite.evaluations})
    result = playing.result()
    if suite.chart and result.reports:
        result.leaderboard.chart(suite.chart)
    return result


def check_suite(suite: Suite) -> None:
    """Check everything that can be checked before any evaluation is played.

    Raises:
        AgentGymError: An environment cannot be made, or lacks data of its protocol.
        ConfigurationError: A setting is invalid, or the chart cannot be drawn.
        TaskNotFound: An environment has no such split.
    """
    for evaluation in suite.evaluations:
        evaluation.settings.check()
    if suite.chart is not None:
        check_drawable(suite.chart)
    task_sets = set()
    for evaluation in suite.evaluations:
        if evaluation.same_tasks not in task_sets:
            task_sets.add(evaluation.same_tasks)
            env = evaluation.open()
            try:
                evaluation.count(env)
            finally:
                env.close()


def usual_folder(suite: Suite) -> Path | None:
    """Return the default folder of a suite; None if it has only reference policies."""
    first, *later_evaluations = suite.evaluations
    if not any(evaluation.model for evaluation in suite.evaluations):
        return None
    if not later_evaluations:
        return RUNS / f"eval-{first.name}"
    return RUNS / folder_name(
        ["eval", suite.title], [evaluation.identity for evaluation in suite.evaluations]
    )


class _Playing:
    """Plays the evaluations of a suite, and keeps their reports.

    The leaderboard is written after each evaluation. When a suite resumes, rows of the old table
    stay until they are played again; at the end, rows that the suite no longer contains are
    removed.
    """

    def __init__(self, suite: Suite, progress: EvaluationProgress) -> None:
        self._suite, self._out, self._progress = suite, suite.out, progress
        self._usual_scale = any(evaluation.model for evaluation in suite.evaluations)
        self._scales: dict[tuple[Any, ...], Scale] = {}
        self._reports: dict[str, Report] = {}
        self._failures: dict[str, AgentGymError] = {}
        if self._out and self._out.exists():
            check_no_link_leads_out(self._out)
        self._old_reports = reports_before(self._out) if self._out else {}

    def result(self) -> SuiteResult:
        """Return the results so far."""
        return SuiteResult(self._reports, self._failures, self._out)

    def add(self, evaluation: NamedEvaluation) -> None:
        """Play one evaluation; report a failure before saving it, because saving may fail, too."""
        try:
            report = self._play(evaluation)
        except AgentGymError as error:
            self._failures[evaluation.name] = error
            self._progress.failed(evaluation, error)
            if not isinstance(error, ConfigurationError):
                self._keep_failed(evaluation)
        else:
            self._progress.report(evaluation, report)

    def _play(self, evaluation: NamedEvaluation) -> Report:
        out = self._out / evaluation.name if self._out else None
        scale: bool | Scale = evaluation.wants_scale(self._usual_scale)
        if scale:
            scale = self._scales.get(evaluation.same_tasks) or True
        report = self._within_limits(evaluation).play(out, scale, self._progress)
        if report.scale:
            self._scales[evaluation.same_tasks] = report.scale
        self._keep(evaluation, report)
        return report

    def _within_limits(self, evaluation: NamedEvaluation) -> NamedEvaluation:
        """Return an evaluation whose total limits are the rest of the limits of the whole suite.

        Raises:
            EvaluationFailed: Nothing is left.
        """
        reports, its = self._reports.values(), evaluation.settings
        tokens, cost = its.limit_total_tokens, its.limit_total_cost
        if tokens is not None:
            tokens -= sum(sum(report.tokens[kind] for kind in READ_WRITTEN) for report in reports)
        if cost is not None:
            cost -= sum(report.cost or 0.0 for report in reports)
        if any(amount_left is not None and amount_left <= 0 for amount_left in (tokens, cost)):
            raise EvaluationFailed(
                "expected the limit on all episodes together to be higher, because earlier "
                "evaluations used it up: raise `total_limits`, and run the same command again"
            )
        limits_left = replace(its, limit_total_tokens=tokens, limit_total_cost=cost)
        return replace(evaluation, settings=limits_left)

    def _keep_failed(self, evaluation: NamedEvaluation) -> None:
        """Add the finished episodes of a failed evaluation to the table.

        If its folder belongs to another evaluation, nothing is added.
        """
        if self._out:
            with suppress(AgentGymError):
                self._keep(evaluation, read_report(self._out / evaluation.name))

    def _keep(self, evaluation: NamedEvaluation, report: Report) -> None:
        """Add a report to the table, and write it."""
        self._reports[evaluation.name] = report
        # After each evaluation, so that a suite killed after hours leaves a table.
        self.write({*self._old_reports, *self._reports})

    def write(self, names: Collection[str]) -> None:
        """Write the table of the reports with these names, from this session and earlier ones."""
        if not self._out or not self._reports:
            return
        order = dict.fromkeys(
            (*(evaluation.name for evaluation in self._suite.evaluations), *self._old_reports)
        )
        reports = {**self._old_reports, **self._reports}
        rows = {name: reports[name] for name in order if name in reports and name in names}
        write_leaderboard(self._out, Leaderboard([*rows.values()]), [*rows])
