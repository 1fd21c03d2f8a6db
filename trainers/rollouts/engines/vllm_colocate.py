"""vLLM inside the training process: continuous batching without a server or a second process.

The engine is built from the policy's configuration; its weights come only from ``sync``, so no
checkpoint is written and nothing stale can be sampled from. Sampling is seeded per request, which
makes results independent of vLLM's batching and keeps the trainer's generators untouched.

Weights go through vLLM's layerwise ``reload_weights`` on every platform: it restores the checkpoint
layout, loads, processes again (CPU repacking, quantisation) and copies into the tensors that CUDA
graphs captured. Plain ``load_weights`` fails on CPU, where repacked weights have no loader left.
"""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, NotSupported
from trainers.rollouts.engines.base import Completion, EngineSettings, Request, Sampling
from trainers.rollouts.engines.policy_weights import base_model, with_tied_head
from trainers.rollouts.engines.vllm_process import (
    generating,
    import_vllm,
    preserved_generators,
    starting,
    stopping,
)

if TYPE_CHECKING:
    import torch

__all__ = ["VLLMColocateEngine"]

_GIB = 1024**3
_CPU_CACHE_GIB = 1.0
_FIXED = {
    "skip_tokenizer_init": True,  # token ids in, token ids out
    "load_format": "dummy",  # weights come from sync
    "generation_config": "vllm",  # no sampling defaults of the checkpoint
    "logprobs_mode": "processed_logprobs",  # after temperature and nucleus
    "disable_log_stats": True,
}


