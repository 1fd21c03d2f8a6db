"""Supervised warm start (SFT) of a pretrained model, with TRL's trainer and adapters.

The interface is that of :class:`trainers.models.sft.Sft`, whose loop is for the tiny model.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from peft import PeftConfig, PeftModel
from torch import nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from trl import SFTConfig, SFTTrainer
from trl.models.utils import disable_gradient_checkpointing

from trainers import processes
from trainers.models.sft import (
    GateFn,
    ProgressFn,
    SftResult,
    SftSettings,
    StepFn,
    check_demonstrations,
)
from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.scoring.forward import head_of_chosen_tokens
from trainers.rollouts.scoring.packed_rows import (
    PackedRows,
    computes_packed_rows,
    gathered_states,
    longest_row,
    pack,
)
from trainers.rollouts.scoring.tensors import IGNORED, changes_weights, row_inputs
from trainers.rollouts.trajectory import Row

__all__ = ["PretrainedSft"]

logger = logging.getLogger(__name__)

UNTOLD = "untold-{}.pt"
"""File of a checkpoint with one process's losses, by rank, that are not logged yet."""


class _Trainer(SFTTrainer):
    """TRL's trainer, extended to report the loss of every step and to pack shared prefixes."""

    def __init__(
        self, *args: Any, schedule: SftSettings, shared_prefixes: bool, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._packs: bool | None = None if shared_prefixes else False  # None: not known yet.
        self._longest = longest_row(self.model)
        self.schedule = schedule
        self.losses: list[torch.Tensor] = []
        self.tokens = torch.zeros((), dtype=torch.int64)
        self.seconds = 0.0

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, torch.Tensor], *args: Any, **kwargs: Any
    ) -> torch.Tensor:
        """Return TRL's loss, and keep it for the log."""
        # Tensors are summed here and below, because reading a number would wait for the device.
        self.tokens = self.tokens + inputs["attention_mask"].sum()
        labels, vocabulary = inputs["labels"], base_model(model).config.get_text_config().vocab_size
        packed = self._packed(inputs["input_ids"], labels)
        with head_of_chosen_tokens(self.accelerator, labels.numel(), vocabulary):
            if packed is None:
                loss = super().compute_loss(model, inputs, *args, **kwargs)
            else:
                loss = self._packed_loss(model, packed, kwargs["num_items_in_batch"])
        self.losses.append(loss.detach())
        return loss

    def _packed(self, ids: torch.Tensor, labels: torch.Tensor) -> PackedRows | None:
        """Pack the rows of a pass, which are padded on the right; None to compute them as rows."""
        if self.aux_loss_enabled or ids.shape[1] > self._longest:
            return None
        if self._packs is None:
            # Checkpointing would warn that there is no gradient; DDP's wrapper does not know it.
            with disable_gradient_checkpointing(self.model), self.accelerator.autocast():
                self._packs = computes_packed_rows(self.model)
        return pack(row_inputs(ids, labels), labels) if self._packs else None

    def _packed_loss(
        self, model: nn.Module, packed: PackedRows, items: torch.Tensor | int | None
    ) -> torch.Tensor:
        """Return the loss of packed rows, divided as TRL divides it."""
        with gathered_states(model, packed.sources):
            out = model(**packed.inputs(), shift_labels=packed.labels[None], fused_lm_head=True)
        number = len(packed.pairs) if items is None else items
        loss: torch.Tensor = -out.log_probs[0][packed.pairs].sum() / number
        # DDP averages losses over processes, while the number of tokens counts all processes.
        shared = self.args.average_tokens_across_devices and items is not None
        return loss * self.accelerator.num_processes if shared else loss

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> LRScheduler:
        """Return the learning rate of every warm start, ``SftSettings.learning_rate``."""
        if self.lr_scheduler is None:
            peak, rate = self.schedule.lr, self.schedule.learning_rate
            self.lr_scheduler: Any = LambdaLR(
                optimizer or self.optimizer, lambda step: rate(step) / peak
            )
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def _clip_grad_norm(self, model: nn.Module) -> torch.Tensor | None:
        """Clip, and drop a gradient that may not change weights."""
        norm = super()._clip_grad_norm(model)
        if norm is not None and not changes_weights(float(norm)):
            logger.warning(
                "step %d of the warm start changed no weight: its gradient has the norm %g",
                self.state.global_step + 1, norm,
            )  # fmt: skip
            model.zero_grad(set_to_none=True)
        return norm

    def create_model_card(self, *args: object, **kwargs: object) -> None:
        """Write no card: a checkpoint of the warm start is for this run alone."""


