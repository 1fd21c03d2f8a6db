"""What happens between the steps of training: validation, the end, a first checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trainers.config.environments import VALID
from trainers.config.resolve import ResolvedRun
from trainers.monitoring.dashboards import Dashboards
from trainers.monitoring.measured_trainer import MeasuredTrainer
from trainers.monitoring.run_logger import RunLogger
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.best import BestPolicy
from trainers.phases.learning_clock import LearningClock
from trainers.phases.rollout_setup import panel_tasks
from trainers.processes import on_main
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory, by_family, rollout_metrics

Play = Callable[[Sequence[Mapping[str, Any]]], list[Trajectory]]
"""Plays held-out tasks with the present policy."""


class Validation(TrainerCallback):
    """Play the validation tasks every few steps and at the end, at the full horizon."""

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        chat: TurnTokenizer,
        play: Play,
        log: RunLogger,
        dashboards: Dashboards,
        best: BestPolicy,
    ) -> None:
        self._folder, self._play, self._log, self._best = folder, play, log, best
        self._dashboards = dashboards
        self._every, self._updates = run.config.eval.every, run.config.rl.updates
        panels = {env.name: env.panel(VALID, run.config.eval.valid_tasks) for env in run.envs}
        self._tasks, self._several = panel_tasks(panels, run), run.several
        hashes = {name: panel.sha256 for name, panel in panels.items()}
        self._episodes = EpisodeLog(run, chat, panels=hashes)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Validate, if it is time; ask for a checkpoint along with a policy that is kept."""
        step, update = divmod(state.global_step, self._updates)
        if self._every and not update and step % self._every == 0:
            self.validate(step)
            control.should_save |= self._best.better is not None

    def validate(self, step: int) -> None:
        """Play the validation tasks after so many steps and record the result."""
        played = self._play(self._tasks)
        result, parts = _result(played), by_family(played)
        families = {name: _result(part) for name, part in parts.items()} if self._several else {}
        for name, part in parts.items():
            path = self._folder.eval_episodes(Phase.VALIDATION, name if self._several else "")
            self._episodes.append(path, part, step=step)
        self._folder.log(
            phase=Phase.VALIDATION, step=step, turns_total=self._log.turns, **result,
            **({"families": families} if families else {}),
        )  # fmt: skip
        self._dashboards.figures(
            **{f"eval_{name}": value for name, value in result.items()},
            **{f"eval_{f}_{name}": v for f, of in families.items() for name, v in of.items()},
        )

    def finish(self, step: int) -> None:
        """Validate the last policy, too, so that it can be the best."""
        if not self._every:
            return
        if not on_main(lambda: self._folder.validated(step)):
            self._folder.drop_validation(step)  # Half of one, left by a kill.
            self.validate(step)
        self._best.keep(step)


def _result(played: Sequence[Trajectory]) -> dict[str, float]:
    """Return mean score and success."""
    figures = rollout_metrics(played)
    return {name: figures[f"rollout/{name}"] for name in ("score", "success")}


class StopConditions(TrainerCallback):
    """End the training when its time is up or its budget of turns is spent.

    Attributes:
        clock: That of reinforcement learning, which goes on from here.
    """

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, display: Display, log: RunLogger
    ) -> None:
        self._display, self._log = display, log
        self.clock, self._turns = LearningClock(run, folder), run.config.rl.turn_budget
        self._updates = run.config.rl.updates

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Ask for the end."""
        step, update = divmod(state.global_step, self._updates)
        if update:
            return  # In the middle of a step: its episodes serve for more updates.
        late = self.clock.late
        if late:
            self._display.note(f"time is up: training ends at step {step}")
        if late or self._spent:
            # Saved, so that a run which is killed after this goes on with just these weights.
            control.should_training_stop = control.should_save = True

    @property
    def met(self) -> bool:
        """Whether training is to end."""
        return self.clock.late or self._spent

    @property
    def _spent(self) -> bool:
        """Whether the turns are used up, which all processes count alike."""
        return self._turns > 0 and self._log.turns >= self._turns


class FirstCheckpoint(TrainerCallback):
    """Save where training begins, if an alarm is to lead back there."""

    def __init__(self, run: ResolvedRun, trainer: MeasuredTrainer) -> None:
        self._wanted = run.config.health.on_alarm == "rollback"
        self._trainer = trainer

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Save, unless that was done; a second time the generators would be elsewhere."""
        done = (Path(args.output_dir) / "checkpoint-0" / "trainer_state.json").exists()
        if self._wanted and not state.global_step and not done:
            self._trainer.save_start()
