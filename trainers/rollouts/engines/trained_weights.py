"""A copy of a policy's trained weights; with adapters, only the adapters.

While these weights are swapped in, the model is the past policy. So a stale policy only takes the
memory of the trained weights, and reaches every engine in the same way as the current one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from agentgym.errors import DataError

__all__ = ["TrainedWeights"]


class TrainedWeights:
    """Copies of a policy's trained weights.

    Attributes:
        model: The policy, whole in this process.
    """

    def __init__(self, model: nn.Module) -> None:
        """Copy the current weights."""
        self.model = model
        self._snapshots = {
            name: (weight, weight.detach().clone())
            for name, weight in model.named_parameters()
            if weight.requires_grad
        }

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Swap the copies in for the block; nothing else may use the policy meanwhile."""
        # Tensors are swapped, so that nothing is copied or rounded.
        present = {name: weight.data for name, (weight, _) in self._snapshots.items()}
        try:
            for weight, snapshot in self._snapshots.values():
                weight.data = snapshot
            yield
        finally:
            for name, (weight, _) in self._snapshots.items():
                weight.data = present[name]

    def state_dict(self) -> dict[str, Tensor]:
        """Return the copies by name."""
        return {name: snapshot for name, (_, snapshot) in self._snapshots.items()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Load the result of :meth:`state_dict`.

        Raises:
            DataError: It belongs to another policy.
        """
        if state.keys() != self._snapshots.keys():
            raise DataError(
                f"expected weights of {', '.join(list(self._snapshots)[:3])}, ..., got those of "
                f"{', '.join(list(state)[:3])}, ...; resume with the checkpoint's own --model"
            )
        for name, (_, snapshot) in self._snapshots.items():
            snapshot.copy_(state[name])
