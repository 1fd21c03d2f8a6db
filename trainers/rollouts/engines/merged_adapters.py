"""Merge adapters into copies of their base weights while a policy generates.

An unmerged adapter costs two small matrix products and several casts per layer and token; merged,
W' = W + s B A for LoRA, it costs nothing. Merged weights are separate tensors that are swapped with
the base weights. Nothing is subtracted afterwards, so the trained weights stay equal to the bit.
The copies take the memory of the adapted matrices once more until ``drop``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from trainers.rollouts.engines.policy_weights import merged_parameters

if TYPE_CHECKING:
    from peft.tuners.tuners_utils import BaseTunerLayer

__all__ = ["MergedAdapters", "mergeable_layers"]

PLAIN = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
"""Dtypes that adapters can be added to; others are quantization codes."""


class MergedAdapters:
    """The adapted layers of a model, and their merged weights, made on demand."""

    def __init__(self, model: nn.Module | None) -> None:
        """Find the layers, none without a model; nothing is merged yet."""
        self._layers = [] if model is None else mergeable_layers(model)
        self._merged: list[tuple[nn.Parameter, Tensor]] = []

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Use merged weights within the block; nothing may train meanwhile."""
        layers = [layer for layer in self._layers if not (layer.merged or layer.disable_adapters)]
        if layers and not self._merged:
            self._merged = list(_merge(layers))
        base = [weight.data for weight, _ in self._merged]
        try:
            for weight, merged in self._merged:
                weight.data = merged
            for layer in layers:
                layer.merged_adapters.extend(layer.active_adapters)
            yield
        finally:
            for (weight, _), data in zip(self._merged, base, strict=True):
                weight.data = data
            for layer in layers:
                layer.merged_adapters.clear()

    def drop(self) -> None:
        """Free the merged weights, because adapters are about to be trained or memory is needed."""
        self._merged = []


@torch.no_grad()
def _merge(layers: Iterable[BaseTunerLayer]) -> Iterator[tuple[nn.Parameter, Tensor]]:
    """Yield each adapted weight and its merged value."""
    for layer in layers:
        parameters = dict(layer.get_base_layer().named_parameters(recurse=False))
        for name, merged in merged_parameters(layer).items():
            yield parameters[name], merged


def mergeable_layers(model: nn.Module) -> list[BaseTunerLayer]:
    """Return the adapted layers of a model if all of them can be merged, else none.

    They cannot in a quantized base, which would have to be decoded, nor if a weight is tied to
    another layer, which the adapter must not change.
    """
    if not hasattr(model, "peft_config"):
        return []
    from peft.tuners.tuners_utils import BaseTunerLayer

    uses = Counter(id(weight) for _, weight in model.named_parameters(remove_duplicate=False))
    layers = [module for module in model.modules() if isinstance(module, BaseTunerLayer)]
    weights = [getattr(layer.get_base_layer(), "weight", None) for layer in layers]
    has_plain_weights = all(
        weight is not None
        and type(weight) is nn.Parameter
        and weight.dtype in PLAIN
        and uses[id(weight)] == 1
        for weight in weights
    )
    return layers if has_plain_weights else []
