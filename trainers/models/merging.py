"""Formulas for merging policies with a common base model.

A policy i changed the weights of the base by delta_i = theta_i - theta_0, tensor by tensor. The
merged policy is theta_0 + merged(delta_1, ..., delta_n).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["METHODS", "Merge", "MergeMethod"]

MergeMethod = Literal["linear", "ties", "ram", "ram+"]
"""Names of the formulas."""
METHODS: tuple[MergeMethod, ...] = get_args(MergeMethod)
TOUCHED = 1e-5
"""Minimum absolute change of a weight that counts as a change, in RAM."""
GAIN, CAP = 0.1, 0.2
"""RAM+: r and alpha of lambda_i = 1 + r clip(shared_i / unique_i, 0, alpha)."""


@dataclass(frozen=True)
class Merge:
    """A formula and its hyperparameters.

    - ``linear``: sum_i w_i delta_i, a weighted mean of the policies (model soups, task arithmetic).
    - ``ties``: of each delta_i its largest entries, then, entry by entry, the mean of those whose
      sign is that of their sum (TIES, arXiv 2306.01708); PEFT's implementation, tensor by tensor.
    - ``ram``: an entry that one policy changed is taken from it whole, one that several changed is
      their mean (reinforced agent merging): what one policy learned is not diluted by the others.
    - ``ram+``: the same, and entries of policy i alone grow by lambda_i, the more of its changes
      are shared.

    Raises:
        ConfigurationError: A value is out of range.
    """

    method: MergeMethod
    """Which of them."""
    weights: tuple[float, ...]
    """w_i of ``linear``, which sum to 1, and of ``ties``."""
    density: float = 0.2
    """Share of the entries of each delta_i that ``ties`` keeps."""

    def __post_init__(self) -> None:
        """Check the values."""
        if not 0.0 < self.density <= 1.0:
            raise ConfigurationError(f"expected --density in (0, 1], got {self.density:g}")

    def __call__(self, deltas: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        """Return the merged changes, by the names of the tensors; all in 32 bits.

        Args:
            deltas: The changes of each policy, with equal names and shapes.
        """
        import torch

        if self.method.startswith("ram"):
            return _ram(deltas, grown=self.method == "ram+")
        from peft.utils.merge_utils import task_arithmetic, ties

        weights = torch.tensor(self.weights)
        merged = {}
        for name in deltas[0]:
            changes = [delta[name] for delta in deltas]
            if self.method == "linear":
                merged[name] = task_arithmetic(changes, weights)
            elif self.density < 1.0:
                merged[name] = ties(changes, weights, self.density)
            else:  # which PEFT warns of
                merged[name] = _elected(changes, weights)
        return merged


def _elected(deltas: Sequence[Tensor], weights: Tensor) -> Tensor:
    """Return the last two steps of TIES (elect signs, average) for untrimmed changes."""
    import torch
    from peft.utils.merge_utils import calculate_majority_sign_mask, disjoint_merge

    stacked = torch.stack(list(deltas))
    mask = calculate_majority_sign_mask(stacked)
    return disjoint_merge(stacked * weights.view(-1, *[1] * deltas[0].dim()), mask)


def _ram(deltas: Sequence[Mapping[str, Tensor]], grown: bool) -> dict[str, Tensor]:
    """Take entries of one policy as they are, and the mean of those of several."""
    import torch

    touched = [{name: part.abs() > TOUCHED for name, part in delta.items()} for delta in deltas]
    several = {name: sum(masks[name].int() for masks in touched) for name in deltas[0]}
    factors = [1.0] * len(deltas)
    if grown:
        factors = [_growth(masks, several) for masks in touched]
    merged = {}
    for name in deltas[0]:
        count = several[name]
        total = torch.zeros_like(deltas[0][name])
        for delta, masks, factor in zip(deltas, touched, factors, strict=True):
            part = torch.where(masks[name], delta[name], torch.zeros_like(delta[name]))
            total += torch.where(count == 1, part * factor, part)
        merged[name] = total / count.clamp(min=1)
    return merged


def _growth(touched: Mapping[str, Tensor], several: Mapping[str, Tensor]) -> float:
    """Return lambda of a policy, from the counts of its entries over all tensors."""
    unique = sum(int((mask & (several[name] == 1)).sum()) for name, mask in touched.items())
    shared = sum(int((mask & (several[name] > 1)).sum()) for name, mask in touched.items())
    return 1.0 + GAIN * min(shared / unique, CAP) if unique else 1.0