class PretrainedSft:
    """Train a pretrained model on the action tokens of rows.

    Args:
        model: A causal language model.
        rows: Demonstrations.
        tokenizer: Its tokenizer.
        settings: How to train; the loss on observation tokens is left out.
        output: Folder of the run's checkpoints; only :meth:`save` writes there.
        adapters: PEFT's configuration of adapters that are trained instead of all weights.
        precision: From ``trainers.config.model_files.precision.precision_arguments``.
        micro_tokens: Maximum tokens of a forward and backward pass, as if all rows were as long as
            the longest; None: ``settings.micro_batch`` rows.
        shared_prefixes: Compute prefixes that rows of a pass share once, if the model allows it.

    Attributes:
        model: The model, with its adapters.
        step: Steps taken.

    Raises:
        ConfigurationError: There are no rows, or none has an action token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        rows: Sequence[Row],
        tokenizer: PreTrainedTokenizerBase,
        settings: SftSettings,
        output: Path,
        adapters: PeftConfig | None = None,
        precision: Mapping[str, Any] = MappingProxyType({"bf16": False}),
        micro_tokens: int | None = None,
        shared_prefixes: bool = True,
    ) -> None:
        from datasets import Dataset

        check_demonstrations(rows)
        if settings.observation_weight:
            logger.info("a pretrained model imitates actions alone: no loss on observation tokens")
        # Keep a short warm start from being all warm-up.
        warmup = min(settings.warmup, settings.steps // 10)
        self.settings = settings = replace(settings, warmup=warmup)
        self.step = 0
        self._resume_from: str | None = None
        self._trainer = _Trainer(
            model,
            _arguments(settings, output, _rows_per_pass(rows, settings, micro_tokens), precision),
            train_dataset=Dataset.from_dict(
                {
                    "input_ids": [row.ids for row in rows],
                    "labels": [
                        [
                            i if is_action else IGNORED
                            for i, is_action in zip(row.ids, row.mask, strict=True)
                        ]
                        for row in rows
                    ],
                }
            ),
            processing_class=tokenizer,
            peft_config=adapters,
            schedule=self.settings,
            shared_prefixes=shared_prefixes,
        )
        self._trainer.remove_callback(PrinterCallback)
        self.model = self._trainer.model

    def run(
        self,
        gate: GateFn | None = None,
        progress: ProgressFn | None = None,
        after_step: StepFn | None = None,
    ) -> SftResult:
        """Train until the gate opens or the steps are used up, as ``Sft.run`` does."""
        watch = _Watch(self, self._trainer, gate, progress, after_step)
        self._trainer.add_callback(watch)
        if self.step < self.settings.steps:
            self._trainer.train(resume_from_checkpoint=self._resume_from)
        self.model.eval()
        # Restore the generators, so that a run resumed after this phase draws the same numbers.
        set_seed(self.settings.seed)
        return SftResult(self.step, watch.loss, watch.gated, watch.seconds)

    def merged(self) -> PreTrainedModel:
        """Return the model with its adapters merged, unless the weights are sharded."""
        if processes.sharded() or not isinstance(self.model, PeftModel):
            return self.model
        return self.model.merge_and_unload()

    def figures(self) -> dict[str, float]:
        """Return this process's figures since the last ``progress`` call, and reset them."""
        trainer = self._trainer
        if not trainer.losses:
            return {}
        loss, tokens = torch.stack(trainer.losses).sum(), trainer.tokens
        return _figures(self.settings, self.step, loss, tokens, trainer.seconds)

    def save(self, path: Path) -> None:
        """Write a checkpoint into a folder; every process adds its unlogged losses."""
        trainer = self._trainer
        untold = {"tokens": trainer.tokens, "seconds": torch.tensor(trainer.seconds)}
        if trainer.losses:
            untold["losses"] = torch.stack(trainer.losses)
        torch.save(untold, path / UNTOLD.format(processes.rank()))
        trainer.args.output_dir = str(path)
        trainer._save_checkpoint(self.model, None)
        processes.meet("the end of a checkpoint of the warm start")

    def load(self, path: Path) -> None:
        """Continue from a checkpoint, as soon as :meth:`run` is called."""
        (checkpoint,) = path.glob("checkpoint-*")
        self.step, self._resume_from = int(checkpoint.name.rsplit("-", 1)[1]), str(checkpoint)
        trainer = self._trainer
        untold = torch.load(
            path / UNTOLD.format(processes.rank()),
            map_location=trainer.accelerator.device,
            weights_only=True,
        )
        trainer.tokens, trainer.seconds = untold["tokens"], float(untold["seconds"])
        trainer.losses = [*untold["losses"].unbind()] if "losses" in untold else []


