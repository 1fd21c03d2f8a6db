"""The work between two steps of reinforcement learning, in order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from trainers import processes
from trainers.config.resolve import ResolvedRun
from trainers.grpo.step_end import StepEnd
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.output.curve import write_curve
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.best import BestPolicy
from trainers.phases.equal_compute import GENERATION
from trainers.phases.learning_clock import LearningClock, note_cut
from trainers.phases.monitoring.dashboards import Dashboards
from trainers.phases.monitoring.health_watch import HealthWatch
from trainers.phases.monitoring.run_logger import RunLogger
from trainers.phases.periodic_validation import PeriodicValidation
from trainers.phases.spending import Spent, check_left, spent_on_imitation
from trainers.phases.timed_checkpoints import TimedCheckpoints

__all__ = ["AfterStep", "StopConditions"]


class StopConditions:
    """Checks whether the training time or a budget is used up.

    Attributes:
        clock: The clock of reinforcement learning, which continues from here.
    """

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, display: Display, log: RunLogger
    ) -> None:
        self._folder, self._display, self._log = folder, display, log
        self.clock, self._turns = LearningClock(run, folder), run.config.rl.turn_budget
        self._run = run
        self._imitation = processes.on_main(lambda: spent_on_imitation(folder))

    def check(self) -> None:
        """Check that time and budget allow a first step.

        Raises:
            ConfigurationError: They are.
        """
        self.clock.check()
        check_left(self._run, self._imitation)

    def should_end(self, step: int | None = None) -> bool:
        """Whether training should end, after a step if one is given; all processes call it."""
        late = self.clock.late
        if late and step is not None:
            self._display.note(f"time is up: training ends at step {step}")
            note_cut(self._folder, Phase.REINFORCEMENT, step)
        # All processes count the same turns.
        return late or 0 < self._turns <= self._log.turns or self._spent()

    def _spent(self) -> bool:
        """Return whether imitation and RL together have reached a limit of the budget."""
        imitation, log, budget = self._imitation, self._log, self._run.budget
        passes = self._run.config.rl.num_iterations + GENERATION
        spent = Spent(
            imitation.turns + log.turns,
            imitation.episodes + log.episodes,
            imitation.tokens + log.row_tokens * passes,
        )
        return spent.reaches(Spent(budget.turns, budget.episodes, budget.tokens))


@dataclass(eq=False)
class AfterStep(TrainerCallback):
    """Carry out the work due before the first step and after each step."""

    run: ResolvedRun
    folder: RunFolder
    trainer: MultiTurnTrainer
    log: RunLogger
    dashboards: Dashboards
    validation: PeriodicValidation
    best: BestPolicy
    stop: StopConditions
    health: HealthWatch
    checkpoints: TimedCheckpoints

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Start, or continue from the loaded checkpoint."""
        self.log.start()
        self.dashboards.on_train_begin(args, state, control, **kwargs)
        # A kill may have come between a checkpoint and the best policy that it was saved for.
        self.best.keep(self.trainer.batches)
        # A rollback may lead back to the start, so save it: repeated, the generators would differ.
        start = Path(args.output_dir) / "checkpoint-0" / TRAINER_STATE_NAME
        goes_back = self.run.config.health.on_alarm == "rollback"
        if goes_back and not state.global_step and not start.exists():
            self.trainer.save_start()

    def after_step(self, end: StepEnd) -> None:
        """Validate, record, check health, save: each part sees the output of the previous ones.

        A process may be killed at any point. It then continues from the last checkpoint and
        rewrites the records of later steps identically.
        """
        step, save = end.step, end.due
        # 1. The policy on held-out tasks. One that is better than all before it is saved below.
        if self.validation.due(step):
            self.validation.validate(step)
            save |= self.best.better is not None
        # 2. Time and turns. Saved, so that a run that is killed after this continues with these
        # weights.
        if self.stop.should_end(step):
            end.stop()
            save = True
        # 3. The step's figures: in metrics.jsonl and on the screen, then on the dashboards.
        figures = end.log()
        record = self.log.write(figures)
        trainer = self.trainer
        self.dashboards.on_log(
            trainer.args, trainer.state, trainer.control, logs=figures, model=trainer.model
        )
        # 4. Alarms, which read that record. One that sends training back does so when TRL's loop
        #    has ended, in Reinforcement.train.
        alarm = self.health.judge(record)
        if alarm is not None:
            end.stop()
            save = self.health.keeps(alarm)
        # 5. The checkpoint, and only then the best policy: a run that is killed never goes on from
        #    before the policy that is kept.
        by_time = not save and self.checkpoints.due
        if save or by_time:
            self.checkpoints.save(end, by_time=by_time)
            write_curve(self.folder, self.run.title)
            self.folder.note()
            self.best.keep(step)
