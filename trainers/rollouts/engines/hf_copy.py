"""Generation by transformers with a separate copy of the weights, updated by ``sync``.

If the trained weights are sharded over processes (FSDP, ZeRO-3), no process can generate with the
model itself: every forward pass needs all processes, and they decode different numbers of tokens.
Here each process keeps a whole copy, and only ``sync`` is collective.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from transformers.initialization import no_init_weights

from agentgym.errors import NotSupported
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.policy_weights import base_model, check_whole, policy_weights

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

__all__ = ["HFCopyEngine"]


class HFCopyEngine(HFEngine):
    """Generate with a copy of the model, which takes its size once more in every process.

    The copy has no adapters: ``sync`` delivers them merged.
    """

    name = "hf-copy"

    def __init__(self, model: PreTrainedModel | PeftModel, *args: Any, **kwargs: Any) -> None:
        """Copy a model; see :class:`HFEngine` for the other arguments.

        Raises:
            NotSupported: The model's weights are sharded already.
        """
        check_whole(model)
        super().__init__(_plain_copy(model), *args, **kwargs)
        self._named = dict(self.model.named_parameters(remove_duplicate=False))

    @torch.no_grad()
    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Load new weights and drop the cache.

        Raises:
            NotSupported: A tensor has a name that the copy does not have.
        """
        for name, tensor in named_params:
            if name not in self._named:
                raise NotSupported(
                    f"expected weights of {type(self.model).__name__}, got {name!r}: the model "
                    "that is trained has parts that its class does not make; choose --engine vllm "
                    "or train with DDP"
                )
            self._named[name].copy_(tensor)
        super().sync((), version)


def _plain_copy(model: PreTrainedModel | PeftModel) -> PreTrainedModel:
    """Return a frozen model of the same class and weights, without adapters.

    It is built from the configuration: a deep copy would keep forward methods that libraries
    patched into the original.
    """
    base = base_model(model)
    with no_init_weights():
        copied = type(base)(copy.deepcopy(base.config))
        copied.tie_weights()
    # Buffers such as rotary frequencies stay those of the fresh model, in their own precision.
    copied.to(next(base.parameters()).device)
    named = dict(copied.named_parameters(remove_duplicate=False))
    for name, tensor in policy_weights(model):
        named[name].data = tensor.clone()
    return copied.eval().requires_grad_(False)
