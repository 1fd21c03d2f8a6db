"""Load whole weights of a saved policy into a model that is sharded over processes.

The reverse of ``policy_weights``; imported only where a launch shards the model.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

from trainers.processes import is_main

__all__ = ["load_sharded"]


def load_sharded(policy: Path, model: nn.Module) -> None:
    """Load the weights of a saved policy into a model sharded by FSDP or ZeRO-3.

    All processes call it; the main process reads the files.
    """
    partitioned = hasattr(next(model.parameters()), "ds_id")
    (_fill_partitions if partitioned else _fill_shards)(policy, model)


def _fill_shards(policy: Path, model: nn.Module) -> None:
    """Load whole weights, read by the main process, into a model sharded by FSDP."""
    # A head tied to the embedding has no separate weights in the file.
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True, strict=False)
    set_model_state_dict(model, _read_by_main(policy), options=options)


def _fill_partitions(policy: Path, model: nn.Module) -> None:
    """Load whole weights, read by the main process, into a model partitioned by ZeRO-3."""
    zero = importlib.import_module("deepspeed").zero
    tensors = _read_by_main(policy)
    for name, parameter in model.named_parameters():
        # Files omit the adapter's name from keys.
        tensor = tensors.get(name.replace(".default.", "."))
        # All processes enter; what rank 0 writes is broadcast on exit.
        with torch.no_grad(), zero.GatheredParameters([parameter], modifier_rank=0):
            if tensor is not None:
                parameter.copy_(tensor)


def _read_by_main(policy: Path) -> dict[str, Tensor]:
    """Return the weights of a saved policy in the main process, and none in the others."""
    tensors: dict[str, Tensor] = {}
    if is_main():
        for file in sorted(policy.glob("*.safetensors")):
            tensors |= load_file(file)
    return tensors
