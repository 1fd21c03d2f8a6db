"""Periodic validation of the current policy on held-out tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import VALID
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.monitoring.dashboards import Dashboards
from trainers.phases.monitoring.run_logger import RunLogger
from trainers.phases.rollout_setup import panel_tasks
from trainers.processes import on_main
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.episode_figures import rollout_metrics
from trainers.rollouts.trajectory import Trajectory, by_family

__all__ = ["PeriodicValidation"]

Play = Callable[[Sequence[Mapping[str, Any]]], list[Trajectory]]
"""Plays held-out tasks with the current policy."""


class PeriodicValidation:
    """Play the validation tasks every few steps and at the end, at the full horizon."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        chat: TurnTokenizer,
        play: Play,
        log: RunLogger,
        dashboards: Dashboards,
    ) -> None:
        self._folder, self._play, self._log = folder, play, log
        self._dashboards, self._interval = dashboards, run.config.eval.every
        self._updates = run.config.rl.updates
        envs = run.envs if self._interval else ()
        panels = {env.name: env.panel(VALID, run.config.eval.valid_tasks) for env in envs}
        self._tasks, self._several = panel_tasks(panels, run), run.several
        hashes = {name: panel.sha256 for name, panel in panels.items()}
        self._episodes = EpisodeLog(run, chat, panels=hashes)

    def due(self, step: int) -> bool:
        """Whether the policy is validated after a step."""
        return bool(self._interval) and step % self._interval == 0

    def validate(self, step: int) -> None:
        """Play the validation tasks after ``step`` steps and record the result."""
        trajectories = self._play(self._tasks)
        result, parts = _result(trajectories), by_family(trajectories)
        families = {name: _result(part) for name, part in parts.items()} if self._several else {}
        for name, part in parts.items():
            path = self._folder.eval_episodes(Phase.VALIDATION, name if self._several else "")
            self._episodes.append(path, part, step=step)
        self._folder.log(
            phase=Phase.VALIDATION, step=step, turns_total=self._log.turns, **result,
            **({"families": families} if families else {}),
        )  # fmt: skip
        self._dashboards.figures(
            step * self._updates,
            **{f"eval_{name}": value for name, value in result.items()},
            **{f"eval_{f}_{name}": v for f, of in families.items() for name, v in of.items()},
        )

    def finish(self, step: int) -> None:
        """Validate the last policy if it has not been validated yet."""
        if self._interval and not on_main(lambda: self._folder.validated(step)):
            self._folder.drop_validation(step)  # A partial one, left by a kill.
            self.validate(step)


def _result(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return mean score and success."""
    figures = rollout_metrics(trajectories)
    return {name: figures[f"rollout/{name}"] for name in ("score", "success")}