class VLLMColocateEngine:
    """A ``GenerationEngine`` on vLLM, in process.

    One engine may be open per process at a time. Under a multi-process launcher every rank holds
    a whole copy of the model and generates for its own episodes (data parallel).

    Attributes:
        name: ``"vllm"``.
        exact: True when policy and engine are in float32: log-probabilities then equal the
            trainer's to about 1e-6.
        version: Version given to the last ``sync``; -1 before the first one.
    """

    name = "vllm"

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        dtype: str = "float32",
        max_model_len: int = 2048,
        max_num_seqs: int = 64,
        seed: int = 0,
        kv_cache_gib: float | None = None,
        gpu_memory_utilization: float = 0.3,
        enforce_eager: bool | None = None,
        **vllm_options: Any,
    ) -> None:
        """Start the engine with empty weights; call ``sync`` before ``submit``.

        Args:
            model: The policy (transformers, PEFT or wrapped). Only its class and configuration
                are used here; it is neither copied nor kept.
            dtype: Precision of weights and cache, ``"float32"`` or ``"bfloat16"``. Give it
                explicitly: vLLM's own ``"auto"`` serves float32 policies in bfloat16.
            max_model_len: Most tokens of prompt plus completion; the model's own positions
                bound it too.
            max_num_seqs: Most sequences decoded together.
            seed: Seeds vLLM's start; requests have seeds of their own.
            kv_cache_gib: Size of the key-value cache in GiB. None: 1 GiB on CPU, on a GPU what
                ``gpu_memory_utilization`` leaves.
            gpu_memory_utilization: Share of the GPU's memory vLLM may take; the trainer needs
                the rest.
            enforce_eager: Skip CUDA graphs and compilation. None: only on CPU.
            **vllm_options: Passed to ``vllm.LLM`` as they are. On CPU ``enable_chunked_prefill``
                is off unless given.

        Raises:
            DependencyNotInstalled: vLLM cannot be imported; names the install commands.
        """
        import torch

        vllm = import_vllm()
        from vllm.platforms import current_platform

        on_cpu = current_platform.is_cpu()
        eager = on_cpu if enforce_eager is None else enforce_eager
        if kv_cache_gib is None and on_cpu:
            kv_cache_gib = _CPU_CACHE_GIB
        if kv_cache_gib is not None:
            vllm_options.setdefault("kv_cache_memory_bytes", int(kv_cache_gib * _GIB))
        if on_cpu:
            # A prompt that is fed in chunks rewinds its request's generator, which generators of a
            # CPU cannot: a prompt that does not fit beside others waits for the next forward.
            vllm_options.setdefault("enable_chunked_prefill", False)
        base = base_model(model)
        positions = getattr(base.config, "max_position_embeddings", max_model_len)
        self._max_model_len = min(max_model_len, positions)
        self._without_compiling = on_cpu and eager
        self._broken = False
        self._owns_process_group = not torch.distributed.is_initialized()
        self._names = itertools.count()
        self._keys: dict[str, int] = {}
        self.exact = dtype == "float32" and all(
            parameter.dtype == torch.float32 for parameter in model.parameters()
        )
        self.version = -1
        with tempfile.TemporaryDirectory(prefix="agentgym-vllm-") as folder, starting():
            self._tied = _write_config(base, folder)
            self._llm: Any = vllm.LLM(
                model=folder,
                dtype=dtype,
                max_model_len=self._max_model_len,
                max_num_seqs=max_num_seqs,
                seed=seed,
                gpu_memory_utilization=gpu_memory_utilization,
                enforce_eager=eager,
                distributed_executor_backend=_executor_backend(),
                **{**_FIXED, **vllm_options},
            )

    @classmethod
    def for_run(cls, model: torch.nn.Module, settings: EngineSettings) -> VLLMColocateEngine:
        """Make the engine of a run, in the precision of the policy's weights."""
        return cls(
            model,
            dtype=str(base_model(model).dtype).removeprefix("torch."),
            max_model_len=settings.context,
            max_num_seqs=settings.slots,
            seed=settings.seed,
        )

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._keys)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Hand requests to vLLM's scheduler; see ``GenerationEngine.submit``.

        Args:
            requests: Their prompts have 1 to ``max_model_len`` - 1 tokens. A completion that
                reaches ``max_model_len`` has ``stopped`` False.
            sampling: How to draw.

        Raises:
            ConfigurationError: A prompt is empty or leaves no room for a token; none is begun.
            NotSupported: No weights were synchronised yet, or the engine is closed.
        """
        self._require_ready()
        parameters = [self._parameters(request, sampling) for request in requests]
        for request, settings in zip(requests, parameters, strict=True):
            name = str(next(self._names))
            prompt = {"prompt_token_ids": list(request.prompt)}
            self._llm.llm_engine.add_request(name, prompt, settings)
            self._keys[name] = request.key

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Let vLLM take one step; see ``GenerationEngine.advance``."""
        if not self._keys:
            return []
        with generating(without_compiling=self._without_compiling):
            outputs = self._llm.llm_engine.step()
        ended = [output for output in outputs if output.finished]
        return [(self._keys.pop(out.request_id), _completion(out.outputs[0])) for out in ended]

    def abort(self) -> None:
        """Forget everything in flight."""
        if self._keys:
            self._llm.llm_engine.abort_request(list(self._keys))
            self._keys.clear()

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Copy the policy's weights into the engine and drop its prefix cache.

        Args:
            named_params: Pairs as from ``policy_weights(model)``: merged, named like the
                base checkpoint. A tied ``lm_head.weight`` is added when it is missing.
            version: Version to report from now on.

        Raises:
            ConfigurationError: A name belongs to an adapter or wrapper, or there is none.
            NotSupported: The engine is closed or generating, or an earlier sync failed half way.
        """
        self._require_open()
        pairs = _checked(named_params)
        first = next(pairs, None)  # wrong names and an empty stream show before vLLM is touched
        if first is None:
            raise ConfigurationError("expected the policy's weights, got no (name, tensor) pair.")
        pairs = itertools.chain([first], pairs)
        if self._tied:
            pairs = with_tied_head(pairs)
        self._broken = True  # until the end: vLLM cannot recover from half a reload
        with preserved_generators():
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": pairs})
        if not self._llm.reset_prefix_cache():
            raise NotSupported(
                "expected an idle engine at a weight sync, but the prefix cache is in use: call "
                "sync only while nothing is in flight."
            )
        self._broken = False
        self.version = version

    def close(self) -> None:
        """Free the engine's memory; calling it twice is allowed."""
        llm, self._llm = getattr(self, "_llm", None), None
        if llm is None:
            return
        with stopping(keep_process_group=not self._owns_process_group):
            llm.llm_engine.engine_core.shutdown()

    def __enter__(self) -> VLLMColocateEngine:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()

    def _parameters(self, request: Request, sampling: Sampling) -> Any:
        """One request's settings in vLLM's terms."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=0.0 if sampling.greedy else sampling.temperature,
            top_p=1.0 if sampling.greedy else sampling.top_p,
            max_tokens=self._room(request.prompt, request.max_tokens),
            seed=None if sampling.greedy else request.seed,
            stop_token_ids=list(sampling.stop_ids),
            ignore_eos=True,  # stop ids are the caller's alone, never the model configuration's
            logprobs=0,  # of the sampled token only
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _room(self, prompt: Sequence[int], limit: int) -> int:
        """The limit, lowered to what the context still holds."""
        room = self._max_model_len - len(prompt)
        if not prompt or room < 1:
            raise ConfigurationError(
                f"expected a prompt of 1 to {self._max_model_len - 1} tokens, got {len(prompt)}: "
                "raise max_model_len or lower the episode budget of the rollouts."
            )
        return min(limit, room)

    def _require_open(self) -> None:
        if self._llm is None:
            raise NotSupported("expected an open vLLM engine, but close() was called on it.")
        if self._broken:
            raise NotSupported(
                "expected an engine with whole weights, but its last sync failed half way: close "
                "it and start a new one."
            )

    def _require_ready(self) -> None:
        self._require_open()
        if self.version < 0:
            raise NotSupported(
                "expected synchronised weights, but none were loaded: call "
                "sync(policy_weights(model), version) before submit."
            )


def _executor_backend() -> str:
    """``"uni"`` alone in its process, the launcher's ranks when there are several."""
    import torch

    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    return "external_launcher" if several else "uni"


def _write_config(model: Any, folder: str) -> bool:
    """Write the ``config.json`` of a checkpoint folder; True when the embeddings are tied."""
    config = model.config.to_dict()
    config["architectures"] = [type(model).__name__]  # vLLM chooses its model class by it
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    return bool(config.get("tie_word_embeddings", False))


def _checked(
    named_params: Iterable[tuple[str, torch.Tensor]],
) -> Iterator[tuple[str, torch.Tensor]]:
    """Pass the pairs on, refusing the names of adapters."""
    for name, tensor in named_params:
        if name.startswith("base_model.") or ".base_layer." in name or ".lora_" in name:
            raise ConfigurationError(
                f"expected merged weights named like the base checkpoint, got {name!r}: pass those "
                "of trainers.rollouts.engines.policy_weights, which merges adapters."
            )
        yield name, tensor.detach()


def _completion(output: Any) -> Completion:
    """One vLLM output as ids, log-probabilities and whether a stop id ended it."""
    ids = list(output.token_ids)
    logprobs = [entry[token].logprob for token, entry in zip(ids, output.logprobs, strict=True)]
    return Completion(ids=ids, logprobs=logprobs, stopped=output.finish_reason == "stop")
