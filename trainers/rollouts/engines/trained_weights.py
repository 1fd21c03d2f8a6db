"""A copy of a policy's trained weights; with adapters, only the adapters.

The policy becomes its past self for as long as these weights are put into it. So a stale policy
costs the memory of what is trained, and reaches every engine as the present one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from agentgym.errors import DataError

__all__ = ["TrainedWeights"]


class TrainedWeights:
    """Copies of the weights of a policy that are trained.

    Attributes:
        model: The policy, whole in this process.
    """

    def __init__(self, model: nn.Module) -> None:
        """Copy them as they are now."""
        self.model = model
        self._snapshots = {
            name: (weight, weight.detach().clone())
            for name, weight in model.named_parameters()
            if weight.requires_grad
        }

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Let the policy be its past self for the block; nothing else may use it meanwhile."""
        # Tensors change places, so that nothing is copied and no rounding can creep in.
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
        """Take over what :meth:`state_dict` returned.

        Raises:
            DataError: It is of another policy.
        """
        if state.keys() != self._snapshots.keys():
            raise DataError(
                f"expected weights of {', '.join(list(self._snapshots)[:3])}, ..., got those of "
                f"{', '.join(list(state)[:3])}, ...; resume with the checkpoint's own --model"
            )
        for name, (_, snapshot) in self._snapshots.items():
            snapshot.copy_(state[name])
