"""The multi-turn trainer, watched: seconds by part, drift from the behaviour, finite gradients.

Everything is measured where it happens, around the steps of ``MultiTurnTrainer``, and goes with
TRL's figures to whoever is told of them.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer import TRAINER_STATE_NAME

from trainers.grpo.trainer import MultiTurnTrainer
from trainers.monitoring.step_times import StepTimes
from trainers.processes import is_main
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

__all__ = ["KL_BEHAVIOUR", "MeasuredTrainer", "k3"]

KL_BEHAVIOUR = "sampling/kl_behaviour"
"""Name of the drift that a step's updates cause."""
KL_ROWS = 4
"""Rows of a process on which it is estimated: one forward pass of few rows, for every step."""
RESEED = 7_919
"""How far apart the seeds of episodes are before and after a rollback."""


class MeasuredTrainer(MultiTurnTrainer):
    """Measure each step, and take back an update that is not finite.

    Attributes:
        times: Seconds by part of the present step.
        finite: Whether loss and gradients of the present step were finite; an update that is not
            is left out, so that the weights stay what they were.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.times = StepTimes()
        self.finite = True
        super().__init__(*args, **kwargs)
        self.add_callback(_OptimiserTimes(self.times))
        self._seed = self.args.seed
        self._peak = self.args.learning_rate

    # -- seconds by part -------------------------------------------------------------------------

    def play_groups(self, *args: Any, **kwargs: Any) -> list[Trajectory]:
        """Play a step's episodes; environments count as far as generation does not hide them."""
        stats = self.runner.stats
        engine, envs = stats.engine_seconds, stats.env_seconds
        played = super().play_groups(*args, **kwargs)
        if self.staleness:  # What was played meanwhile cost the step no more than the wait.
            self.times.move("rest", "generation", self.waited)
            return played
        self.times.move("rest", "generation", stats.engine_seconds - engine)
        self.times.move("rest", "environments", stats.env_seconds - envs)
        return played

    def play(self, *args: Any, **kwargs: Any) -> list[Trajectory]:
        """Play other tasks; between steps that is validation."""
        with self.times.part("validation"):
            return super().play(*args, **kwargs)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        """Make one forward and backward pass, and note whether its loss is finite."""
        with self.times.part("update"):
            loss: Tensor = super().training_step(*args, **kwargs)
            # A device works on while Python goes on; reading a number waits for it.
            self.finite &= bool(torch.isfinite(loss))
        return loss

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """Make the batch, which belongs to no pass over it."""
        with self.times.part("rest"):
            return super()._prepare_inputs(generation_batch)

    def _add_logps(self, batch: dict[str, Any]) -> None:
        """Add log-probabilities without gradients."""
        with self.times.part("logprobs"):
            super()._add_logps(batch)

    def _clip_grad_norm(self, model: Any) -> Any:
        """Clip, and drop gradients that are not finite: they would leave no weight as it is."""
        with self.times.part("optimizer"):
            norm = super()._clip_grad_norm(model)
            self.finite &= norm is None or math.isfinite(float(norm))
            if not self.finite:
                model.zero_grad(set_to_none=True)
        return norm

    # -- figures -----------------------------------------------------------------------------------

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the drift of the step and its seconds by part to TRL's figures."""
        if "loss" in logs:  # TRL logs once more at the end of all, without a loss.
            logs[KL_BEHAVIOUR] = self.kl_behaviour()
            logs["finite"] = float(self.finite and math.isfinite(logs[KL_BEHAVIOUR]))
            self.finite = True
            logs |= {f"time/{name}": value for name, value in self.times.take().items()}
        super().log(logs, start_time)

    def kl_behaviour(self) -> float:
        """Estimate KL(mu || pi) in nats per token between this step's episodes and the weights now.

        After the last update of a step it is what the step has changed, as far as mu was pi before
        it. On a few rows of every process, so that it costs next to nothing; a weight that is not
        finite shows in it, too.
        """
        rows = _spread(self.trajectories, KL_ROWS)
        with self.times.part("rest"):
            now = [p for row in self._row_logps(rows) for p in row]
        sampled = [
            p for row in rows for p, held in zip(row.logprobs, row.mask, strict=True) if held
        ]
        total, count = k3(sampled, now), len(sampled)
        parts = self._gather([(total, count)])
        return sum(part for part, _ in parts) / max(1, sum(number for _, number in parts))

    # -- going back ------------------------------------------------------------------------------

    def adapt(self, rollbacks: int, lr_factor: float, reseed: bool) -> None:
        """Go on as a run that went back so many times: more slowly, or on other episodes.

        Args:
            rollbacks: Times that training went back.
            lr_factor: Share of the learning rate that each leaves.
            reseed: Whether each changes the seeds of the episodes.
        """
        self.args.learning_rate = self._peak * lr_factor**rollbacks
        self.args.seed = self._seed + RESEED * rollbacks * reseed

    def train_from(self, checkpoint: Path) -> None:
        """Train again, from a checkpoint, as a new process would."""
        self._step = 0
        self._weights.forget()
        self._buffered_inputs: Any = None
        self._generations = 0
        self._metrics["train"].clear()
        # Made anew with the rate of now; its moments come from the checkpoint.
        self.optimizer = None
        if self.is_deepspeed_enabled:  # Its engine went with the training that ended.
            self.model_wrapped = self.model
        self.train(resume_from_checkpoint=str(checkpoint))

    def save_start(self) -> None:
        """Write a checkpoint before the first step."""
        self._save_checkpoint(self.model, trial=None)

    def restore(self, checkpoint: Path) -> None:
        """Load the weights of a checkpoint, or of a saved policy, to play with and not to train."""
        training = (checkpoint / TRAINER_STATE_NAME).exists()
        if self.is_fsdp_enabled and training:
            self._load_from_checkpoint(str(checkpoint), self.model_wrapped)
        elif self.is_fsdp_enabled:
            _spread_out(checkpoint, self.model_wrapped)
        elif hasattr(next(self.model.parameters()), "ds_id"):  # ZeRO-3 has partitioned it.
            _fill_partitions(checkpoint, self.model)
        else:
            self._load_from_checkpoint(str(checkpoint))
        self._weights.forget()

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore the optimiser, at the learning rate that the run has come to."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None or self.args.learning_rate == self._peak:
            return
        rate, schedule = self.args.learning_rate, self.lr_scheduler
        optimizer: Any = self.optimizer
        schedule.base_lrs = [rate] * len(schedule.base_lrs)
        shares = [make(schedule.last_epoch) for make in schedule.lr_lambdas]
        for group, share in zip(optimizer.param_groups, shares, strict=True):
            group["initial_lr"], group["lr"] = rate, rate * share
        schedule._last_lr = [rate * share for share in shares]


