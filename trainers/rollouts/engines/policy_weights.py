"""The policy's weights as a stream of (name, tensor) pairs named like the base checkpoint.

An engine with its own copy of the model (vLLM, a server) has no adapters, wrappers or tied tensors.
``policy_weights`` hides them: LoRA (or any PEFT tuner) is merged layer by layer into fresh tensors,
wrapper prefixes are dropped, and the training weights are never written to. Weights that FSDP2 or
ZeRO-3 shard over processes are gathered, a layer at a time.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from agentgym.errors import ConfigurationError, NotSupported

if TYPE_CHECKING:
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import ModulesToSaveWrapper
    from transformers import PreTrainedModel

__all__ = [
    "base_model",
    "check_whole",
    "merged_parameters",
    "policy_weights",
    "round_stochastically",
    "with_tied_head",
]

_WRAPPERS = ("module", "_orig_mod")
"""Attributes in which DDP and ``torch.compile`` store the wrapped model."""
EMBEDDING = "embed_tokens.weight"
HEAD = "lm_head.weight"
NOISES = 1_000_003
"""Length of the repeated noise for rounding; a prime, so that rows of a matrix get different
noise."""


def policy_weights(
    model: torch.nn.Module, *, merged: bool = True
) -> Generator[tuple[str, torch.Tensor], None, None]:
    """Stream the weights the policy acts with, under their base-checkpoint names.

    Plain models yield their parameters. PEFT models yield each adapted layer's base weight plus
    its adapter's delta, W' = W + s B A for LoRA, computed in a new tensor. Only one merged layer
    is alive at a time, and the training weights stay bit-identical because they are only read.

    With sharded weights all processes must consume the whole stream together.

    Args:
        model: A transformers or PEFT model, possibly inside DDP or ``torch.compile`` wrappers.
        merged: Whether adapters count; without them the weights are those of the base.

    Yields:
        (name, detached tensor) pairs; a tensor shared under two names comes once.

    Raises:
        ConfigurationError: An adapter sits on tied embeddings, which would untie them.
        NotSupported: The model holds a PEFT wrapper that cannot be merged.
    """
    base = base_model(model)
    if hasattr(_unwrap(model), "peft_config"):
        _check_tied_embeddings(base)
        pairs = _walk(base, "", set(), merged)
    else:
        pairs = base.named_parameters()
    for name, tensor in pairs:
        with _gathered([tensor]):
            detached = tensor.detach()
            if hasattr(tensor, "ds_id"):
                detached = detached.clone()  # ZeRO-3 frees the gathered tensor after the block.
            full = getattr(detached, "full_tensor", None)  # FSDP2 shards
            yield name, full() if full is not None else detached


def base_model(model: torch.nn.Module) -> PreTrainedModel:
    """Return the transformers model inside PEFT, DDP and ``torch.compile`` wrappers.

    Its class and ``config`` describe the checkpoint; its layers may be adapted.
    """
    inner = _unwrap(model)
    # A base model keeps `peft_config` once adapters were injected, so test the method instead.
    return inner.get_base_model() if hasattr(inner, "get_base_model") else inner


def check_whole(model: torch.nn.Module) -> None:
    """Check that this process holds every weight of a model.

    A forward pass of a sharded model is collective. Processes decode different numbers of tokens,
    so those that finish first would leave the others waiting forever.

    Raises:
        NotSupported: FSDP or DeepSpeed's ZeRO-3 shard its weights.
    """
    for name, parameter in model.named_parameters():
        # DTensors of FSDP2, flat parameters of FSDP1, partitions of ZeRO-3.
        if any(hasattr(parameter, mark) for mark in ("full_tensor", "_is_flat_param", "ds_id")):
            raise NotSupported(
                f"expected whole weights in every process to generate with the model itself, got "
                f"{name!r} sharded by FSDP or DeepSpeed: train with DDP, or pass an engine with a "
                "copy of the weights, such as VLLMColocateEngine."
            )


def with_tied_head(
    named_params: Iterable[tuple[str, torch.Tensor]],
) -> Iterator[tuple[str, torch.Tensor]]:
    """Append ``lm_head.weight`` to the stream of a model whose head is tied to its embedding.

    ``named_parameters`` lists a tied tensor once, as the embedding. An engine that repacked the
    head into a tensor of its own (vLLM on CPU) would keep the old head without any error.
    """
    embedding: torch.Tensor | None = None
    head_seen = False
    for name, tensor in named_params:
        if name.endswith(EMBEDDING):
            embedding = tensor
        head_seen = head_seen or name.endswith(HEAD)
        yield name, tensor
    if embedding is not None and not head_seen:
        yield HEAD, embedding


def _unwrap(model: torch.nn.Module) -> torch.nn.Module:
    """The module inside DDP and ``torch.compile`` wrappers."""
    while True:
        for attribute in _WRAPPERS:
            inner = getattr(model, "_modules", {}).get(attribute)
            # A wrapper has only this child; a model may have a child of this name among others.
            if inner is not None and len(model._modules) == 1:
                model = inner
                break
        else:
            return model


def _check_tied_embeddings(base: PreTrainedModel) -> None:
    """Refuse adapters that make input and output embeddings differ although they are tied."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper

    if not getattr(base.config, "tie_word_embeddings", False):
        return
    for name, layer in (
        ("input embedding", base.get_input_embeddings()),
        ("lm_head", base.get_output_embeddings()),
    ):
        if isinstance(layer, (BaseTunerLayer, AuxiliaryTrainingWrapper)):
            raise ConfigurationError(
                f"expected no adapter on the {name} of a model with tie_word_embeddings=True, "
                f"got {type(layer).__name__}: one tensor cannot hold two different merged "
                "weights. Remove it from target_modules / modules_to_save, or untie the model "
                "(config.tie_word_embeddings=False) before adding the adapter."
            )


