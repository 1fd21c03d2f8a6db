"""Supervised warm start (SFT) of the tiny model, on the same kind of rows as RL.

The loss of a batch is ``mean CE over action tokens + w * mean CE over observation tokens``. The
second term teaches a small model to copy and compare words; action tokens alone are too few.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agentgym.errors import ConfigurationError
from trainers.rollouts.scoring.packed_rows import computes_packed_rows, longest_row, pack
from trainers.rollouts.scoring.tensors import IGNORED, changes_weights, row_inputs
from trainers.rollouts.trajectory import Row

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Sft", "SftResult", "SftSettings"]

STATE_FILE = "state.pt"
GateFn = Callable[[int], bool]
"""Called with the number of finished steps; True opens the gate, which ends the warm start."""
ProgressFn = Callable[[int, Mapping[str, float]], None]
"""Called with the number of finished steps and the figures since the last call."""
StepFn = Callable[[int], None]
"""Called with the number of finished steps."""


@dataclass(frozen=True)
class SftSettings:
    """Hyperparameters of imitation."""

    steps: int = 1000
    """Maximum optimiser steps; the learning rate's cosine ends there."""
    batch_size: int = 16
    """Rows per step."""
    micro_batch: int = 64
    """Maximum rows per forward and backward pass."""
    lr: float = 3e-3
    """Peak learning rate."""
    warmup: int = 30
    """Steps of linear warm-up."""
    floor: float = 0.1
    """Share of the peak at the end of the cosine."""
    weight_decay: float = 0.01
    """Decoupled weight decay (AdamW)."""
    beta2: float = 0.98
    """AdamW's second moment decay; the first is 0.9."""
    max_grad_norm: float = 1.0
    """Gradient norm at which gradients are clipped."""
    observation_weight: float = 0.5
    """Weight w of the language-model loss on tokens the policy does not write."""
    bucket: int = 8
    """Batches whose rows are sorted by length together, to save padding."""
    eval_every: int = 50
    """Steps between two calls of the gate."""
    log_every: int = 10
    """Steps between two calls of the progress function."""
    seed: int = 0
    """Seed of the order of the rows."""

    def learning_rate(self, step: int) -> float:
        """Learning rate of a step (from 0): linear warm-up, then cosine down to the floor.

        The rate of the first step is above 0, so that its rows are not wasted.
        """
        cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, step / self.steps)))
        rise = min(1.0, (step + 1) / max(1, self.warmup))
        return self.lr * rise * (self.floor + (1 - self.floor) * cosine)


@dataclass(frozen=True)
class SftResult:
    """How a warm start ended."""

    steps: int
    """Steps taken in all."""
    loss: float
    """Mean loss on action tokens over the last logged steps."""
    gated: bool
    """Whether the gate ended it, rather than the number of steps."""
    seconds: float
    """Seconds of training, validation at the gate excluded."""


