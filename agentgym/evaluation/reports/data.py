"""Data of an evaluation report: settings, episodes, and figures with 95 % intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from agentgym.core.outcome import total
from agentgym.errors import ConfigurationError
from agentgym.evaluation.episode_result import EpisodeResult, JudgeCount
from agentgym.evaluation.prices import Limits, Prices
from agentgym.evaluation.reports.scale import Scale
from agentgym.protocols.schema import ProtocolFigure, ProtocolUse
from agentgym.registration.making import env_name
from agentgym.support.statistics import (
    Estimate,
    mean_ci95,
    pass_at_k,
    pass_hat_k,
    wilson_ci95,
)

TOLERATED = 0.05
"""Share of broken episodes above which a report is incomplete. Failures are rarely random (long
episodes fail more often), so leaving many out would bias the means."""
FAILED = ("leave-out", "count")
"""Treatments of broken episodes: left out of the means, or counted as unsolved."""


class EpisodeCosts(NamedTuple):
    """Usage of a limited resource by episodes."""

    mean: float
    """Mean over episodes."""
    most: float
    """Maximum over episodes."""
    limit: float | None
    """Limit per episode; None: no limit."""
    above: float | None
    """Share of the episodes above the limit; None without a limit."""

    @classmethod
    def of(cls, amounts: Sequence[float], limit: float | None) -> EpisodeCosts:
        """Summarize the usage of at least one episode."""
        mean = total(amounts) / len(amounts)
        above = None if limit is None else sum(amount > limit for amount in amounts) / len(amounts)
        return cls(mean, max(amounts), limit, above)


@dataclass(frozen=True, repr=False)
class ReportData:
    """Settings and episodes of an evaluation, and the figures derived from them.

    Broken episodes, in which the infrastructure failed, are listed but not averaged, unless
    ``failed`` is ``"count"``: then they count as unsolved. The headline figures of tables, charts
    and rankings (`headline_score` and `headline_success`), and all figures by kind of task and of
    protocols count them as unsolved in either case. With several samples per task, the mean of a
    task is one observation: intervals are over tasks.
    """

    env_id: str
    """Id of the environment."""
    policy: str
    """Name of the policy."""
    split: str
    """Split of the panel."""
    seed: int
    """Seed of the panel and of the episodes."""
    panel_sha256: str
    """Hash over the content of the panel's tasks."""
    rows: tuple[EpisodeResult, ...]
    """The episodes, in panel order."""
    samples: int = 1
    """Number of episodes per task."""
    planned: int | None = None
    """Number of planned episodes; None: the number of ``rows``."""
    horizon: int | None = None
    """Requested turn budget; None: the environment's default."""
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """JSON-safe arguments of the environment."""
    policy_facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the policy: model, endpoint, sampling."""
    limits: Limits | None = None
    """Limits per episode; None: only the horizon."""
    prices: Prices | None = None
    """Prices of the policy's tokens."""
    scale: Scale | None = None
    """Scores of the random policy (0) and the expert (100), if measured."""
    protocol: ProtocolUse | None = None
    """The protocol of the evaluation, and the departures from it."""
    unfinished: str = ""
    """Why some episodes were not played; empty if all were, or if the reason is unknown."""
    left_out_rows: tuple[str, ...] = ()
    """Unusable rows of the data set, which are not tasks: each with its position and the reason."""
    failed: str = "leave-out"
    """Treatment of broken episodes, one of `FAILED`."""
    versions: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Versions of the packages."""
    commit: str = field(default="", compare=False)
    """Commit of the suite's source."""
    machine: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """System, processor, cores and memory."""
    started: str = field(default="", compare=False)
    """When the evaluation began, in UTC."""
    seconds: float | None = field(default=None, compare=False)
    """Duration in seconds, without interruptions."""

    def __post_init__(self) -> None:
        """Add the models that responded to the facts of a policy that does not name its model."""
        models = dict.fromkeys(model for row in self.rows for model in row.models)
        if models and "model" not in self.policy_facts:
            facts = {**self.policy_facts, "model": ", ".join(models)}
            # The usual way to set a field of a frozen dataclass in __post_init__.
            object.__setattr__(self, "policy_facts", facts)

    @property
    def env_name(self) -> str:
        """Display name of the environment: its task set, and the arguments that differ from it."""
        return env_name(self.env_id, self.env_kwargs)

    @cached_property
    def valid(self) -> list[EpisodeResult]:
        """Episodes that count: all except broken ones, or these as unsolved."""
        if self.failed == "count":
            return self.all_counted
        return [row for row in self.rows if row.valid]

    @property
    def all_counted(self) -> list[EpisodeResult]:
        """All finished episodes, with broken ones as unsolved."""
        return [row if row.valid else row.unsolved for row in self.rows]

    @property
    def n(self) -> int:
        """Number of episodes that count."""
        return len(self.valid)

    @property
    def size(self) -> int:
        """Number of planned episodes."""
        return len(self.rows) if self.planned is None else self.planned

    @property
    def errors(self) -> int:
        """Number of broken episodes, in which the infrastructure failed."""
        return sum(not row.valid for row in self.rows)

    @property
    def left_out(self) -> int:
        """Number of broken episodes that the means leave out."""
        return len(self.rows) - self.n

    @property
    def finished(self) -> bool:
        """Whether all episodes were played."""
        return self.planned is None or len(self.rows) == self.planned

    @property
    def incomplete(self) -> bool:
        """Whether the means do not represent the whole panel; use `success_lower_bound` then.

        True if more than `TOLERATED` of the planned episodes are broken and left out, or some are
        missing.
        """
        return not self.finished or self.left_out > TOLERATED * self.size

    @property
    def success_unknown(self) -> bool:
        """Whether some episode's environment does not report success."""
        return any(row.success_unknown for row in self.rows)

    @property
    def by_task(self) -> dict[str, list[EpisodeResult]]:
        """The episodes that count of each task, in panel order."""
        tasks: dict[str, list[EpisodeResult]] = {}
        for row in self.valid:
            tasks.setdefault(row.task_id, []).append(row)
        return tasks

    @cached_property
    def score(self) -> Estimate:
        """Mean final score with its interval."""
        return mean_score(self.valid)

    @property
    def score_mean(self) -> float:
        """Mean final score; with several samples per task, the mean over tasks: avg@k."""
        return self.score.value

    @property
    def score_ci95(self) -> tuple[float, float]:
        """95 % interval of the mean score."""
        return self.score.low, self.score.high

    @property
    def success(self) -> float:
        """Share of solved tasks."""
        return self.success_estimate.value

    @property
    def success_ci95(self) -> tuple[float, float]:
        """95 % interval of the share of solved tasks."""
        return self.success_estimate.low, self.success_estimate.high

    @cached_property
    def success_estimate(self) -> Estimate:
        """Share of solved tasks with its interval."""
        return success_rate(self.valid)

    @cached_property
    def success_lower_bound(self) -> Estimate:
        """Share of solved tasks; broken and missing episodes count as unsolved."""
        if self.samples == 1:
            return wilson_ci95(sum(row.success for row in self.all_counted), self.size)
        return self._over_planned(lambda row: float(row.success))

    @cached_property
    def score_lower_bound(self) -> Estimate:
        """Mean final score; that of broken and missing episodes is 0."""
        return self._over_planned(lambda row: row.score)

    def _over_planned(self, value: Callable[[EpisodeResult], float]) -> Estimate:
        """Return the mean over all planned tasks."""
        totals: dict[str, float] = {}
        for row in self.all_counted:
            totals[row.task_id] = totals.get(row.task_id, 0.0) + value(row)
        means = [task_total / self.samples for task_total in totals.values()]
        # Tasks without any finished episode count as unsolved.
        means += [0.0] * (self.size // self.samples - len(means))
        return mean_ci95([min(1.0, mean) for mean in means], (0.0, 1.0))

    @property
    def headline_success(self) -> Estimate:
        """Share of solved tasks; a lower bound if broken episodes are left out."""
        return self.success_lower_bound if self.left_out else self.success_estimate

    @property
    def headline_score(self) -> Estimate:
        """Mean final score; a lower bound if broken episodes are left out."""
        return self.score_lower_bound if self.left_out else self.score

    @property
    def turns_mean(self) -> float:
        """Mean number of turns."""
        return sum(row.turns for row in self.valid) / self.n

    @property
    def invalid_share(self) -> float | None:
        """Share of turns with an invalid action; None if not counted."""
        counted = [row for row in self.valid if row.invalid is not None]
        turns = sum(row.turns for row in counted)
        return sum(row.invalid or 0 for row in counted) / turns if turns else None

    @property
    def repeated_share(self) -> float | None:
        """Share of turns that repeat an earlier invalid action; None if not counted."""
        counted = [row for row in self.valid if row.repeated is not None]
        turns = sum(row.turns for row in counted)
        return sum(row.repeated or 0 for row in counted) / turns if turns else None

    @property
    def scaled(self) -> float | None:
        """The score on a scale with random at 0 and the expert at 100; None without this scale."""
        return self.scale.place(self.headline_score.value) if self.scale else None

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens of all episodes: ``prompt``, ``completion``, ``cached``, ``reasoning``."""
        kinds = ("prompt", "completion", "cached", "reasoning")
        return {kind: sum(getattr(row, f"{kind}_tokens") for row in self.rows) for kind in kinds}

    @property
    def tokens_per_second(self) -> float | None:
        """Completion tokens per second of all episodes together; None if unknown."""
        completion = self.tokens["completion"]
        return completion / self.seconds if completion and self.seconds else None

    @property
    def judges(self) -> dict[str, JudgeCount]:
        """Totals of the judges' verdicts on all turns, by hook name."""
        counts: dict[str, JudgeCount] = {}
        for row in self.rows:
            for name, count in row.judges.items():
                counts[name] = counts.get(name, JudgeCount()) + count
        return counts

    @property
    def costs(self) -> dict[str, EpisodeCosts]:
        """Costs of the episodes that count, by hook name."""
        costs = {name: cost for row in self.valid for name, cost in row.costs.items()}
        return {
            name: EpisodeCosts.of(
                # An episode without turns has no cost.
                [row.costs.get(name, replace(cost, amount=0.0)).amount for row in self.valid],
                cost.limit,
            )
            for name, cost in costs.items()
        }

    @property
    def cost(self) -> float | None:
        """Cost of all episodes in US dollars; None without prices."""
        return sum(map(self.prices.cost, self.rows)) if self.prices else None

    @property
    def stop_reasons(self) -> dict[str, int]:
        """Number of episodes by stop reason, the most frequent first."""
        return dict(Counter(row.stop_reason for row in self.rows).most_common())

    @property
    def finish_reasons(self) -> dict[str, int]:
        """Number of model responses by finish reason, the most frequent first."""
        counts = Counter[str]()
        for row in self.rows:
            counts.update(row.finish_reasons)
        return dict(counts.most_common())

    def pass_at(self, k: int) -> Estimate:
        """Estimate pass@k: the chance that at least one of k samples solves a task.

        The unbiased estimator of Chen et al. (arXiv 2107.03374), averaged over the tasks with at
        least k samples. Broken samples count as unsolved, so that no task is left out; if there are
        any, the estimate is a lower bound.

        Raises:
            ConfigurationError: No task has k samples.
        """
        return self._over_tasks(pass_at_k, k)

    def pass_hat(self, k: int) -> Estimate:
        """Estimate pass^k: the chance that all of k samples solve a task.

        The unbiased estimator of tau-bench (arXiv 2406.12045), averaged over the same tasks as
        `pass_at`. Broken samples count as unsolved here, too.

        Raises:
            ConfigurationError: No task has k samples.
        """
        return self._over_tasks(pass_hat_k, k)

    @property
    def draws(self) -> int:
        """The largest k for `pass_at`: the maximum number of finished samples of a task."""
        return max(Counter(row.task_id for row in self.rows).values(), default=0)

    def _over_tasks(self, estimator: Callable[[int, int, int], float], k: int) -> Estimate:
        tasks: dict[str, list[bool]] = {}
        for row in self.all_counted:
            tasks.setdefault(row.task_id, []).append(row.success)
        counts = [
            (len(outcomes), sum(outcomes)) for outcomes in tasks.values() if len(outcomes) >= k
        ]
        if k < 1 or not counts:
            raise ConfigurationError(
                f"expected k from 1 to the number of samples of a task, {self.samples}, got {k}: "
                "evaluate with more samples"
            )
        return mean_ci95([estimator(n, solved, k) for n, solved in counts], (0.0, 1.0))

    def by_label(self) -> dict[str, dict[str, list[EpisodeResult]]]:
        """Return all episodes by kind of task, broken ones as unsolved.

        Returns:
            Name of a label, such as ``task_type`` -> its values in order -> their episodes. Labels
            with the same value for all tasks, or with nearly as many values as tasks, are left out.
        """
        groups: dict[str, dict[str, list[EpisodeResult]]] = {}
        for row in self.all_counted:
            for name, value in row.labels.items():
                groups.setdefault(name, {}).setdefault(value, []).append(row)
        tasks = len({row.task_id for row in self.rows})
        return {
            name: dict(sorted(values.items(), key=lambda item: _natural(item[0])))
            for name, values in groups.items()
            # Two values are always informative, however few tasks there are.
            if 1 < len(values) < max(3, tasks // 2)
        }

    def figures(self) -> list[FigureResult]:
        """Return the figures of the protocol, in its order; empty without a protocol.

        Broken episodes count as unsolved.
        """
        figures = self.protocol.figures if self.protocol else ()
        return [_figure(figure, self.all_counted) for figure in figures]

    @property
    def departures(self) -> dict[str, tuple[Any, Any]]:
        """Settings other than the protocol's: name -> (the protocol's, the one used here)."""
        if self.protocol is None:
            return {}
        changes = dict(self.protocol.departures)
        all_tasks, planned = self.protocol.tasks, (self.planned or len(self.rows)) // self.samples
        if all_tasks is not None and planned != all_tasks:
            changes["num_tasks"] = (all_tasks, planned)
        return changes


class FigureResult(NamedTuple):
    """A figure of a protocol, measured."""

    name: str
    """Name in the paper."""
    estimate: Estimate | None
    """Value with its interval, in the paper's unit; None if there are no episodes of its kind."""
    n: int
    """Number of episodes in the mean."""
    scale: float = 1.0
    """Factor of the mean: 100 for percentages."""


def _figure(figure: ProtocolFigure, rows: Sequence[EpisodeResult]) -> FigureResult:
    """Compute a protocol's figure from the episodes of its kind."""
    kinds = figure.where.items()
    members = [row for row in rows if all(row.labels.get(name) == kind for name, kind in kinds)]
    if not members:
        return FigureResult(figure.name, None, 0, figure.scale)
    measured = (mean_score if figure.value == "score" else success_rate)(members)
    scaled_up = Estimate(*(figure.scale * value for value in measured))
    return FigureResult(figure.name, scaled_up, len(members), figure.scale)


def mean_score(rows: Sequence[EpisodeResult]) -> Estimate:
    """Estimate the mean score; the episodes of a task are averaged to one observation."""
    return mean_ci95(_task_means(rows, lambda row: row.score), (0.0, 1.0))


def success_rate(rows: Sequence[EpisodeResult]) -> Estimate:
    """Estimate the share of solved tasks.

    The interval is Wilson's; with several samples per task, the interval of a mean over tasks.
    """
    means = _task_means(rows, lambda row: float(row.success))
    if len(means) < len(rows):
        return mean_ci95(means, (0.0, 1.0))
    return wilson_ci95(sum(row.success for row in rows), len(rows))


def _task_means(
    rows: Sequence[EpisodeResult], value: Callable[[EpisodeResult], float]
) -> list[float]:
    """Return the mean of each task, in the order of the first episodes."""
    tasks: dict[str, list[float]] = {}
    for row in rows:
        tasks.setdefault(row.task_id, []).append(value(row))
    return [sum(values) / len(values) for values in tasks.values()]


def _natural(text: str) -> tuple[int, str]:
    """Return a sort key that orders numbers by value, before words."""
    return (int(text), "") if text.isdecimal() else (1 << 62, text)
