"""Weights besides the policy's, with a separate optimiser and checkpoint file.

They are not served, saved or sharded with the policy. Every process holds them whole, and gradients
are averaged over processes by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
from torch import nn

from agentgym.errors import NotSupported
from trainers.grpo.step_part import StepPart
from trainers.rollouts.scoring.tensors import changes_weights

__all__ = ["OwnWeights", "check_warmup"]


def check_warmup(accelerator: Accelerator, steps: int, flag: str) -> None:
    """Check that the launch lets the policy wait in the first steps of a training.

    Args:
        accelerator: The trainer's.
        steps: Number of these steps.
        flag: The flag that sets it.

    Raises:
        NotSupported: DeepSpeed would train the policy meanwhile.
    """
    if steps and accelerator.distributed_type == DistributedType.DEEPSPEED:
        raise NotSupported(
            f"expected no first steps in which the policy waits ({flag} 0) with DeepSpeed, which "
            f"updates the policy within its backward pass, got {steps}: launch with ddp or fsdp2"
        )


class OwnWeights(StepPart):
    """Weights with their own learning rate, and their checkpoints."""

    def __init__(
        self, accelerator: Accelerator, *, lr: float, max_grad_norm: float, file: str
    ) -> None:
        """Start without weights.

        Args:
            accelerator: The trainer's.
            lr: Learning rate.
            max_grad_norm: Gradient norm at which their gradients are clipped.
            file: Name of their file in a checkpoint.
        """
        self._accelerator = accelerator
        self._lr, self._max_grad_norm, self._file = lr, max_grad_norm, file
        self._trained: dict[str, nn.Parameter] = {}
        self._optimizer: torch.optim.Optimizer
        self._factor = 1.0

    def _train(self, weights: Mapping[str, nn.Parameter]) -> None:
        """Train these weights as well."""
        self._trained |= weights
        self._optimizer = torch.optim.AdamW(self._trained.values(), lr=self._lr, weight_decay=0.0)

    def step(self) -> None:
        """Average gradients over processes, clip them separately from the policy's, and update."""
        for weight in self._trained.values():
            if weight.grad is not None:
                weight.grad = self._accelerator.reduce(weight.grad, reduction="mean")
        norm = nn.utils.clip_grad_norm_(self._trained.values(), self._max_grad_norm)
        if changes_weights(float(norm)):
            self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def slow_down(self, factor: float) -> None:
        """Multiply the learning rate by a factor, which also holds after a checkpoint is loaded."""
        self._factor = factor
        for group in self._optimizer.param_groups:
            group["lr"] = self._lr * factor

    def save(self, folder: Path) -> None:
        """Write weights and optimiser into a folder, which is created."""
        folder.mkdir(parents=True, exist_ok=True)
        weights = {name: weight.detach() for name, weight in self._trained.items()}
        torch.save(
            {"weights": weights, "optimizer": self._optimizer.state_dict()}, folder / self._file
        )

    def load(self, folder: Path) -> None:
        """Load them, in every process."""
        device = self._accelerator.device
        state = torch.load(folder / self._file, map_location=device, weights_only=True)
        with torch.no_grad():
            for name, weight in self._trained.items():
                weight.copy_(state["weights"][name])
        self._optimizer.load_state_dict(state["optimizer"])
        # The stored optimiser has the rate of its time.
        self.slow_down(self._factor)
