"""Whole weights of a saved policy, into a model of which every process holds a part."""

from __future__ import annotations

import importlib
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

from trainers.processes import is_main

__all__ = ["fill_partitions", "fill_shards"]


def fill_shards(policy: Path, model: nn.Module) -> None:
    """Load whole weights, which the main process reads, into a model that FSDP shards."""
    # A head that is tied to the embedding has no weights of its own there.
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True, strict=False)
    set_model_state_dict(model, _read_by_main(policy), options=options)


def fill_partitions(policy: Path, model: nn.Module) -> None:
    """Load whole weights, which the main process reads, into a model that ZeRO-3 partitions."""
    zero = importlib.import_module("deepspeed").zero
    whole = _read_by_main(policy)
    for name, parameter in model.named_parameters():
        # Files leave out the name of the adapter.
        found = whole.get(name.replace(".default.", "."))
        # All enter, the others with nothing found: what rank 0 writes is spread at the end.
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
