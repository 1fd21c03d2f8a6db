"""The frame of a training step: TRL's loop, timing, checkpoints and rollbacks.

:class:`~trainers.grpo.trainer.MultiTurnTrainer` implements the steps. This class deals with TRL,
that one with the algorithm.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from peft import PeftModel
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import PreTrainedModel, PrinterCallback, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer

from agentgym.errors import NotSupported
from trainers.grpo.checkpoint import load_batch, load_state, save_batch, save_state
from trainers.grpo.minibatches import divided
from trainers.grpo.step_end import StepEnd
from trainers.grpo.step_part import StepPart
from trainers.grpo.step_times import StepTimes
from trainers.grpo.trl_arguments import check_arguments
from trainers.processes import meet
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.scoring.tensors import changes_weights

__all__ = ["DROPPED", "IDLE", "BatchTrainer"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

DROPPED, IDLE = "updates/dropped_updates", "updates/idle_updates"
"""Names of the counts of a step's updates that change no weight."""
RESEED = 7_919
"""Offset between the seeds of episodes before and after a rollback."""


class BatchTrainer(GRPOTrainer):
    """TRL's trainer without its data set, rewards and model card.

    A batch makes ``updates`` updates; TRL's step counter counts updates.

    Attributes:
        after_step: Called at the end of each step and lets TRL log and save; None leaves both to
            TRL.
        on_saved: Called with the folder of a checkpoint that is written, in the main process.
        times: Seconds by part of the current step.
        finite: Whether loss and gradients of the current step were finite; a non-finite update is
            dropped, so that the weights do not change.
        dropped_updates: Updates of the current step that were dropped.
        idle_updates: Updates of the current step with a gradient of exactly 0, for example without
            trained tokens: they change no weight either.
        parts: The parts that optional methods add to a step.
    """

    after_step: Callable[[StepEnd], None] | None = None
    on_saved: Callable[[Path], None] | None = None
    parts: Sequence[StepPart] = ()

    # TRL's own: micro-batches so far, and the minibatches of the present batch.
    _step: int
    _buffered_inputs: list[dict[str, Tensor]] | None

    def __init__(
        self,
        model: PreTrainedModel | PeftModel | str,
        args: GRPOConfig,
        chat: TurnTokenizer,
        **kwargs: Any,
    ) -> None:
        """Set up TRL; ``kwargs`` are TRL's, such as ``peft_config``.

        Raises:
            ConfigurationError: The arguments contain an option that this trainer does not support.
        """
        check_arguments(args)
        self.times, self.finite = StepTimes(), True
        self.dropped_updates = self.idle_updates = 0
        # TRL's loader needs one prompt per group; the real tasks come from the task source.
        prompts = max(1, args.generation_batch_size // args.num_generations)
        super().__init__(
            model=model,
            args=args,
            reward_funcs=[_episode_return],
            train_dataset=Dataset.from_dict({"prompt": [""] * prompts}),
            processing_class=chat.tokenizer,
            **kwargs,
        )
        self.remove_callback(PrinterCallback)
        self.add_callback(_OptimiserTimes(self.times))
        self._seed, self._peak = self.args.seed, self.args.learning_rate

    # -- updates and batches -----------------------------------------------------------------------

    @property
    def updates(self) -> int:
        """Optimiser steps on each batch of episodes."""
        return int(self.args.steps_per_generation * self.args.num_iterations)

    @property
    def batches(self) -> int:
        """Number of batches of episodes with all optimiser steps done."""
        return self.state.global_step // self.updates

    def _prepare_inputs(self, generation_batch: list[dict[str, object]]) -> dict[str, Tensor]:
        """Return the rows of the current update: TRL's division would depend on the processes."""
        parts = self.args.steps_per_generation
        if self._step % self.updates == 0 or self._buffered_inputs is None:
            self.finite, self.dropped_updates, self.idle_updates = True, 0, 0
            with self.times.part("rest"):  # A batch belongs to no pass over it.
                batch = self._generate_and_score_completions(generation_batch)
                self._buffered_inputs = divided(batch, parts)
        return self._buffered_inputs[self._step % parts]

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Make one forward and backward pass, and record whether the loss is finite."""
        with self.times.part("update"):
            loss: Tensor = super().training_step(*args, **kwargs)
            # The device runs asynchronously; reading a number would wait for it.
            self.finite &= bool(torch.isfinite(loss))
            for part in self.parts:
                part.after_backward()
        return loss

    def _clip_grad_norm(self, model: nn.Module) -> Tensor | None:
        """Clip, and drop a gradient that may not change weights, see ``changes_weights``.

        All are dropped while the policy waits for a part that warms up.
        """
        with self.times.part("optimizer"):
            norm = super()._clip_grad_norm(model)
            size = 1.0 if norm is None else float(norm)
            self.finite &= math.isfinite(size)
            waits = self.batches < self._waiting_steps
            if not self.finite:
                self.dropped_updates += 1
                logger.warning(
                    "step %d: an update is dropped, because its loss or gradient is not finite",
                    self.batches + 1,
                )
            elif size == 0.0 and not waits:
                self.idle_updates += 1
            if waits or not (self.finite and changes_weights(size)):
                # None, not 0, with which AdamW would decay the weights and move along its moments.
                model.zero_grad(set_to_none=True)
        return norm

    def _maybe_log_save_evaluate(self, *args: Any, **kwargs: Any) -> None:
        """After an update: at the end of a step ``after_step`` says when TRL logs and saves."""
        act = partial(super()._maybe_log_save_evaluate, *args, **kwargs)
        # TRL logs every ``updates`` updates, so a due log marks the end of a step.
        if self.after_step is None or not self.control.should_log:
            act()
        else:
            self.after_step(StepEnd(self.batches, self.state, self.control, act))

    @property
    def _waiting_steps(self) -> int:
        """Number of first steps in which only parts learn, not the policy."""
        return max((part.warmup_steps for part in self.parts), default=0)

    # -- processes ---------------------------------------------------------------------------------

    def _gather(self, items: list[T], place: str = "") -> list[T]:
        """Gather the items of all processes, in rank order, at a point that some reach late."""
        if place:
            meet(place)
        return gather_object(items) if self.accelerator.num_processes > 1 else items

    # -- checkpoints -------------------------------------------------------------------------------

    @property
    def _stateful(self) -> Mapping[str, object]:
        """The parts that may have state, by their names in a checkpoint."""
        return {}

    def _save_checkpoint(self, model: nn.Module, trial: object) -> None:
        """Add our state, before the file that marks a checkpoint as complete.

        A batch with outstanding updates is added, too.
        """
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        folder = Path(self._get_output_dir(trial=trial)) / name
        if self.args.should_save:
            save_state(folder, self._stateful)
            for part in self.parts:
                part.save(folder)
        if self._buffered_inputs is not None and self._step % self.updates:
            rank = self.accelerator.process_index
            save_batch(folder, rank, self._step, self._buffered_inputs)
        super()._save_checkpoint(model, trial)
        meet("the end of a checkpoint")  # All have written their files.
        if self.args.should_save and self.on_saved is not None:
            self.on_saved(folder)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore that state with the optimiser's."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        folder, accelerator = Path(checkpoint), self.accelerator
        load_state(folder, self._stateful)
        for part in self.parts:
            part.load(folder)
        stored = load_batch(folder, accelerator.process_index, accelerator.device)
        if stored is not None:
            self._step, self._buffered_inputs = stored
        self._set_rate()

    # -- going back --------------------------------------------------------------------------------

    def adapt(self, rollbacks: int, learning_rate_factor: float, reseed: bool) -> None:
        """Apply the effects of rollbacks: a lower learning rate, other episodes.

        Args:
            rollbacks: Number of rollbacks so far.
            learning_rate_factor: Factor of the learning rate per rollback.
            reseed: Whether each changes the seeds of the episodes.
        """
        self.args.learning_rate = self._peak * learning_rate_factor**rollbacks
        for part in self.parts:
            part.slow_down(learning_rate_factor**rollbacks)
        self.args.seed = self._seed + RESEED * rollbacks * reseed

    def train_from(self, checkpoint: Path) -> None:
        """Resume training from a checkpoint, as a new process would."""
        self._step = 0  # A checkpoint in the middle of a batch contains the batch.
        self._forget()
        self._buffered_inputs = None
        self._metrics["train"].clear()
        # Recreated with the current rate; its moments come from the checkpoint.
        self.optimizer = None
        if self.is_deepspeed_enabled:  # Its engine was closed with the previous training.
            self.model_wrapped = self.model
        self.train(resume_from_checkpoint=str(checkpoint))

    def save_start(self) -> None:
        """Write a checkpoint before the first step."""
        self._save_checkpoint(self.model, trial=None)

    def restore(self, checkpoint: Path) -> None:
        """Load the weights of a checkpoint or saved policy for playing, not for training."""
        model = self.model_wrapped if self.is_fsdp_enabled else self.model
        partitioned = hasattr(next(self.model.parameters()), "ds_id")  # By ZeRO-3.
        # FSDP stores shards in the checkpoint of a training; a saved policy has whole weights.
        stored_shards = self.is_fsdp_enabled and (checkpoint / TRAINER_STATE_NAME).exists()
        if partitioned or (self.is_fsdp_enabled and not stored_shards):
            from trainers.rollouts.engines.sharded_loading import load_sharded

            load_sharded(checkpoint, model)
        else:
            self._load_from_checkpoint(str(checkpoint), model)
        self._forget()

    def _forget(self) -> None:
        """Hook: called after the weights were replaced."""

    def _set_rate(self) -> None:
        """Set a restored optimiser to the run's current learning rate."""
        if self.args.learning_rate == self._peak:
            return
        # The checkpoint has restored its older rate, in the optimiser and in the schedule.
        rate, schedule = self.args.learning_rate, self.lr_scheduler
        optimizer: Any = self.optimizer
        schedule.base_lrs = [rate] * len(schedule.base_lrs)
        shares = [make(schedule.last_epoch) for make in schedule.lr_lambdas]
        for group, share in zip(optimizer.param_groups, shares, strict=True):
            group["initial_lr"], group["lr"] = rate, rate * share
        # The log reads the rate here until the schedule's next step.
        schedule._last_lr = [rate * share for share in shares]

    # -- what TRL would do otherwise ---------------------------------------------------------------

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LRScheduler:
        """Create a warm-up that starts above 0, since a first step at rate 0 trains nothing."""
        scheduler: Any = self.lr_scheduler
        if scheduler is None and self.args.lr_scheduler_type == "constant_with_warmup":
            warmup = max(1, self.args.get_warmup_steps(num_training_steps))
            waits = self._waiting_steps * self.updates  # Until then there is nothing to warm up.
            self.lr_scheduler: Any = LambdaLR(
                optimizer or self.optimizer,
                lambda step: min(1.0, (max(0, step - waits) + 1) / warmup),
            )
            self._created_lr_scheduler = True
        return super().create_scheduler(num_training_steps, optimizer)

    def create_model_card(self, *args: object, **kwargs: object) -> None:
        """Write no model card: TRL's lacks the environment and the name of a new model."""


class _OptimiserTimes(TrainerCallback):
    """Count the optimiser's own step: TRL's loop calls it while the stopwatch counts the rest."""

    def __init__(self, times: StepTimes) -> None:
        self._times, self._began = times, 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Discard the time before the first step."""
        self._times.take()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Start."""
        self._began = time.perf_counter()

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Stop."""
        self._times.move("rest", "optimizer", time.perf_counter() - self._began)


def _episode_return(**_: object) -> list[float]:
    """Stand in for the reward function that TRL requires: rewards come from environments."""
    raise NotSupported("expected rewards from the environments, but TRL asked a reward function")
