"""The second phase of a run: reinforcement learning with a growing horizon."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import (
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from agentgym.tasks import Panel
from trainers.algorithms.schedule import Schedule
from trainers.config.resolve import VALID, ResolvedRun
from trainers.grpo.arguments import grpo_arguments
from trainers.grpo.precision import precision_arguments
from trainers.grpo.trainer import MultiTurnTrainer, RolloutEvent
from trainers.models.policy import LoadedPolicy, adapters
from trainers.output.curve import write_curve
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import RunFolder
from trainers.phases.rollout_setup import panel_tasks, rollout_setup
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.trajectory import Trajectory, rollout_metrics, without_terms

if TYPE_CHECKING:
    from trl import GRPOConfig

CHECKPOINTS = "rl"
"""Folder of TRL's checkpoints."""
TRL_STATE = "trainer_state.json"
OPTIMISER_FIGURES = ("loss", "grad_norm", "entropy", "learning_rate")
CLIPPED = ("clip_ratio/region_mean", "cispo_clip_ratio")
"""TRL's names for the share of tokens whose ratio is clipped: of PPO's loss and of CISPO's."""


class Reinforcement:
    """Train one policy by reinforcement, from the newest checkpoint if there is one.

    Attributes:
        chat: Turn tokenizer of the policy.
    """

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, display: Display, policy: LoadedPolicy
    ) -> None:
        self._run, self._folder, self._display = run, folder, display
        self.chat = policy.chat
        output = folder.checkpoints / CHECKPOINTS
        self._checkpoint = latest(output)
        # TRL counts updates; it saves at the end of a step only.
        updates = int(self._checkpoint.name.rsplit("-", 1)[1]) if self._checkpoint else 0
        self._step = updates // run.config.rl.updates
        _rewind(folder, self._step)
        hooks, schedule = run.make_hooks(), run.make_schedule()
        self._hook_names = [hook.name for hook in hooks]
        log = RunLogger(run, folder, display, policy.chat, schedule)
        self._trainer = MultiTurnTrainer(
            policy.model,
            _arguments(run, policy, output),
            **rollout_setup(
                run, policy, run.config.rl.episodes, hooks, ahead=run.config.rl.staleness > 0
            ),
            tasks=run.make_training_tasks().draw,
            horizon=schedule,
            preset=run.preset,
            full_horizon=run.config.eval.horizon,
            group_size=run.config.rl.group_size,
            staleness=run.config.rl.staleness,
            on_rollout=log.on_rollout,
            peft_config=adapters(run),
            micro_tokens=run.config.memory.micro_tokens,
            logits_mib=run.config.memory.logits_mib,
            callbacks=[log, *_tensorboard(run, folder)],
        )
        for callback in (PrinterCallback, ProgressCallback):
            self._trainer.remove_callback(callback)
        self._validation = Validation(run, folder, policy.chat, self.play, log)
        self._stop = StopConditions(run, folder, display, log)
        for added in (self._validation, self._stop):
            self._trainer.add_callback(added)

    def train(self) -> None:
        """Train until the last step, or until time or turns are up."""
        if self._run.config.eval.every and not self._step:
            self._validation.validate(0)
        self._display.phase("RL", self._run.config.steps, self._step)
        if self._step and self._stop.met:
            # Only the weights of the checkpoint are wanted.
            self._trainer.args.max_steps = self._step * self._run.config.rl.updates
        checkpoint = str(self._checkpoint) if self._checkpoint else None
        self._trainer.train(resume_from_checkpoint=checkpoint)

    def play(self, tasks: Sequence[Mapping[str, Any]], greedy: bool = False) -> list[Trajectory]:
        """Play held-out tasks with the present policy, for the environment's own rewards.

        The environments are those of training; what its hooks add is taken off again, so that
        rewards can be compared with those of policies that were not trained.
        """
        played = self._trainer.play(tasks, greedy=greedy, seed=self._run.config.seed)
        return [without_terms(trajectory, self._hook_names) for trajectory in played]

    def save(self, path: Path) -> None:
        """Write the policy in the format of transformers or PEFT."""
        self._trainer.save_model(str(path))

    def close(self) -> None:
        """Close the engine and the environments."""
        self._trainer.runner.engine.close()
        self._trainer.runner.envs.close()


# -- what happens around the steps -----------------------------------------------------------------


