"""LoRA served as an adapter: vLLM keeps the frozen base and only gets the adapter at every sync.

An adapter has thousandths of the model's weights, and applying it beside the base is what training
does. A merge sends all weights, and in bfloat16 rounds away the part of W + s B A below half a unit
in the last place of W.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentgym.errors import ConfigurationError

if TYPE_CHECKING:
    import torch
    from peft import PeftModel

__all__ = ["AdapterFolder", "Lora", "adapter_rank", "serves_adapter", "vllm_rank", "why_merged"]

Lora = Literal["auto", "merge", "adapter"]
"""How the policy's adapters are sent to vLLM."""
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks for which vLLM can be built; a smaller adapter is padded."""
KERNEL_DTYPES = ("bfloat16", "float16")
"""Precisions of vLLM's adapter kernels on GPUs."""


def serves_adapter(lora: Lora, model: torch.nn.Module, *, dtype: str, on_cpu: bool) -> bool:
    """Decide whether vLLM serves a policy's adapter beside its base.

    ``auto`` does if it is exact, except on CPUs: there vLLM applies adapters token by token in
    plain torch, which costs more than merging the weights of a small model.

    Raises:
        ConfigurationError: It was requested and cannot be done exactly.
    """
    reason = why_merged(model)
    if reason is None and not on_cpu and dtype not in KERNEL_DTYPES:
        reason = f"vLLM's kernels on GPUs take bfloat16 or float16 and the engine is in {dtype}"
    if lora == "adapter" and reason is not None:
        raise ConfigurationError(
            f"expected a policy whose adapter vLLM can serve for --vllm.lora adapter, but "
            f"{reason}; choose merge or auto"
        )
    return lora == "adapter" or (lora == "auto" and reason is None and not on_cpu)


def why_merged(model: torch.nn.Module) -> str | None:
    """Return why the adapter of a policy must be merged into its base; None if it need not."""
    from peft import LoraConfig
    from peft.tuners.lora import Linear

    configs = getattr(model, "peft_config", {})
    active = [name for name in configs if name in getattr(model, "active_adapters", [])]
    if len(active) != 1:
        return f"it has {len(active)} active adapters"
    config = configs[active[0]]
    if not isinstance(config, LoraConfig) or config.r > RANKS[-1]:
        return f"its adapter is no LoRA of a rank up to {RANKS[-1]}"
    for name in (
        "use_dora", "modules_to_save", "rank_pattern", "alpha_pattern", "lora_bias",
        "trainable_token_indices", "target_parameters", "megatron_config", "eva_config",
    ):  # fmt: skip
        if getattr(config, name, None):
            return f"its adapter has {name}, which vLLM's does not know"
    if config.bias != "none":
        return f"its adapter trains biases ({config.bias})"
    odd = [n for n, layer in model.named_modules() if _adapted(layer) and type(layer) is not Linear]
    if odd:
        return f"its adapter sits on {odd[0]!r}, which is not a plain linear layer"
    loose = [n for n, p in model.named_parameters() if p.requires_grad and ".lora_" not in n]
    return f"{loose[0]!r} of its base is trained, too" if loose else None


def vllm_rank(rank: int) -> int:
    """Return the smallest rank supported by vLLM that holds adapters of a rank."""
    return next((supported for supported in RANKS if supported >= rank), RANKS[-1])


def adapter_rank(model: torch.nn.Module) -> int:
    """Return the rank of a policy's adapter; 0 without one."""
    config = next(iter(getattr(model, "peft_config", {}).values()), None)
    return int(getattr(config, "r", 0))


class AdapterFolder:
    """Folder of the latest adapter, in PEFT's format, for vLLM to read."""

    def __init__(self, folder: Path) -> None:
        """Choose the folder, which is created with the first adapter."""
        self._folder = folder

    def write(self, model: PeftModel, version: int, *, main: bool = True) -> Path:
        """Write the adapter of a policy; returns its folder.

        Args:
            model: The policy.
            version: Version of its weights, which names the folder.
            main: Whether this process writes; the others only help to gather shards.
        """
        from peft import get_peft_model_state_dict
        from safetensors.torch import save_file

        path = self._folder / f"adapter-{version}"
        name = model.active_adapters[0]
        tensors = get_peft_model_state_dict(model, adapter_name=name)
        # With shards (FSDP2) all processes gather the whole before one of them writes.
        tensors = {key: getattr(t, "full_tensor", lambda t=t: t)() for key, t in tensors.items()}
        if main:
            self.clear()
            path.mkdir(parents=True)
            state = {key: t.detach().to("cpu").contiguous() for key, t in tensors.items()}
            save_file(state, path / "adapter_model.safetensors")
            model.peft_config[name].save_pretrained(str(path))
        return path

    def clear(self) -> None:
        """Delete the written adapters."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _adapted(layer: torch.nn.Module) -> bool:
    """Return whether a module is a layer with an adapter."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return isinstance(layer, BaseTunerLayer)
