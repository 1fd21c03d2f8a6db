"""The second phase of a run: reinforcement learning with a growing horizon."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from trainers.config.resolve import ResolvedRun
from trainers.grpo.arguments import grpo_arguments
from trainers.grpo.trainer import MultiTurnTrainer
from trainers.models.policy import LoadedPolicy, adapters
from trainers.output.display import Display
from trainers.output.phase import Phase
from trainers.output.run_folder import COMPLETE, RunFolder
from trainers.output.summary import ChosenPolicy
from trainers.phases.best import BestPolicy
from trainers.phases.callbacks import RunLogger, StopConditions, Validation
from trainers.phases.rollout_setup import rollout_setup
from trainers.rollouts.trajectory import Trajectory, without_terms

if TYPE_CHECKING:
    from trl import GRPOConfig

CHECKPOINTS = "rl"
"""Folder of TRL's checkpoints."""
TRL_STATE = "trainer_state.json"


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
            **rollout_setup(run, policy, run.config.rl.episodes, hooks),
            tasks=run.make_training_tasks().draw,
            horizon=schedule,
            preset=run.preset,
            full_horizon=run.config.eval.horizon,
            group_size=run.config.rl.group_size,
            on_rollout=log.on_rollout,
            peft_config=adapters(run),
            callbacks=[log, *_tensorboard(run, folder)],
        )
        for callback in (PrinterCallback, ProgressCallback):
            self._trainer.remove_callback(callback)
        self._best = BestPolicy(folder, self.save, run.config.rl.updates)
        self._validation = Validation(run, folder, policy.chat, self.play, log, self._best)
        self._stop = StopConditions(run, folder, display, log)
        for added in (self._validation, self._best, self._stop):
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
        self._validation.finish(self._trainer.batches)

    def choose(self) -> ChosenPolicy:
        """Write the last policy, and go on with the one that ``--eval.keep`` chooses.

        From here on :meth:`play` plays the chosen policy.
        """
        last, trained = self._trainer.batches, self._folder.trained
        self.save(trained)
        (trained / COMPLETE).touch()
        best = self._best.kept
        if self._run.config.eval.keep == "last" or best is None:
            return ChosenPolicy(trained.name, last)
        if best.step != last:
            self._trainer.load_policy(self._folder.best)
        return ChosenPolicy(self._folder.best.name, best.step, best.success, best.score)

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
        micro_batch=settings.micro_batch,
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
