"""What surrounds a training step: processes, updates and batches, checkpoints, learning rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import DistributedType, gather_object
from datasets import Dataset
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOConfig, GRPOTrainer

from agentgym.errors import NotSupported
from trainers.grpo.arguments import check_arguments
from trainers.grpo.checkpoint import load_batch, load_state, save_batch, save_state
from trainers.grpo.minibatches import divided
from trainers.processes import meet
from trainers.rollouts.chat import TurnTokenizer

__all__ = ["TOKENS", "BatchTrainer"]

TOKENS = "tokens"
"""Name of the number of tokens among sums of figures."""


class BatchTrainer(GRPOTrainer):
    """TRL's trainer, without its data set, its rewards and its model card.

    A batch makes ``updates`` updates; TRL counts those.
    """

    _step: int
    _buffered_inputs: Any

    def __init__(self, model: Any, args: GRPOConfig, chat: TurnTokenizer, **kwargs: Any) -> None:
        """Set TRL up; ``kwargs`` are its own, such as ``peft_config``.

        Raises:
            ConfigurationError: The arguments ask for what this trainer does not do.
        """
        check_arguments(args)
        # TRL's loader wants as many prompts as there are groups; the task source has the tasks.
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

    # -- updates and batches -----------------------------------------------------------------------

    @property
    def updates(self) -> int:
        """Optimiser steps on each batch of episodes."""
        return int(self.args.steps_per_generation * self.args.num_iterations)

    @property
    def batches(self) -> int:
        """Batches of episodes whose last optimiser step is done."""
        return self.state.global_step // self.updates

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """Return what the present update trains: TRL's own division depends on the processes."""
        parts = self.args.steps_per_generation
        if self._step % self.updates == 0 or self._buffered_inputs is None:
            batch = self._generate_and_score_completions(generation_batch)
            self._buffered_inputs = divided(batch, parts)
        return self._buffered_inputs[self._step % parts]

    # -- processes ---------------------------------------------------------------------------------

    def _gather(self, items: list[Any], place: str = "") -> list[Any]:
        """The items of all processes, in rank order; they meet at a place that some reach late."""
        if place:
            meet(place)
        return gather_object(items) if self.accelerator.num_processes > 1 else items

    def _means(self, sums: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
        """Mean figures of the tokens of several micro-batches in all processes, if there are any.

        Each holds sums over tokens, and their number under :data:`TOKENS`.
        """
        parts = [torch.stack([value.float() for value in each.values()]) for each in sums]
        totals = self.accelerator.reduce(torch.stack(parts).sum(0), reduction="sum").tolist()
        means = dict(zip(sums[0], totals, strict=True))
        count = means.pop(TOKENS)
        return {name: total / count for name, total in means.items()} if count else {}

    def _backward(self, loss: Tensor) -> Tensor:
        """Add the gradient of a micro-batch to those of its update."""
        deepspeed = self.accelerator.distributed_type == DistributedType.DEEPSPEED
        # The losses are parts of a sum: nothing is to be divided by their number.
        self.accelerator.backward(loss, **({"scale_wrt_gas": False} if deepspeed else {}))
        return loss.detach()

    # -- checkpoints -------------------------------------------------------------------------------

    @property
    def _stateful(self) -> Mapping[str, Any]:
        """The parts that may have a state of their own, by their names in a checkpoint."""
        return {}

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Add our own state, before the file that marks a checkpoint as whole.

        A batch that makes several updates is added, too, while some of them are still to come.
        """
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        folder = Path(self._get_output_dir(trial=trial)) / name
        if self.args.should_save:
            save_state(folder, self._stateful)
        if self._step % (self.args.steps_per_generation * self.num_iterations):
            rank = self.accelerator.process_index
            save_batch(folder, rank, self._step, self._buffered_inputs)
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore that state with the optimiser's."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        folder, accelerator = Path(checkpoint), self.accelerator
        load_state(folder, self._stateful)
        kept = load_batch(folder, accelerator.process_index, accelerator.device)
        if kept is not None:
            self._step, self._buffered_inputs = kept

    # -- what TRL would do otherwise ---------------------------------------------------------------

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> Any:
        """Warm up from a share of the rate: at 0, as in transformers, a step trains nothing."""
        made: Any = self.lr_scheduler
        if made is None and self.args.lr_scheduler_type == "constant_with_warmup":
            warmup = max(1, self.args.get_warmup_steps(num_training_steps))
            self.lr_scheduler: Any = LambdaLR(
                optimizer or self.optimizer, lambda step: min(1.0, (step + 1) / warmup)
            )
            self._created_lr_scheduler = True
        return super().create_scheduler(num_training_steps, optimizer)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write none: TRL's knows neither the environment nor a model that has no name."""


def _episode_return(**_: Any) -> list[float]:
    """Stand for the reward function that TRL asks for: the environments pay."""
    raise NotSupported("expected rewards from the environments, but TRL asked a reward function")