def _walk(
    module: torch.nn.Module, prefix: str, listed: set[int], merged: bool
) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters below ``module`` in registration order, adapters merged away or left out.

    ``listed`` holds the ids of parameters already listed; all of them stay alive in the model.
    """
    if hasattr(module, "unshard"):  # FSDP2: a unit, whose weights are gathered and freed together
        module.unshard()
        try:
            for name, tensor in _walk_unit(module, prefix, listed, merged):
                # Cloned, because the caller may keep it and the unit's memory is freed below.
                yield name, tensor.detach().clone()
        finally:
            module.reshard()
    else:
        yield from _walk_unit(module, prefix, listed, merged)


def _walk_unit(
    module: torch.nn.Module, prefix: str, listed: set[int], merged: bool
) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters below a module; its own are whole, or gathered one by one by the reader."""
    from peft.tuners.tuners_utils import BaseTunerLayer
    from peft.utils.other import AuxiliaryTrainingWrapper, ModulesToSaveWrapper

    if isinstance(module, BaseTunerLayer):
        with _gathered(module.parameters()):
            yield from _merged(module, prefix, merged)
        return
    if isinstance(module, ModulesToSaveWrapper):
        module = _saved_module(module)
    elif isinstance(module, AuxiliaryTrainingWrapper):
        raise NotSupported(
            f"expected LoRA-like layers or modules_to_save at {prefix.rstrip('.')!r}, got "
            f"{type(module).__name__}, which cannot be merged for a weight sync: leave "
            "trainable_token_indices / target_parameters out of the PEFT configuration."
        )
    for name, parameter in module.named_parameters(recurse=False):
        if id(parameter) not in listed:
            listed.add(id(parameter))
            yield prefix + name, parameter
    for name, child in module.named_children():
        yield from _walk(child, f"{prefix}{name}.", listed, merged)