class Sft:
    """Train a causal LM on rows; can be stopped, saved and continued at any step.

    Args:
        model: A causal LM; weights without gradients stay.
        rows: Demonstrations, see ``rollouts.demonstrations`` and ``trajectory.to_rows``.
        pad_id: Id used for padding.
        settings: How to train.
        shared_prefixes: Compute prefixes that rows of a pass share once, if the model allows it.

    Attributes:
        step: Steps taken.

    Raises:
        ConfigurationError: There are no rows, or none has an action token.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        rows: Sequence[Row],
        pad_id: int = 0,
        settings: SftSettings | None = None,
        shared_prefixes: bool = True,
    ) -> None:
        self.model = model
        self.settings = settings or SftSettings()
        self.step = 0
        self._pad = pad_id
        self._packs: bool | None = None if shared_prefixes else False  # None: not known yet.
        check_demonstrations(rows)
        self._ids = [np.array(row.ids, dtype=np.int64) for row in rows]
        self._masks = [np.array(row.mask, dtype=bool) for row in rows]
        self._lengths = np.array([len(ids) for ids in self._ids])
        self._weights = [p for p in model.parameters() if p.requires_grad]
        self._since, self._clock = np.zeros(3), 0.0  # Sums of what `_train` returns; seconds.
        self._optimizer = torch.optim.AdamW(
            self._weights,
            lr=self.settings.lr,
            betas=(0.9, self.settings.beta2),
            weight_decay=self.settings.weight_decay,
        )

    def run(
        self,
        gate: GateFn | None = None,
        progress: ProgressFn | None = None,
        after_step: StepFn | None = None,
    ) -> SftResult:
        """Train until the gate opens or the steps are used up.

        Args:
            gate: Called every ``eval_every`` steps and after the last one.
            progress: Called every ``log_every`` steps with ``loss``, ``observation_loss``, ``lr``,
                ``tokens_per_second``, and ``tokens`` and ``seconds`` since the last call.
            after_step: Called last after each step with which training goes on; it may save.

        Returns:
            How it ended.
        """
        settings, seconds, gated = self.settings, 0.0, False
        loss = math.nan
        batches = self._batches(self.step)
        while self.step < settings.steps and not gated:
            start = time.perf_counter()
            self.model.train()
            self._since += self._train(next(batches))
            self.step += 1
            self._clock += time.perf_counter() - start
            last = self.step == settings.steps
            if self.step % settings.log_every == 0 or last:
                figures = self.figures()
                loss = figures["loss"]
                if progress is not None:
                    progress(self.step, figures)
                seconds += self._clock
                self._since, self._clock = np.zeros(3), 0.0
            if gate is not None and (self.step % settings.eval_every == 0 or last):
                gated = bool(gate(self.step))
            if after_step is not None and not (gated or last):
                after_step(self.step)
        self.model.eval()
        return SftResult(self.step, loss, gated, seconds + self._clock)

    def figures(self) -> dict[str, float]:
        """Return the figures for ``progress`` since its last call, and reset them."""
        # Steps since the last call, fewer than ``log_every`` in the last of all.
        count = (self.step - 1) % self.settings.log_every + 1
        if not self._clock:
            return {}
        loss, other_loss, tokens = self._since.tolist()
        return {
            "loss": loss / count,
            "observation_loss": other_loss / count,
            "lr": self.settings.learning_rate(self.step - 1),
            "tokens": tokens,
            "tokens_per_second": tokens / self._clock,
            "seconds": self._clock,
        }

    def merged(self) -> PreTrainedModel:
        """Return the trained model; only a pretrained one has adapters to merge."""
        return self.model

    def save(self, path: Path) -> None:
        """Write a checkpoint into a folder."""
        sft = {
            "step": self.step,
            "optimizer": self._optimizer.state_dict(),
            "since": self._since.tolist(),
            "clock": self._clock,
        }
        torch.save({"sft": sft, "model": self.model.state_dict()}, path / STATE_FILE)

    def load(self, path: Path) -> None:
        """Continue from a checkpoint; the order of the rows continues, too."""
        state = torch.load(path / STATE_FILE, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.step = int(state["sft"]["step"])
        self._optimizer.load_state_dict(state["sft"]["optimizer"])
        self._since, self._clock = np.array(state["sft"]["since"]), state["sft"]["clock"]

    def _batches(self, start: int) -> Iterator[Sequence[int]]:
        """Row indices of each step from ``start`` on: a pure function of seed and step."""
        size = min(self.settings.batch_size, len(self._ids))
        per_epoch = len(self._ids) // size
        epoch, skip = divmod(start, per_epoch)
        while True:
            rng = np.random.default_rng((self.settings.seed, epoch))
            # Whole batches only; another permutation leaves out other rows in the next epoch.
            order = rng.permutation(len(self._ids))[: per_epoch * size]
            parts: list[Sequence[int]] = []
            for first in range(0, len(order), size * self.settings.bucket):
                part = order[first : first + size * self.settings.bucket]
                # Rows of like length need little padding. Only within a bucket, so the order stays
                # random.
                part = part[np.argsort(self._lengths[part], kind="stable")]
                parts += [part[k : k + size].tolist() for k in range(0, len(part), size)]
            # Else each bucket would go from short rows to long ones.
            for index in rng.permutation(len(parts))[skip:]:
                yield parts[index]
            epoch, skip = epoch + 1, 0

    def _train(self, rows: Sequence[int]) -> npt.NDArray[np.float64]:
        """Take one optimiser step; (3,) action loss and observation loss in nats, and tokens."""
        settings = self.settings
        for group in self._optimizer.param_groups:
            group["lr"] = settings.learning_rate(self.step)
        # Numbers of targets in the whole step: divided by them, the sums of the micro-batches add
        # up to the step's means. The first token of a row has no context, so it is not a target.
        actions = max(1, sum(int(self._masks[i][1:].sum()) for i in rows))
        observations = max(1, sum(int((~self._masks[i][1:]).sum()) for i in rows))
        figures = np.zeros(3)
        self._optimizer.zero_grad(set_to_none=True)
        for start in range(0, len(rows), settings.micro_batch):
            ids, action, other_mask = self._tensors(rows[start : start + settings.micro_batch])
            nll = self._nll(ids, (action + other_mask) > 0)
            loss = (nll * action).sum() / actions
            other_loss = (nll * other_mask).sum() / observations
            (loss + settings.observation_weight * other_loss).backward()
            figures += [loss.item(), other_loss.item(), float((action + other_mask).sum())]
        norm = torch.nn.utils.clip_grad_norm_(self._weights, settings.max_grad_norm)
        if changes_weights(float(norm)):
            self._optimizer.step()
        return figures

    def _nll(self, ids: Tensor, real: Tensor) -> Tensor:
        """(B, L-1) negative log-likelihood of every token but the first, in nats.

        Padding is on the right, so the causal mask hides it and no attention mask is needed,
        which lets attention take its fastest path. What rows share is computed once.
        """
        labels = torch.full_like(ids, IGNORED)
        labels[:, 1:] = torch.where(real, ids[:, 1:], IGNORED)
        packed = pack(row_inputs(ids, labels), labels) if self._packed(ids.shape[1]) else None
        if packed is not None:
            logits = self.model(**packed.inputs(), use_cache=False).logits[0]
            logps = torch.log_softmax(logits.float(), -1)[packed.sources, packed.labels]
            return torch.zeros(real.shape).masked_scatter(real, -logps[packed.pairs])
        logits = self.model(input_ids=ids, use_cache=False).logits[:, :-1]
        # In float32: sums of losses would lose their last digits in bf16.
        flat = logits.float().reshape(-1, logits.shape[-1])
        nll = torch.nn.functional.cross_entropy(flat, ids[:, 1:].reshape(-1), reduction="none")
        return nll.view(ids.shape[0], -1)

    def _packed(self, width: int) -> bool:
        """Whether prefixes shared by rows of this width are computed once."""
        if self._packs is None:
            self._packs = computes_packed_rows(self.model)
        return self._packs and width <= longest_row(self.model)

    def _tensors(self, rows: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """(B, L) ids and two (B, L-1) masks of targets: action tokens and other real tokens."""
        width = int(self._lengths[list(rows)].max())
        ids = np.full((len(rows), width), self._pad, dtype=np.int64)
        action = np.zeros((len(rows), width), dtype=np.float32)
        real = np.zeros((len(rows), width), dtype=np.float32)
        for k, i in enumerate(rows):
            size = len(self._ids[i])
            ids[k, :size], action[k, :size], real[k, :size] = self._ids[i], self._masks[i], 1.0
        device = self._weights[0].device
        tensors = [torch.from_numpy(x).to(device) for x in (ids, action[:, 1:], real[:, 1:])]
        return tensors[0], tensors[1], tensors[2] - tensors[1]  # int64, float32, float32


def check_demonstrations(rows: Sequence[Row]) -> None:
    """Check that the demonstrations contain action tokens.

    Raises:
        ConfigurationError: There are no rows, or none has an action token.
    """
    if not any(any(row.mask) for row in rows):
        raise ConfigurationError(
            f"expected demonstrations with action tokens, got {len(rows)} rows without: check "
            "that the expert acts and that the chat template closes its turns"
        )
