"""Precision of weights and arithmetic, and quantisation, decided before a model loads.

Trained weights are kept in float32: at the rates of reinforcement learning an update changes a
weight by less than bfloat16 can tell apart (8 bits; 2e-5 is below half a unit of every weight above
0.01), so it would be lost. With ``bf16``

* all weights are trained as float32 under autocast: matrices multiply in bfloat16, norms and
  softmax stay in float32 (mixed precision, arXiv 1710.03740);
* adapters are trained as float32 under autocast over a frozen base in bfloat16;
* over a base of 8 or 4 bits (QLoRA, arXiv 2305.14314) likewise, where TRL would keep the adapters
  in bfloat16.

An engine that generates in another precision than the training forward is not exact: its tokens get
truncated importance weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from agentgym.errors import ConfigurationError, require

if TYPE_CHECKING:
    import torch
    from transformers import BitsAndBytesConfig

__all__ = [
    "OPTIMIZERS",
    "check_memory_options",
    "chosen_precision",
    "keep_differentiable",
    "precision_arguments",
    "quantization_config",
    "weights_dtype",
]

Precision = Literal["fp32", "bf16"]

BF16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")
"""Flags of processors that multiply bfloat16 faster than float32."""
BF16_WEIGHTS = 50_000_000
"""Minimum number of weights for bf16 on a CPU; small models spend their time elsewhere."""
OPTIMIZERS: Mapping[str, str] = MappingProxyType(
    {
        "adamw": "adamw_torch_fused",
        "adamw-8bit": "adamw_8bit",
        "paged-adamw-8bit": "paged_adamw_8bit",
    }
)
"""Names of optimisers in transformers, by ours."""


def chosen_precision(setting: str, tiny: bool, weights: Callable[[], int]) -> Precision:
    """Return the precision of a run.

    ``auto`` is bf16 on a GPU that has it, and on a CPU that multiplies matrices in it for a model
    that is large enough to gain by it. The processor's instruction set decides, not a timing, so
    that the same machine makes the same choice.

    Args:
        setting: The setting of the run.
        tiny: Whether the policy starts from scratch.
        weights: Counts the weights of its model; called only if needed.
    """
    if setting != "auto":
        return "bf16" if setting == "bf16" else "fp32"
    if tiny:
        return "fp32"
    import torch

    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported() else "fp32"
    able = torch.cpu.get_capabilities()
    fast = any(able.get(name) for name in BF16_INSTRUCTIONS)
    return "bf16" if fast and weights() >= BF16_WEIGHTS else "fp32"


def weights_dtype(precision: str, *, frozen: bool) -> torch.dtype:
    """Return the type in which a model is loaded; only frozen weights may be bfloat16."""
    import torch

    return torch.bfloat16 if frozen and precision == "bf16" else torch.float32


def precision_arguments(
    precision: str, checkpointing: bool, optimizer: str = "adamw"
) -> dict[str, Any]:
    """Return the arguments of transformers' trainers for these settings."""
    return {
        "bf16": precision == "bf16",
        "gradient_checkpointing": checkpointing,
        "optim": OPTIMIZERS[optimizer],
    }


def quantization_config(kind: str, precision: str) -> BitsAndBytesConfig | None:
    """Return transformers' configuration of a base of 8 or 4 bits; None for ``none``.

    Norms, embeddings and the head stay in the type of the frozen base: PEFT's
    ``prepare_model_for_kbit_training`` would make them float32, which for a vocabulary of 150,000
    costs gigabytes, and TRL does not call it either.
    """
    if kind == "none":
        return None
    from transformers import BitsAndBytesConfig

    if kind == "8bit":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=weights_dtype(precision, frozen=True),
    )


def keep_differentiable(model: torch.nn.Module) -> None:
    """Keep bitsandbytes from repacking matrices of 4 bits on a CPU.

    It does so on processors with AVX-512 when a model first generates, for a kernel that has no
    gradient (0.50.2): training afterwards would get no gradient through these layers, without any
        error.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def check_memory_options(
    *, quantize: str, optimizer: str, adapters: bool, engine: str, warm_start: bool
) -> None:
    """Check for combinations that cannot work and for a missing package.

    Raises:
        ConfigurationError: Two settings contradict each other, or the device cannot do it.
        DependencyNotInstalled: bitsandbytes is needed and absent.
    """
    if quantize != "none":
        conflicts = (
            (not adapters, "a pretrained --model with --lora.r above 0", "quantised weights are "
             "frozen: only adapters over them can be trained"),
            (engine != "hf", "--engine hf", "another engine has whole weights of its own, which "
             "would not be those that are trained"),
            (warm_start, "--sft.max-steps 0", "a warm start is merged into the weights, and "
             "quantising them again would change the policy"),
        )  # fmt: skip
        for refused, expectation, reason in conflicts:
            if refused:
                raise ConfigurationError(
                    f"expected {expectation} with --memory.quantize {quantize}, because {reason}"
                )
    if quantize == "none" and optimizer == "adamw":
        return
    require("bitsandbytes", "memory")
    if optimizer.startswith("paged"):
        import torch

        if not torch.cuda.is_available():
            raise ConfigurationError(
                "expected a GPU for --memory.optimizer paged-adamw-8bit, whose pages move between "
                "the GPU and the host, got a CPU: use adamw-8bit or adamw"
            )