class _Watch(TrainerCallback):
    """Report progress, then ask the gate: in this order a resumed run repeats the same calls."""

    def __init__(
        self,
        sft: PretrainedSft,
        trainer: _Trainer,
        gate: GateFn | None,
        progress: ProgressFn | None,
        after_step: StepFn | None,
    ) -> None:
        self._sft, self._trainer, self._gate, self._progress = sft, trainer, gate, progress
        self._after_step = after_step
        self._began = 0.0
        self.loss, self.gated, self.seconds = float("nan"), False, 0.0

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Report figures every few steps, and end the training when the gate opens."""
        self._trainer.seconds += time.perf_counter() - self._began
        sft, settings = self._sft, self._sft.settings
        sft.step = state.global_step
        last = sft.step == settings.steps
        if sft.step % settings.log_every == 0 or last:
            self._tell(sft.step)
        if self._gate is not None and (sft.step % settings.eval_every == 0 or last):
            self.gated = bool(self._gate(sft.step))
            control.should_training_stop |= self.gated
        if self._after_step is not None and not (self.gated or last):
            self._after_step(sft.step)

    def _tell(self, step: int) -> None:
        """Report the means since the last report."""
        trainer = self._trainer
        accelerator = trainer.accelerator
        loss = accelerator.reduce(torch.stack(trainer.losses).sum(), "mean")
        tokens = accelerator.reduce(trainer.tokens, "sum")
        figures = _figures(self._sft.settings, step, loss, tokens, trainer.seconds)
        self.loss = figures["loss"]
        self.seconds += trainer.seconds
        trainer.losses, trainer.seconds = [], 0.0
        trainer.tokens = torch.zeros_like(trainer.tokens)
        if self._progress is not None:
            self._progress(step, figures)


def _figures(
    settings: SftSettings, step: int, loss: torch.Tensor, tokens: torch.Tensor, seconds: float
) -> dict[str, float]:
    """Return the figures of the steps since the last log, of a sum of losses and of tokens."""
    # The last interval, and reports in between, have fewer steps.
    count = (step - 1) % settings.log_every + 1
    return {
        "loss": loss.item() / count,
        "lr": settings.learning_rate(step - 1),
        "tokens": float(tokens),
        "tokens_per_second": float(tokens) / seconds,
        "seconds": seconds,
    }


def _rows_per_pass(rows: Sequence[Row], settings: SftSettings, micro_tokens: int | None) -> int:
    """Return how many rows go through the model together."""
    longest = max(len(row.ids) for row in rows)
    fitting = micro_tokens // longest if micro_tokens else settings.micro_batch
    return max(1, min(fitting, settings.micro_batch))


def _arguments(
    settings: SftSettings, output: Path, size: int, precision: Mapping[str, Any]
) -> SFTConfig:
    """Return TRL's configuration: one micro-batch per step unless it would be too large.

    The rows of a step are shared out to the processes. Where an epoch's rows do not divide evenly,
    accelerate fills its last step with rows of the epoch's start; one process has a shorter step.
    """
    rows = -(-settings.batch_size // processes.world())
    parts = -(-rows // size)
    return SFTConfig(
        output_dir=str(output),
        per_device_train_batch_size=-(-rows // parts),
        gradient_accumulation_steps=parts,
        max_steps=settings.steps,
        learning_rate=settings.lr,
        weight_decay=settings.weight_decay,
        adam_beta2=settings.beta2,
        max_grad_norm=settings.max_grad_norm,
        max_length=None,
        seed=settings.seed,
        **{"bf16": False, "gradient_checkpointing": False, **precision},
        **processes.trainer_arguments(),
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
