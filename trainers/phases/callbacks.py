"""What happens around the steps of reinforcement learning: records, validation, the end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from agentgym.tasks import Panel
from trainers.algorithms.schedule import Schedule
from trainers.config.resolve import VALID, ResolvedRun
from trainers.grpo.trainer import RolloutEvent
from trainers.output.curve import write_curve
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.best import BestPolicy
from trainers.phases.dashboards import Dashboards
from trainers.phases.health import FINITE
from trainers.phases.measured_trainer import KL_BEHAVIOUR, MeasuredTrainer
from trainers.phases.rollout_setup import panel_tasks
from trainers.phases.step_times import PARTS
from trainers.processes import broadcast, on_main
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory, rollout_metrics

STEP_FIGURES = ("loss", "grad_norm", "entropy", "learning_rate", "kl", KL_BEHAVIOUR, FINITE)
"""Figures of TRL's and of the measured trainer's that a step's record holds."""
CLIPPED = ("clip_ratio/region_mean", "cispo_clip_ratio")
"""TRL's names for the share of tokens whose ratio is clipped: of PPO's loss and of CISPO's."""


class RunLogger(TrainerCallback):
    """Write figures and episodes of every step, and show the progress.

    Attributes:
        turns: Turns of all training episodes so far.
        tokens: Tokens that were sampled in them.
        record: What has been written of the last step.
    """

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        chat: TurnTokenizer,
        schedule: Schedule,
    ) -> None:
        self._folder, self._display, self._schedule = folder, display, schedule
        self._updates = run.config.rl.updates
        self._logged = run.config.rl.log_groups * run.config.rl.group_size
        self._episodes = EpisodeLog(run, chat, run.make_hooks())
        self.turns = 0
        self.tokens = 0
        self._tokens = 0
        self.record: dict[str, Any] = {}
        self._began = time.perf_counter()
        self.reload()

    def reload(self) -> None:
        """Read from the records what has been, as after they were cut."""
        records = on_main(self._folder.metrics)
        steps = [record for record in records if record.get("phase") == Phase.REINFORCEMENT]
        self.turns = steps[-1]["turns_total"] if steps else 0
        self.tokens = steps[-1].get("tokens_total", 0) if steps else 0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the clock of the first step."""
        self._began = time.perf_counter()

    def on_rollout(self, event: RolloutEvent) -> None:
        """Take down one step's episodes."""
        self.turns += sum(len(trajectory.turns) for trajectory in event.trajectories)
        self._tokens = sum(trajectory.action_tokens for trajectory in event.trajectories)
        self.tokens += self._tokens
        self.record = {
            **{name.split("/", 1)[1]: value for name, value in event.metrics.items()},
            "phase": Phase.REINFORCEMENT,
            "step": event.step,
            "horizon": event.horizon,
            "stage": self._schedule.stage(event.step),
            "turns_total": self.turns,
            "tokens_total": self.tokens,
        }
        self._episodes.append(self._folder.episodes_path, event.trajectories[: self._logged])

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Write the step's line, with the optimiser's figures."""
        # TRL logs once more at the end of all, without a loss.
        if not self.record or logs is None or "loss" not in logs:
            return
        now = time.perf_counter()
        seconds, self._began = now - self._began, now
        for name in STEP_FIGURES:
            if name in logs:
                self.record[name.rsplit("/", 1)[-1]] = _number(logs[name])
        # At a single update per step the ratio is 1, and there is nothing to clip.
        for name in CLIPPED if self._updates > 1 else ():
            if name in logs:
                self.record["clip_fraction"] = _number(logs[name])
        self.record["seconds"] = seconds
        self.record["time"] = {part: logs[f"time/{part}"] for part in PARTS}
        self._folder.log(**self.record)
        self._display.update(
            self.record["step"],
            horizon=self.record["horizon"],
            reward=self.record["return"],
            success=self.record["success"],
            tokens_s=self._tokens / max(seconds, 1e-9),
        )

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Draw the curve and note the time along with every checkpoint."""
        write_curve(self._folder)
        self._folder.note()


def _number(value: float) -> float | None:
    """Return a figure as JSON can hold it: one that is no number is None."""
    return float(value) if math.isfinite(value) else None


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
        self._panel: Panel = run.panel(VALID, run.config.eval.valid_tasks)
        self._episodes = EpisodeLog(run, chat, panel_sha256=self._panel.sha256)

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
        played = self._play(panel_tasks(self._panel))
        self._episodes.append(self._folder.eval_episodes(Phase.VALIDATION), played, step=step)
        figures = rollout_metrics(played)
        result = {name: figures[f"rollout/{name}"] for name in ("score", "success")}
        self._folder.log(phase=Phase.VALIDATION, step=step, turns_total=self._log.turns, **result)
        self._dashboards.figures(**{f"eval_{name}": value for name, value in result.items()})

    def finish(self, step: int) -> None:
        """Validate the last policy, too, so that it can be the best."""
        if not self._every:
            return
        if not on_main(lambda: self._folder.validated(step)):
            self._folder.drop_validation(step)  # Half of one, left by a kill.
            self.validate(step)
        self._best.keep(step)


class StopConditions(TrainerCallback):
    """End the training when its time is up or its budget of turns is spent."""

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, display: Display, log: RunLogger
    ) -> None:
        self._folder, self._display, self._log = folder, display, log
        self._seconds, self._turns = run.seconds, run.config.rl.turn_budget
        self._updates = run.config.rl.updates

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Ask for the end."""
        step, update = divmod(state.global_step, self._updates)
        if update:
            return  # In the middle of a step: its episodes serve for more updates.
        late = self.late
        if late:
            self._display.note(f"time is up: training ends at step {step}")
        if late or self._spent:
            # Saved, so that a run which is killed after this goes on with just these weights.
            control.should_training_stop = control.should_save = True

    @property
    def met(self) -> bool:
        """Whether training is to end."""
        return self.late or self._spent

    @property
    def late(self) -> bool:
        """Whether the time is up, by the clock of the main process; all processes ask together."""
        return broadcast(self._folder.seconds() > self._seconds)

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
