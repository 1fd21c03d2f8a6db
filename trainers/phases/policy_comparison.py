"""The comparison of a run's policies on the same held-out tasks at the full horizon.

With several environments there is one comparison per environment and one over all tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from agentgym.core import TextEnv
from agentgym.core.outcome import StopReason
from agentgym.errors import EnvFailure
from agentgym.evaluation import EpisodeResult, Report, Scale, evaluate, paired_difference
from agentgym.evaluation.episode_result import repeated_actions
from agentgym.evaluation.reports.report_tables import REMEDY, UNKNOWN
from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import EXPERT, TEST, ResolvedEnv
from trainers.output.phase import Phase
from trainers.output.remarks import arm_names, verdict
from trainers.output.roles import (
    BASE_MODEL,
    BASELINES,
    DEMONSTRATOR,
    GREEDY,
    LEARNED,
    ORACLE,
    RANDOM,
    ROLES,
    TRAINED,
    WARM_START,
    field_of,
)
from trainers.output.run_folder import RunFolder
from trainers.output.summary import (
    ArmResult,
    Difference,
    Evaluation,
    GreedyResults,
    Horizon,
    Paired,
    Results,
    WarmStart,
)
from trainers.phases.rollout_setup import panel_tasks
from trainers.rollouts.trajectory import Trajectory, by_family

REFERENCES = (RANDOM, ORACLE, DEMONSTRATOR)
"""Policies that do not learn: random actions, the oracle, and the demonstrator if another than the
family's default is chosen."""
COMPARED = (WARM_START, *BASELINES, BASE_MODEL, DEMONSTRATOR)
"""Policies with which the trained one is compared task by task."""
ENDS = (RANDOM, ORACLE)
"""References that define 0 and 100 on the scale."""


def evaluation_row(trajectory: Trajectory) -> EpisodeResult:
    """Return an episode of a learned policy as a row of a report."""
    invalid = [turn.text for turn in trajectory.turns if not turn.valid]
    return EpisodeResult(
        trajectory.task_id,
        trajectory.score,
        trajectory.success,
        len(trajectory.turns),
        trajectory.episode_return,
        trajectory.stop_reason,
        trajectory.error,
        len(invalid),
        repeated_actions(invalid),
    )


class PolicyComparison:
    """Store the results of the compared policies in the run's folder as they arrive.

    Attributes:
        tasks: Reset options of the held-out tasks.
        panels: Hash of the held-out tasks of each environment.
        parts: The comparison in each environment.
    """

    def __init__(self, run: ResolvedRun, folder: RunFolder) -> None:
        self._run, self._folder = run, folder
        parts = [EnvComparison(run, env, folder) for env in run.envs]
        self.parts = {part.env.name: part for part in parts}
        panels = {name: part.panel for name, part in self.parts.items()}
        self.tasks = panel_tasks(panels, run)
        self.panels = {name: panel.sha256 for name, panel in panels.items()}
        self._take_over(processes.on_main(lambda: [part.stored() for part in parts]))

    def __contains__(self, arm: str) -> bool:
        """Return whether an arm has been evaluated in every environment."""
        return all(arm in part.reports for part in self.parts.values())

    @property
    def reference_episodes(self) -> int:
        """Episodes that :meth:`add_references` will play."""
        return sum(len(part.missing_references) * len(part.panel) for part in self.parts.values())

    def add_references(self, on_episode: Callable[[], None] = lambda: None) -> None:
        """Play the random policy and, if available, the expert; their episodes are stored.

        Only the main process plays, since the policy is not needed; all processes get the results.

        Args:
            on_episode: Called for each episode as it ends.

        Raises:
            EnvFailure: An environment failed in every episode.
        """
        self._take_over(
            processes.on_main(
                lambda: [part.with_references(on_episode) for part in self.parts.values()]
            )
        )

    def _take_over(self, reports: Sequence[dict[str, Report]]) -> None:
        """Copy the results of the main process."""
        for part, part_reports in zip(self.parts.values(), reports, strict=True):
            part.reports = part_reports

    def add(self, arm: str, trajectories: Sequence[Trajectory]) -> Report:
        """Record the episodes of a learned policy, one per task.

        Raises:
            EnvFailure: Every episode of an environment broke.
        """
        families = by_family(trajectories)
        for name, part in self.parts.items():
            part.add(arm, families[name])
        return self._pooled(arm)

    def success(self, arm: str) -> float:
        """Return the success of a policy over the tasks of all environments."""
        return self._pooled(arm).success

    def repeated_share(self, arm: str) -> float:
        """Return the share of a policy's turns that repeat an earlier invalid action."""
        return (self._pooled(arm).repeated_share or 0.0) if arm in self else 0.0

    def scale_remarks(self) -> Iterator[str]:
        """Explain for each environment without a scale or with unknown success why that is so."""
        for name, part in self.parts.items():
            if any(report.success_unknown for report in part.reports.values()):
                remark = f"{UNKNOWN.capitalize()}: {REMEDY}."
                yield f"{name}: {remark}" if self._run.several else remark
            if part.no_scale:
                yield f"{name}: {part.no_scale}" if self._run.several else part.no_scale

    def results(self, warm_starts: Mapping[str, WarmStart]) -> Results:
        """Return the comparison, over the tasks of all environments."""
        if not self._run.several:
            (part,) = self.parts.values()
            return part.results(warm_starts.get(part.env.name))
        reports = {arm: self._pooled(arm) for arm in self._arms()}
        hashes = ",".join(f"{name}={sha256}" for name, sha256 in self.panels.items())
        return _results(
            self._run,
            reports,
            env=self._run.title,
            panel_sha256=hashlib.sha256(hashes.encode()).hexdigest(),
            full_horizon=max(env.full_horizon for env in self._run.envs),
        )

    def families(self, warm_starts: Mapping[str, WarmStart]) -> dict[str, Results]:
        """Return the comparison in each environment, if there are several."""
        if not self._run.several:
            return {}
        return {name: part.results(warm_starts.get(name)) for name, part in self.parts.items()}

    def sizes(self) -> dict[str, int]:
        """Return the number of held-out tasks of each environment."""
        return {name: len(part.panel) for name, part in self.parts.items()}

    def _arms(self) -> Iterator[str]:
        """Yield the arms that were evaluated in every environment."""
        first, *later_parts = self.parts.values()
        for arm in first.reports:
            if all(arm in part.reports for part in later_parts):
                yield arm

    def _pooled(self, arm: str) -> Report:
        """Return the result of a policy over the tasks of all environments."""
        parts = self.parts.values()
        if not self._run.several:
            return next(iter(parts)).reports[arm]
        rows = tuple(
            replace(row, task_id=f"{part.env.name}:{row.task_id}")
            for part in parts
            for row in part.reports[arm].rows
        )
        first = next(iter(parts)).reports[arm]
        return replace(first, env_id=self._run.title, rows=rows)


