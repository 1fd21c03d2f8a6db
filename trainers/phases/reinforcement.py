"""The second phase of a run: reinforcement learning with a growing horizon."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import DataError
from trainers import processes
from trainers.algorithms.schedule import PerFamily, Schedule
from trainers.config.model_files.precision import precision_arguments
from trainers.config.own_parts import find_sampler
from trainers.config.resolve import ResolvedRun
from trainers.config.resolved_env import ResolvedEnv
from trainers.grpo.step_part import part_makers
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.grpo.trl_arguments import grpo_arguments
from trainers.methods.table import in_flight, lag_of
from trainers.models.loaded_policy import LoadedPolicy, adapters
from trainers.output.display import Display
from trainers.output.episode_log import EpisodeLog
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.summary import ChosenPolicy
from trainers.output.whole_checkpoint import (
    check_policy,
    damage,
    newest_whole,
    was_finished,
    write_sizes,
)
from trainers.phases.after_step import AfterStep, StopConditions
from trainers.phases.best import BestPolicy
from trainers.phases.monitoring.dashboards import PROJECT, Dashboards, reporter_makers
from trainers.phases.monitoring.health import Alarm, last_good
from trainers.phases.monitoring.health_watch import HealthWatch
from trainers.phases.monitoring.run_logger import RunLogger
from trainers.phases.periodic_validation import PeriodicValidation
from trainers.phases.rollout_setup import rollout_setup
from trainers.phases.timed_checkpoints import TimedCheckpoints, is_by_time
from trainers.rollouts.priced_tasks import PricedTasks
from trainers.rollouts.rollout_event import RolloutEvent
from trainers.rollouts.task_feed import MixedTasks, TaskSource
from trainers.rollouts.trajectory import Trajectory, without_terms

if TYPE_CHECKING:
    from trl import GRPOConfig

CHECKPOINTS = "rl"
"""Folder of TRL's checkpoints."""
TRL_STATE = "trainer_state.json"
REPORTED = "reported"
"""Key of the note on the last step that was sent to dashboards before a kill."""