@contextmanager
def _gathered(parameters: Iterable[torch.Tensor]) -> Iterator[None]:
    """Gather parameters that ZeRO-3 partitions, for the block."""
    parts = [parameter for parameter in parameters if hasattr(parameter, "ds_id")]
    with ExitStack() as stack:
        if parts:
            # DeepSpeed is importable, as it made these partitions.
            zero = importlib.import_module("deepspeed").zero
            stack.enter_context(zero.GatheredParameters(parts))
        yield


def _saved_module(wrapper: ModulesToSaveWrapper) -> torch.nn.Module:
    """The fully trained copy in use, or the original while adapters are disabled."""
    active = list(wrapper.active_adapters)
    if wrapper.disable_adapters or not active:
        return wrapper.original_module
    return wrapper.modules_to_save[active[0]]


def _merged(layer: BaseTunerLayer, prefix: str, merged: bool) -> Iterator[tuple[str, torch.Tensor]]:
    """Parameters of one adapted layer, merged or not; the layer is left exactly as it was."""
    if layer.merged or layer.disable_adapters or not merged:
        parameters = layer.get_base_layer().named_parameters(recurse=False)
        yield from ((prefix + name, parameter) for name, parameter in parameters)
    else:
        yield from ((prefix + name, tensor) for name, tensor in merged_parameters(layer).items())


def merged_parameters(layer: BaseTunerLayer) -> dict[str, torch.Tensor]:
    """Return new tensors by name: the parameters of one adapted layer with its adapters merged.

    The parameters point at copies while PEFT merges, so the training tensors are only read. The sum
    is computed in float32 and rounded once (see :func:`round_stochastically`).

    Args:
        layer: A layer with adapters that are neither merged nor disabled.

    Raises:
        ValueError: Merged weights are not finite.
    """
    parameters = dict(layer.get_base_layer().named_parameters(recurse=False))
    originals = {name: parameter.data for name, parameter in parameters.items()}
    try:
        for name, parameter in parameters.items():
            wide = torch.promote_types(parameter.dtype, torch.float32)
            parameter.data = originals[name].to(wide, copy=True)
        layer.merge()
        # Copies are dropped, not unmerged, which would compute the adapters' product again.
        layer.merged_adapters.clear()
        # One sum instead of PEFT's own check, which reads a matrix five times.
        if not all(parameter.data.sum().isfinite() for parameter in parameters.values()):
            raise ValueError("expected finite weights, got NaN or infinity in a merged adapter")
        return {
            name: round_stochastically(parameter.data, originals[name].dtype)
            for name, parameter in parameters.items()
        }
    finally:
        for name, parameter in parameters.items():
            parameter.data = originals[name]


def round_stochastically(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Cast float32 values to another dtype; to bfloat16 with stochastic rounding.

    Weights of a bfloat16 base lie on its grid, and an adapter often adds less than half a grid
    step: rounding to nearest would erase nearly all of it. Rounding up with probability equal to
    the remainder preserves it in a sum of many weights. Numbers on the grid are unchanged. The
    noise is the same in every call.

    Source: Gupta et al. (2015), https://arxiv.org/abs/1502.02551.
    """
    if dtype != torch.bfloat16 or values.dtype != torch.float32:
        return values.to(dtype)
    noise = _rounding_noise(values.device)
    if values.numel() > NOISES:
        noise = noise.repeat(-(-values.numel() // NOISES))
    # bfloat16 is the upper half of float32, whose bits are monotonic in its magnitude.
    bits = values.contiguous().view(torch.int32) + noise[: values.numel()].view(values.shape)
    return (bits & ~0xFFFF).view(torch.float32).to(dtype)


@lru_cache(maxsize=4)
def _rounding_noise(device: torch.device) -> torch.Tensor:
    """Return random lower halves of float32 numbers, (NOISES,)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randint(1 << 16, (NOISES,), dtype=torch.int32, generator=generator)
    return noise.to(device)