class EnvComparison:
    """The comparison in one environment.

    Attributes:
        env: The environment.
        panel: Its held-out tasks.
        reports: Result of every arm that has been evaluated.
    """

    def __init__(self, run: ResolvedRun, env: ResolvedEnv, folder: RunFolder) -> None:
        self._run, self._folder, self.env = run, folder, env
        self.panel = env.panel(TEST, env.eval_tasks)
        self._where = env.name if run.several else ""
        self.reports: dict[str, Report] = {}

    def stored(self) -> dict[str, Report]:
        """Read the results that were recorded before."""
        reports = {}
        for record in self._folder.metrics():
            if record.get("phase") != Phase.COMPARISON or record.get("family", "") != self._where:
                continue
            rows = tuple(EpisodeResult(**row) for row in record["rows"])
            reports[record["arm"]] = self._report(record["arm"], rows)
        return reports

    @property
    def missing_references(self) -> list[str]:
        """References without results."""
        expert = self.env.has_expert
        can = {
            RANDOM: True,
            ORACLE: expert,
            DEMONSTRATOR: expert and EXPERT in self.env.kwargs,
        }
        return [arm for arm in REFERENCES if can[arm] and arm not in self.reports]

    def with_references(self, on_episode: Callable[[], None]) -> dict[str, Report]:
        """Add the results of missing references."""
        for arm in self.missing_references:
            self._play_reference(arm, on_episode)
        return self.reports

    def _play_reference(self, arm: str, on_episode: Callable[[], None]) -> None:
        """Play a policy that does not learn."""
        config, resolved = self._run.config, self.env
        env: str | TextEnv = resolved.env_id
        placement: dict[str, Any] = {}
        if config.backend == "sync":
            env = resolved.make_env()
        else:
            # These back ends can abandon a hanging environment.
            placement = {
                "env_kwargs": resolved.kwargs,
                "backend": config.backend,
                "concurrency": config.workers,
                "step_timeout": config.step_timeout,
            }
        record = self._folder.eval_episodes(arm, self._where)
        record.unlink(missing_ok=True)  # Left over by a run that was killed here.
        try:
            report = evaluate(
                arm,
                env, TEST, len(self.panel), self.panel.seed,
                horizon=self.env.full_horizon, record=record, on_episode=lambda _: on_episode(),
                **placement,
            )  # fmt: skip
        finally:
            if not isinstance(env, str):
                env.close()
        self._store(arm, report.rows)

    @property
    def scale(self) -> Scale:
        """The scale from 0, the score of the random policy, to 100, that of the expert."""
        floor, ceiling = (self.reports.get(arm) for arm in ENDS)
        return Scale(
            floor.score_mean if floor else 0.0,
            ceiling.score_mean if floor and ceiling else None,
            ceiling.success if ceiling else None,
        )

    @property
    def no_scale(self) -> str:
        """Why there is no scale; empty if there is one."""
        problem = self.scale.problem
        return f"There is no scale from 0 to 100: {problem}." if problem else ""

    def add(self, arm: str, trajectories: Sequence[Trajectory]) -> None:
        """Record the episodes of a learned policy, one per task of the panel and in its order.

        Raises:
            EnvFailure: The environment failed in every episode.
        """
        rows = [evaluation_row(trajectory) for trajectory in trajectories]
        if all(row.stop_reason == StopReason.ERROR.value for row in rows):
            raise EnvFailure(
                f"expected episodes of {self.env.env_id} to evaluate, but all {len(rows)} "
                f"failed; first: {rows[0].error}"
            )
        self._store(arm, rows)

    def results(self, warm_start: WarmStart | None) -> Results:
        """Return the comparison."""
        env = self.env
        results = _results(
            self._run,
            self.reports,
            env=env.title,
            panel_sha256=self.panel.sha256,
            full_horizon=env.full_horizon,
            scale=self.scale,
        )
        horizon = Horizon(env.rounds, env.horizon_every, env.fit_horizon)
        return replace(results, horizon=horizon, warm_start=warm_start)

    def _store(self, arm: str, rows: Sequence[EpisodeResult]) -> None:
        self.reports[arm] = self._report(arm, tuple(rows))
        of = {"family": self._where} if self._where else {}
        entries = [asdict(row) for row in rows]
        self._folder.log(
            phase=Phase.COMPARISON, arm=arm, panel_sha256=self.panel.sha256, rows=entries, **of
        )

    def _report(self, arm: str, rows: tuple[EpisodeResult, ...]) -> Report:
        return Report(
            self.env.env_id, arm, TEST, self.panel.seed, self.panel.sha256, rows, failed="count"
        )