class Reinforcement:
    """Train one policy by reinforcement, from the newest checkpoint if there is one.

    Args:
        run: The run.
        folder: The folder of records and checkpoints.
        display: Shows the progress.
        policy: The initial policy.
        title: Name in the display.

    Attributes:
        chat: Turn tokenizer of the policy.
    """

    def __init__(
        self,
        run: ResolvedRun,
        folder: RunFolder,
        display: Display,
        policy: LoadedPolicy,
        title: str = "RL",
    ) -> None:
        self._run, self._folder, self._display, self._title = run, folder, display, title
        self.chat = policy.chat
        self._output = output = folder.checkpoints / CHECKPOINTS
        self._checkpoint = processes.on_main(lambda: self._newest(output))
        self._step = self._steps_of(self._checkpoint) if self._checkpoint else 0
        reported = processes.on_main(lambda: _reported(folder))
        _rewind(folder, self._step)
        schedule, tasks = _schedule_and_tasks(run)
        # Held-out episodes have the environment's rewards only, so no judge is called for them.
        self._plain = {"reward_hooks": False} if any(env.judges for env in run.envs) else {}
        self._hook_names = {e.name: [hook.name for hook in e.make_hooks()] for e in run.envs}
        config, episodes = run.config, EpisodeLog(run, policy.chat, training=True)
        self._log = log = RunLogger(config.rl, run.preset.loss, folder, display, episodes, schedule)
        self._dashboards = dashboards = Dashboards(
            reporter_makers(config.report_to, folder), reported * config.rl.updates
        )
        self._trainer = trainer = MultiTurnTrainer(
            policy.model,
            _arguments(run, policy, output),
            **rollout_setup(
                run,
                policy,
                len(processes.share(in_flight(run.config))),
                training=True,
                ahead=lag_of(run.config) > 0,
            ),
            tasks=tasks,
            horizon=schedule,
            preset=run.preset,
            group_size=run.config.rl.num_generations,
            on_rollout=_call_all(log.on_rollout, dashboards.on_rollout),
            peft_config=adapters(run),
            micro_tokens=run.config.memory.micro_tokens,
            logits_mib=run.config.memory.logits_mib,
            shared_prefixes=run.config.memory.shared_prefixes == "auto",
            parts=part_makers(run.preset, run, policy),
        )
        trainer.runner.on_tokens = display.count
        self._best = best = BestPolicy(folder, self.save)
        self._validation = PeriodicValidation(run, folder, policy.chat, self.play, log, dashboards)
        self._stop = StopConditions(run, folder, display, log)
        length = {"steps": config.steps, "minutes": config.minutes}
        changes_policy = config.top_p < 1 or run.preset.pool is not None
        self._health = HealthWatch(config.health, folder, display, length, changes_policy)
        after_step = AfterStep(
            run, folder, trainer, log, dashboards, self._validation, best, self._stop,
            self._health, TimedCheckpoints(trainer, run.config.rl.save_minutes),
        )  # fmt: skip
        trainer.add_callback(after_step)
        trainer.after_step = after_step.after_step
        trainer.on_saved = write_sizes
        if self._step:  # A damaged checkpoint may have been skipped.
            best.forget_after(self._step)
        self._adapt()

    def train(self) -> None:
        """Train until the last step, or until time or turns are used up.

        Raises:
            ConfigurationError: The time is up before the first step.
        """
        if not self._step:
            self._stop.check()
        self._display.phase(self._title, self._run.config.steps, self._step)
        if self._run.config.eval.every and not self._step:
            self._validation.validate(0)
        if self._checkpoint and self._health.stopped and not self._step:
            self._trainer.restore(self._checkpoint)
            return
        if self._step and (self._stop.should_end() or self._health.stopped):
            # Only the weights of the checkpoint are needed.
            self._trainer.args.max_steps = self._step * self._run.config.rl.updates
        checkpoint = str(self._checkpoint) if self._checkpoint else None
        self._trainer.train(resume_from_checkpoint=checkpoint)
        while self._health.pending:
            self._go_back(self._health.pending)
        self._keep_finite()
        self._validation.finish(self._trainer.batches)
        self._best.keep(self._trainer.batches)

    def choose(self) -> ChosenPolicy:
        """Write the last policy, and continue with the one that ``--eval.keep`` selects.

        From here on :meth:`play` plays the chosen policy.
        """
        last, trained = self._trainer.batches, self._folder.trained
        self.save(trained)
        processes.on_main((trained / COMPLETE).touch)
        best = self._best.results
        if self._run.config.eval.keep == "last" or best is None:
            return ChosenPolicy(trained.name, last)
        if best.step != last:  # Otherwise the trainer already has its weights.
            check_policy(self._folder.best, "reinforcement learning")
            self._trainer.restore(self._folder.best)
        return ChosenPolicy(self._folder.best.name, best.step, best.success, best.score)

    def _go_back(self, alarm: Alarm) -> None:
        """Continue from the last good checkpoint, as a process killed there would."""
        checkpoints = processes.on_main(
            lambda: [p for p in complete(self._output) if not damage(p)]
        )
        by_step = {self._steps_of(path): path for path in checkpoints if not is_by_time(path)}
        scores = {
            record["step"]: record["score"]
            for record in processes.on_main(self._folder.metrics)
            if record.get("phase") == Phase.VALIDATION
        }
        step = last_good(sorted(by_step), alarm, scores)
        if step is None:
            self._health.give_up("there is no checkpoint from before the alarm to go back to")
            return
        # The record is written last: if killed before, the process meets the same alarm again.
        _remove([path for path in checkpoints if self._steps_of(path) > step])
        _rewind(self._folder, step)
        self._best.forget_after(step)
        self._folder.note(**{REPORTED: step})
        self._log.reload()
        rate = self._run.config.rl.learning_rate * self._run.config.health.learning_rate_factor ** (
            self._health.rollbacks + 1
        )
        self._health.went_back(step, rate)
        self._adapt()
        self._trainer.restore(by_step[step])
        if self._run.config.eval.every and not step:
            self._validation.validate(0)  # Its record was dropped with those of the later steps.
        if not self._health.stopped:
            self._trainer.train_from(by_step[step])

    def _adapt(self) -> None:
        """Set learning rate and seeds as the rollbacks so far require."""
        health = self._run.config.health
        self._trainer.adapt(self._health.rollbacks, health.learning_rate_factor, health.reseed)

    def _keep_finite(self) -> None:
        """Load the last checkpoint if training ended with weights that are not finite."""
        if self._log.record.get("kl_behaviour", 0.0) is not None:
            return
        checkpoint = processes.on_main(lambda: self._newest(self._output, by_time=False))
        if checkpoint is None:
            raise DataError(
                "expected finite weights after reinforcement learning, got weights that are not, "
                "and no earlier checkpoint exists; choose a lower --rl.learning-rate, or "
                "--rl.save-every 1"
            )
        self._trainer.restore(checkpoint)
        self._display.note(f"weights are not finite; restored the weights of {checkpoint.name}")

    def _newest(self, output: Path, *, by_time: bool = True) -> Path | None:
        """Return the newest undamaged checkpoint; warn about skipped ones.

        Args:
            output: The folder of checkpoints.
            by_time: Whether checkpoints by time are candidates.

        Raises:
            DataError: There are checkpoints, and all are damaged.
        """
        finished = [path for path in output.glob("checkpoint-*") if was_finished(path)]
        checkpoints = sorted({*complete(output), *finished}, key=updates_of, reverse=True)
        checkpoints = [path for path in checkpoints if by_time or not is_by_time(path)]
        checkpoint, damaged = newest_whole(checkpoints)
        if checkpoint is None and damaged:
            raise DataError(
                f"expected a whole checkpoint to resume from, but {damaged[0]}, and there is no "
                f"earlier one that is whole: restore the file, or remove {output} to begin "
                "reinforcement learning anew from the warm start"
            )
        if checkpoint is not None and damaged:
            self._display.note(
                f"training goes on from {checkpoint.name}, as the newer checkpoint is damaged: "
                f"{damaged[0]}"
            )
        return checkpoint

    def _steps_of(self, checkpoint: Path) -> int:
        """Return the number of steps after which a checkpoint was saved."""
        return updates_of(checkpoint) // self._run.config.rl.updates

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        greedy: bool = False,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play held-out tasks with the current policy, with the environment's rewards only.

        The environments of training are used; rewards of training's hooks are removed, so that
        results are comparable with untrained policies. Every process plays its share of the tasks,
        and all return all episodes.
        """
        share = processes.share(len(tasks))
        trajectories = self._trainer.play(
            [{**tasks[index], **self._plain} for index in share],
            greedy=greedy,
            seed=self._run.config.seed,
            first=share.start,
            on_episode=on_episode,
        )
        return processes.gather(
            [without_terms(episode, self._hook_names[episode.family]) for episode in trajectories],
            "the end of the held-out episodes",
        )

    def save(self, path: Path) -> None:
        """Write the policy in the format of transformers or PEFT."""
        self._trainer.save_model(str(path))

    def close(self) -> None:
        """Close the engine, the environments and the dashboards."""
        self._trainer.runner.engine.close()
        self._trainer.runner.envs.close()
        for part in self._trainer.parts:
            part.close()
        self._dashboards.close()


def _schedule_and_tasks(run: ResolvedRun) -> tuple[Schedule, TaskSource]:
    """Return the turn budget by step, and the source of a step's tasks."""
    schedules = {env.name: env.make_schedule() for env in run.envs}
    sources = {env.name: _tasks_of(run, env) for env in run.envs}
    if not run.several:
        (env,) = run.envs
        return schedules[env.name], sources[env.name]
    schedule = PerFamily(schedules)
    return schedule, MixedTasks(sources, {env.name: env.weight for env in run.envs}, schedule)


