"""Weights in the form in which a policy generates fastest, made once per update.

* An unmerged adapter costs two small matrix products and several casts per layer and token. Merged
  into a copy of its base weight, W' = W + s B A for LoRA, it costs nothing.
* Under autocast a float32 matrix is cast to low precision again for every token: PyTorch keeps a
  cast at most until the outermost autocast context ends. A copy is cast once.

The copies are separate tensors that take the place of the trained weights during a forward pass.
Nothing is subtracted afterwards, so the trained weights stay equal to the bit. The copies take
memory until ``drop``: as much as the adapted matrices, or half as much as the cast ones.
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

__all__ = ["GenerationWeights", "mergeable_layers"]

PLAIN = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
"""Dtypes that adapters can be added to; others are quantization codes."""


class GenerationWeights:
    """Merged or cast copies of a model's weights, made on demand."""

    def __init__(
        self, model: nn.Module, autocast: torch.dtype | None = None, copies: bool = True
    ) -> None:
        """Find the layers; nothing is copied yet.

        Args:
            model: The policy, possibly with adapters.
            autocast: Low-precision dtype of the forward pass, if it uses one.
            copies: Whether there is memory for copies; without, the trained weights generate.
        """
        adapted = hasattr(model, "peft_config")  # then the base has the low precision already
        self._layers = mergeable_layers(model) if copies else []
        casts = copies and autocast is not None and not adapted
        self._matrices = _wide_matrices(model) if casts else []
        self._dtype = autocast
        self._copies: list[tuple[nn.Module, str, nn.Parameter]] = []

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Use the copies within the block; nothing may train meanwhile."""
        layers = [layer for layer in self._layers if not (layer.merged or layer.disable_adapters)]
        if len(layers) < len(self._layers):  # Adapters are switched off: the base generates.
            yield
            return
        if not self._copies:
            self._copies = [
                (module, name, nn.Parameter(values, requires_grad=False))
                for module, name, values in (*_merge(layers), *self._cast())
            ]
        trained = [module._parameters[name] for module, name, _ in self._copies]
        try:
            for module, name, copy in self._copies:
                module._parameters[name] = copy
            for layer in layers:
                layer.merged_adapters.extend(layer.active_adapters)
            yield
        finally:
            for (module, name, _), weight in zip(self._copies, trained, strict=True):
                module._parameters[name] = weight
            for layer in layers:
                layer.merged_adapters.clear()

    def drop(self) -> None:
        """Free the copies, because the policy is about to be trained or memory is needed."""
        self._copies = []

    @torch.no_grad()
    def _cast(self) -> Iterator[tuple[nn.Module, str, Tensor]]:
        """Yield layer, parameter name and low-precision values of each matrix."""
        for module in self._matrices:
            yield module, "weight", module.weight.to(self._dtype)


@torch.no_grad()
def _merge(layers: Iterable[BaseTunerLayer]) -> Iterator[tuple[nn.Module, str, Tensor]]:
    """Yield layer, parameter name and merged values of each adapted weight."""
    for layer in layers:
        for name, merged in merged_parameters(layer).items():
            yield layer.get_base_layer(), name, merged


def _wide_matrices(model: nn.Module) -> list[nn.Linear]:
    """Return the linear layers that autocast would cast to low precision.

    A head that is tied to the embedding is among them: only the layer gets the copy, and the
    embedding, which autocast leaves in float32, keeps the trained tensor.
    """
    linear = [module for module in model.modules() if type(module) is nn.Linear]
    return [module for module in linear if module.weight.dtype == torch.float32]


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