def _results(
    run: ResolvedRun,
    reports: Mapping[str, Report],
    *,
    env: str,
    panel_sha256: str,
    full_horizon: int,
    scale: Scale | None = None,
) -> Results:
    """Assemble a comparison, with policies in the order of ``ROLES``."""
    names = arm_names(run)
    paired = Paired(**_differences(reports, "", COMPARED))
    baselines = [arm for arm in BASELINES if arm in reports]
    strongest_baseline = max(
        baselines, key=lambda arm: (reports[arm].success, reports[arm].score_mean), default=""
    )
    greedy = None
    if f"{TRAINED}{GREEDY}" in reports:
        parts: dict[str, Any] = {
            field_of(arm): _arm_result(reports[f"{arm}{GREEDY}"], scale)
            for arm in LEARNED
            if f"{arm}{GREEDY}" in reports
        }
        greedy = GreedyResults(**parts, **_differences(reports, GREEDY, (WARM_START, *BASELINES)))
    return Results(
        env=env,
        eval={arm: _arm_result(reports[arm], scale) for arm in ROLES if arm in reports},
        paired=paired,
        evaluation=Evaluation(
            split=TEST,
            panel_sha256=panel_sha256,
            decoding="greedy" if run.config.eval.greedy else "sampled",
            horizon=full_horizon,
        ),
        verdict=verdict(paired, names, strongest_baseline),
        names=names,
        strongest_baseline=strongest_baseline,
        greedy=greedy,
    )


def _differences(reports: Mapping[str, Report], suffix: str, arms: Iterable[str]) -> dict[str, Any]:
    """Compare the trained policy with the others that were evaluated."""
    trained = reports[f"{TRAINED}{suffix}"]
    return {
        f"trained_minus_{field_of(arm)}": difference(trained, reports[f"{arm}{suffix}"])
        for arm in arms
        if f"{arm}{suffix}" in reports
    }


def difference(new_report: Report, old_report: Report) -> Difference:
    """Return the mean differences of two arms, task by task, with 95 % intervals.

    Episodes of a failed environment count as unsolved.
    """
    first, second = _by_task(new_report.valid), _by_task(old_report.valid)
    ids = [task_id for task_id in first if task_id in second]
    score = paired_difference([first[i].score for i in ids], [second[i].score for i in ids])
    success = paired_difference(
        [float(first[i].success) for i in ids], [float(second[i].success) for i in ids]
    )
    return Difference(len(ids), score.value, score[1:], success.value, success[1:])


def _by_task(rows: Iterable[EpisodeResult]) -> dict[str, EpisodeResult]:
    return {row.task_id: row for row in rows}


def _arm_result(report: Report, scale: Scale | None) -> ArmResult:
    """Return the figures of one policy; ``scaled`` is None without a scale."""
    return ArmResult(
        n=report.n,
        score_mean=report.score_mean,
        score_ci95=report.score_ci95,
        success=report.success,
        success_ci95=report.success_ci95,
        turns_mean=report.turns_mean,
        scaled=None if scale is None else scale.place(report.score_mean),
    )