def _tasks_of(run: ResolvedRun, env: ResolvedEnv) -> TaskSource:
    """Return the task source of an environment."""
    rl = run.config.rl
    tasks = env.make_training_tasks(run.config.seed, find_sampler(rl.sampler))
    return PricedTasks(tasks, env.costs, rl.price_rate) if rl.price_rate else tasks


@processes.main_only
def _remove(checkpoints: Sequence[Path]) -> None:
    """Remove checkpoints."""
    for checkpoint in checkpoints:
        shutil.rmtree(checkpoint, ignore_errors=True)


def _call_all(
    *listeners: Callable[[RolloutEvent], None],
) -> Callable[[RolloutEvent], None]:
    """Return one callback that calls several."""

    def tell(event: RolloutEvent) -> None:
        for listener in listeners:
            listener(event)

    return tell


# -- checkpoints and arguments ---------------------------------------------------------------------


def complete(output: Path) -> list[Path]:
    """Return the complete checkpoints of TRL; their state file is written last."""
    return [path for path in output.glob("checkpoint-*") if _is_complete(path / TRL_STATE)]


def updates_of(checkpoint: Path) -> int:
    """Return the number of updates at which a checkpoint was saved, as counted by TRL."""
    return int(checkpoint.name.rsplit("-", 1)[1])