class _OptimiserTimes(TrainerCallback):
    """Count the optimiser's own step."""

    def __init__(self, times: StepTimes) -> None:
        self._times = times
        self._began = 0.0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Forget what came before the first step."""
        self._times.take()

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Start."""
        self._began = time.perf_counter()

    def on_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Stop."""
        self._times.move("rest", "optimizer", time.perf_counter() - self._began)


def k3(sampled: Sequence[float], now: Sequence[float]) -> float:
    """Sum an estimate of KL(mu || pi) over tokens sampled from mu: ``r - 1 - log r``, r = pi / mu.

    Unbiased and never negative (J. Schulman, Approximating KL Divergence, 2020).
    """
    gaps = [p - q for p, q in zip(now, sampled, strict=True)]
    return sum(math.exp(min(gap, 700.0)) - 1.0 - gap for gap in gaps)


def _spread(trajectories: Sequence[Trajectory], count: int) -> list[Row]:
    """Return the first row of each of a few episodes, as far apart as they can be."""
    played = [trajectory for trajectory in trajectories if trajectory.turns]
    stride = max(1, len(played) // count)
    return [to_rows([trajectory])[0] for trajectory in played[::stride][:count]]


def _spread_out(policy: Path, model: Any) -> None:
    """Load whole weights, which the main process reads, into a model that FSDP shards."""
    # A head that is tied to the embedding has no weights of its own there.
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True, strict=False)
    set_model_state_dict(model, _read_by_main(policy), options=options)


def _fill_partitions(policy: Path, model: Any) -> None:
    """Load whole weights, which the main process reads, into a model that ZeRO-3 partitions."""
    zero = importlib.import_module("deepspeed").zero
    whole = _read_by_main(policy)
    for name, parameter in model.named_parameters():
        # Files leave out the name of the adapter.
        found = whole.get(name.replace(".default.", "."))
        with torch.no_grad(), zero.GatheredParameters([parameter], modifier_rank=0):
            if found is not None:
                parameter.copy_(found)


def _read_by_main(policy: Path) -> dict[str, Tensor]:
    """Return the weights of a saved policy in the main process, and none in the others."""
    whole: dict[str, Tensor] = {}
    if is_main():
        for file in sorted(policy.glob("*.safetensors")):
            whole |= load_file(file)
    return whole
