"""Generation by transformers with weights of its own, filled by ``sync``.

Where the weights that are trained are sharded over processes (FSDP, ZeRO-3), none of them can
generate with the model itself: every forward pass would be an act of all, and they decode different
numbers of tokens. Here each process keeps a whole copy, and ``sync`` is what all do together.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import torch

from agentgym.errors import NotSupported
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.policy_weights import base_model, check_whole

__all__ = ["HFCopyEngine"]


class HFCopyEngine(HFEngine):
    """Generate with a copy of the model, which costs its size once more in every process.

    The copy has no adapters: ``sync`` brings them merged.
    """

    name = "hf-copy"

    def __init__(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Copy a model; see :class:`HFEngine` for the other arguments.

        Raises:
            NotSupported: The model's weights are sharded already.
        """
        check_whole(model)
        super().__init__(_plain_copy(model), *args, **kwargs)
        self._named = dict(self.model.named_parameters(remove_duplicate=False))

    @torch.no_grad()
    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Take over new weights and drop the cache.

        Raises:
            NotSupported: A tensor has a name that the copy does not know.
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


def _plain_copy(model: Any) -> Any:
    """Return a frozen model of the same class, without adapters."""
    base = base_model(model)
    if base is model:
        plain = copy.deepcopy(base)
    else:
        # Adapters sit inside the layers. Those of a fresh model are plain; sync fills them.
        weight = next(base.parameters())
        plain = type(base)(copy.deepcopy(base.config)).to(weight.device)
        plain = plain.to(_dtype(base))
    return plain.eval().requires_grad_(False)


def _dtype(model: Any) -> torch.dtype:
    """Return the precision of most of a model's weights."""
    sizes: dict[torch.dtype, int] = {}
    for parameter in model.parameters():
        sizes[parameter.dtype] = sizes.get(parameter.dtype, 0) + parameter.numel()
    return max(sizes, key=lambda dtype: sizes[dtype])