class RunLogger(TrainerCallback):
    """Write figures and episodes of every step, and show the progress.

    Attributes:
        turns: Turns of all training episodes so far.
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
        steps = [r for r in folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
        self.turns: int = steps[-1]["turns_total"] if steps else 0
        self._tokens = 0
        self._record: dict[str, Any] = {}
        self._began = time.perf_counter()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the clock of the first step."""
        self._began = time.perf_counter()

    def on_rollout(self, event: RolloutEvent) -> None:
        """Take down one step's episodes."""
        self.turns += sum(len(trajectory.turns) for trajectory in event.trajectories)
        self._tokens = sum(trajectory.action_tokens for trajectory in event.trajectories)
        self._record = {
            **{name.split("/", 1)[1]: value for name, value in event.metrics.items()},
            "phase": Phase.REINFORCEMENT,
            "step": event.step,
            "horizon": event.horizon,
            "stage": self._schedule.stage(event.step),
            "turns_total": self.turns,
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
        if not self._record or logs is None or "loss" not in logs:
            return
        now = time.perf_counter()
        seconds, self._began = now - self._began, now
        self._record |= {name: float(logs[name]) for name in OPTIMISER_FIGURES if name in logs}
        # At a single update per step the ratio is 1, and there is nothing to clip.
        for name in CLIPPED if self._updates > 1 else ():
            if name in logs:
                self._record["clip_fraction"] = float(logs[name])
        self._record["seconds"] = seconds
        self._folder.log(**self._record)
        self._display.update(
            self._record["step"],
            horizon=self._record["horizon"],
            reward=self._record["return"],
            success=self._record["success"],
            tokens_s=self._tokens / max(seconds, 1e-9),
        )

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Draw the curve and note the time along with every checkpoint."""
        write_curve(self._folder)
        self._folder.note()


Play = Callable[[Sequence[Mapping[str, Any]]], list[Trajectory]]
"""Plays held-out tasks with the present policy."""


class Validation(TrainerCallback):
    """Play the validation tasks every few steps, at the full horizon."""

    def __init__(
        self, run: ResolvedRun, folder: RunFolder, chat: TurnTokenizer, play: Play, log: RunLogger
    ) -> None:
        self._folder, self._play, self._log = folder, play, log
        self._every, self._updates = run.config.eval.every, run.config.rl.updates
        self._panel: Panel = run.panel(VALID, run.config.eval.valid_tasks)
        self._episodes = EpisodeLog(run, chat, panel_sha256=self._panel.sha256)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Validate, if it is time."""
        step, update = divmod(state.global_step, self._updates)
        if self._every and not update and step % self._every == 0:
            self.validate(step)

    def validate(self, step: int) -> None:
        """Play the validation tasks after so many steps and record the result."""
        played = self._play(panel_tasks(self._panel))
        self._episodes.append(self._folder.eval_episodes(Phase.VALIDATION), played, step=step)
        figures = rollout_metrics(played)
        self._folder.log(
            phase=Phase.VALIDATION,
            step=step,
            turns_total=self._log.turns,
            score=figures["rollout/score"],
            success=figures["rollout/success"],
        )


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
        if self.late:
            self._display.note(f"time is up: training ends at step {step}")
        if self.met:
            # Saved, so that a run which is killed after this goes on with just these weights.
            control.should_training_stop = control.should_save = True

    @property
    def met(self) -> bool:
        """Whether training is to end."""
        return self.late or (self._turns > 0 and self._log.turns >= self._turns)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self._folder.seconds() > self._seconds


# -- checkpoints and arguments ---------------------------------------------------------------------


def latest(output: Path) -> Path | None:
    """Return the newest complete checkpoint of TRL; its state file is written last."""
    found = [path for path in output.glob("checkpoint-*") if _is_complete(path / TRL_STATE)]
    return max(found, key=lambda path: int(path.name.rsplit("-", 1)[1]), default=None)


def _is_complete(state: Path) -> bool:
    """Return whether a state file is there and whole."""
    try:
        return "global_step" in json.loads(state.read_text())
    except (OSError, ValueError):
        return False


def _rewind(folder: RunFolder, step: int) -> None:
    """Drop the records after a step, which will be written again."""
    folder.rewind(Phase.REINFORCEMENT, step)
    # The untrained policy is validated before the first step.
    folder.rewind(Phase.VALIDATION, step or -1)
    folder.rewind_episodes(step)


def _arguments(run: ResolvedRun, policy: LoadedPolicy, output: Path) -> GRPOConfig:
    """Return TRL's configuration."""
    config, settings = run.config, run.config.rl
    return grpo_arguments(
        output,
        run.preset,
        groups=settings.groups,
        group_size=settings.group_size,
        steps=config.steps,
        lr=settings.lr,
        budget=policy.budget,
        warmup=settings.warmup,
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_grad_norm=settings.max_grad_norm,
        save_every=settings.save_every,
        keep_checkpoints=settings.keep_checkpoints,
        seed=config.seed,
        minibatches=settings.minibatches,
        iterations=settings.iterations,
        adam_beta2=settings.adam_beta2,
        **precision_arguments(
            config.memory.precision, config.memory.checkpointing == "on", config.memory.optimizer
        ),
        report_to=[config.report_to] if config.report_to in ("wandb", "trackio") else [],
        run_name=str(config.out),
    )


def _tensorboard(run: ResolvedRun, folder: RunFolder) -> list[TrainerCallback]:
    """Return what writes TensorBoard's files, if they are wanted: into the folder of the run."""
    if run.config.report_to != "tensorboard":
        return []
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    return [TensorBoardCallback(SummaryWriter(str(folder.path / "tensorboard")))]