def _is_complete(state: Path) -> bool:
    """Return whether a state file exists and is complete."""
    try:
        return "global_step" in json.loads(state.read_text())
    except (OSError, ValueError, RecursionError):
        return False


def _turns(folder: RunFolder) -> int:
    """Return the number of turns in all recorded training episodes."""
    steps = [r for r in folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
    return int(steps[-1]["turns_total"]) if steps else 0


def _reported(folder: RunFolder) -> int:
    """Return the last step sent to dashboards, and note it, as its record may be dropped."""
    steps = [r["step"] for r in folder.metrics() if r.get("phase") == Phase.REINFORCEMENT]
    reported = max([folder.state().get(REPORTED, 0), *steps])
    if reported:
        folder.note(**{REPORTED: reported})
    return reported


def _rewind(folder: RunFolder, step: int) -> None:
    """Drop the records after a step, which will be rewritten."""
    folder.rewind(Phase.REINFORCEMENT, step)
    folder.rewind(Phase.HEALTH, step)
    # The untrained policy is validated before the first step.
    folder.rewind(Phase.VALIDATION, step or -1)
    folder.rewind_episodes(step)


def _arguments(run: ResolvedRun, policy: LoadedPolicy, output: Path) -> GRPOConfig:
    """Return TRL's configuration."""
    config, settings = run.config, run.config.rl
    return grpo_arguments(
        output,
        groups=settings.groups,
        group_size=settings.num_generations,
        steps=config.steps,
        lr=settings.learning_rate,
        budget=policy.budget,
        warmup=settings.warmup_steps,
        temperature=config.temperature,
        top_p=config.top_p,
        max_grad_norm=settings.max_grad_norm,
        save_every=settings.save_every,
        keep_checkpoints=settings.keep_checkpoints,
        seed=config.seed,
        minibatches=settings.minibatches,
        iterations=settings.num_iterations,
        adam_beta2=settings.adam_beta2,
        **precision_arguments(
            config.memory.precision, config.memory.checkpointing == "on", config.memory.optimizer
        ),
        run_name=str(config.out),
        project=os.environ.get("TRACKIO_PROJECT", PROJECT),
        # A loss that is not finite must stay visible.
        logging_nan_inf_filter=False,
        ddp_find_unused_parameters=False,  # Every pass uses every trained weight.
        **processes.trainer_arguments(),
    )
