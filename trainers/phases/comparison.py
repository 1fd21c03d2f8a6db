"""The policies that a run compares, on the same held-out tasks and at the full horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agentgym.errors import EnvFailure
from agentgym.evaluation import Report, Row, evaluate, paired_difference, scaled
from agentgym.outcome import StopReason
from trainers import processes
from trainers.config.resolve import TEST, ResolvedRun
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.output.summary import ARMS, GREEDY, ArmResult, Difference, GreedyResults, Paired
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.safe_env import GuardedEnv
from trainers.rollouts.trajectory import Trajectory

BASELINES = ("random", "oracle")
SOLVES = 0.9
"""Success from which an expert is one: below it, its score is no 100 on any scale."""


def evaluation_row(trajectory: Trajectory) -> Row:
    """Return an episode of a learned policy as a row of a report."""
    return Row(
        trajectory.task_id,
        trajectory.score,
        trajectory.success,
        len(trajectory.turns),
        trajectory.episode_return,
        trajectory.stop_reason,
        trajectory.error,
    )


class PolicyComparison:
    """Keep the results of the compared policies in the run's folder, as they come in."""

    def __init__(self, run: ResolvedRun, folder: RunFolder) -> None:
        self._run, self._folder = run, folder
        self.panel = run.panel(TEST, run.config.eval.tasks)
        self._reports = processes.on_main(self._stored)

    def _stored(self) -> dict[str, Report]:
        """Read the results that were recorded before."""
        reports = {}
        for record in self._folder.metrics():
            if record.get("phase") == Phase.COMPARISON:
                rows = tuple(Row(**row) for row in record["rows"])
                reports[record["arm"]] = self._report(record["arm"], rows)
        return reports

    def __contains__(self, arm: str) -> bool:
        """Return whether an arm has been evaluated."""
        return arm in self._reports

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """Reset options of the panel's tasks."""
        return panel_tasks(self.panel)

    def add_baselines(self) -> None:
        """Play the random policy and, where there is one, the expert; their episodes are kept.

        The main process does, as nothing of the policy is needed; all know the results.

        Raises:
            EnvFailure: The environment failed in every episode.
        """
        self._reports = processes.on_main(self._with_baselines)

    def _with_baselines(self) -> dict[str, Report]:
        """Add the results of the baselines that are not there yet."""
        settings = self._run.config.rollout
        env: GuardedEnv | str = self._run.env_id
        where: dict[str, Any] = {}
        if settings.backend == "sync":
            env = GuardedEnv(self._run.make_env())
        else:
            # There a hanging environment can be given up.
            where = {
                "env_kwargs": self._run.env_kwargs,
                "backend": settings.backend,
                "workers": settings.workers,
                "step_timeout": settings.step_timeout,
            }
        try:
            for arm in BASELINES if self._run.has_expert else BASELINES[:1]:
                if arm in self:
                    continue
                record = self._folder.eval_episodes(arm)
                record.unlink(missing_ok=True)  # Of a run that was killed here.
                report = evaluate(
                    arm, env, TEST, len(self.panel), self.panel.seed,
                    horizon=self._run.config.eval.horizon, record=record, **where,
                )  # fmt: skip
                self._store(arm, report.rows)
        finally:
            if isinstance(env, GuardedEnv):
                env.close()
        return self._reports

    @property
    def scale(self) -> tuple[float, float] | None:
        """Scores of the random policy and the expert, between which others are put; or None."""
        if self.no_scale:
            return None
        floor, ceiling = (self._reports[arm].score_mean for arm in BASELINES)
        return floor, ceiling

    @property
    def no_scale(self) -> str:
        """Why there is no scale from 0, random, to 100, the expert; empty if there is one."""
        if "oracle" not in self:
            return (
                "This environment has no expert: there is no warm start from demonstrations and "
                "no scale on which an expert is 100."
            )
        floor, ceiling = (self._reports[arm] for arm in BASELINES)
        if ceiling.success < SOLVES:
            solved = sum(row.success for row in ceiling.valid)
            return (
                f"The expert solves only {solved} of these {ceiling.n} tasks within "
                f"{self._run.config.eval.horizon} turns (score {ceiling.score_mean:.3f}), so there "
                "is no scale on which it is 100; a longer --horizon lets it finish."
            )
        if ceiling.score_mean <= floor.score_mean:
            return (
                f"The expert scores {ceiling.score_mean:.3f} and random actions "
                f"{floor.score_mean:.3f}, so there is no scale between them: these tasks need no "
                "skill."
            )
        return ""

    def add(self, arm: str, trajectories: Sequence[Trajectory]) -> Report:
        """Record the episodes of a learned policy, one per task of the panel and in its order.

        Raises:
            EnvFailure: Every episode was lost to a failed environment.
        """
        rows = [evaluation_row(trajectory) for trajectory in trajectories]
        if all(row.stop_reason == StopReason.ERROR.value for row in rows):
            raise EnvFailure(
                f"expected episodes of {self._run.env_id} to evaluate, but all {len(rows)} "
                f"failed; first: {rows[0].error}"
            )
        return self._store(arm, rows)

    def results(self) -> dict[str, ArmResult]:
        """Return the result of every arm that has been evaluated, in the order of ``ARMS``."""
        return {arm: self._result(arm) for arm in ARMS if arm in self}

    def paired(self) -> Paired:
        """Compare the policy after reinforcement learning with the one before it."""
        return Paired(self.difference("rl", "sft"))

    def greedy(self) -> GreedyResults | None:
        """Return the results of greedy actions; None if they were not asked for in addition."""
        after, before = f"rl{GREEDY}", f"sft{GREEDY}"
        if after not in self:
            return None
        return GreedyResults(
            self._result(before), self._result(after), self.difference(after, before)
        )

    def difference(self, arm: str, base: str) -> Difference:
        """Return the mean differences of an arm and its base, task by task, with 95 % intervals.

        Tasks that failed in either arm are left out.
        """
        first = {row.task_id: row for row in self._reports[arm].valid}
        second = {row.task_id: row for row in self._reports[base].valid}
        ids = [task_id for task_id in first if task_id in second]
        score = paired_difference([first[i].score for i in ids], [second[i].score for i in ids])
        success = paired_difference(
            [float(first[i].success) for i in ids], [float(second[i].success) for i in ids]
        )
        return Difference(len(ids), score.value, score[1:], success.value, success[1:])

    def _result(self, arm: str) -> ArmResult:
        """Return the figures of one arm; ``scaled`` is None where there is no scale."""
        report = self._reports[arm]
        return ArmResult(
            n=report.n,
            score_mean=report.score_mean,
            score_ci95=report.score_ci95,
            success=report.success,
            success_ci95=report.success_ci95,
            turns_mean=report.turns_mean,
            scaled=self._scaled(report.score_mean),
        )

    def _scaled(self, score: float) -> float | None:
        """Put a score on the scale from 0, random, to 100, oracle."""
        scale = self.scale
        return None if scale is None else scaled(score, *scale)

    def _store(self, arm: str, rows: Sequence[Row]) -> Report:
        report = self._report(arm, tuple(rows))
        self._reports[arm] = report
        plain = [asdict(row) for row in rows]
        self._folder.log(
            phase=Phase.COMPARISON, arm=arm, panel_sha256=self.panel.sha256, rows=plain
        )
        return report

    def _report(self, arm: str, rows: tuple[Row, ...]) -> Report:
        return Report(self._run.env_id, arm, TEST, self.panel.seed, self.panel.sha256, rows)
