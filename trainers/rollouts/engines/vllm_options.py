"""Options of a vLLM engine in this process."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers.rollouts.engines.vllm_adapter import Lora, adapter_rank, vllm_rank

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from trainers.rollouts.engines.base import EngineSettings

__all__ = ["VLLMOptions"]

_GIB = 1024**3
_CPU_CACHE_GIB = 1.0
_FIXED = {
    "skip_tokenizer_init": True,  # token ids in, token ids out
    "generation_config": "vllm",  # no sampling defaults of the checkpoint
    "logprobs_mode": "processed_logprobs",  # log-probabilities after temperature and nucleus
    "enable_prefix_caching": True,  # the turns of an episode share a prefix
    "disable_log_stats": True,
}


@dataclass(frozen=True, kw_only=True)
class VLLMOptions:
    """Options of an engine."""

    dtype: str = "float32"
    """Precision of weights and cache, ``"float32"`` or ``"bfloat16"``. vLLM's own ``"auto"`` would
    serve float32 policies in bfloat16."""
    max_model_len: int = 2048
    """Maximum tokens of prompt plus completion; the model's own positions bound it, too."""
    max_num_seqs: int = 64
    """Maximum sequences decoded together."""
    seed: int = 0
    """Seed of the engine's own generator."""
    kv_cache_gib: float | None = None
    """Size of the key-value cache in GiB; None: 1 GiB on a CPU, on a GPU what
    ``gpu_memory_utilization`` leaves."""
    gpu_memory_utilization: float = 0.3
    """Share of the GPU's memory that vLLM may take; the trainer needs the rest."""
    tensor_parallel: int = 1
    """Devices that share the model, in separate processes; weights are then sent through a
    temporary folder."""
    sleep: bool = False
    """Whether ``rest`` frees the engine's memory."""
    lora: Lora = "merge"
    """How the policy's adapters are served."""
    pool: bool = False
    """Whether the adapter of a stale policy is served beside the present one, on the same base."""
    enforce_eager: bool | None = None
    """Leave out CUDA graphs and compilation; None: only on a CPU."""
    seeded: bool = True
    """Whether every completion is drawn from the seed of its request."""
    vllm: dict[str, Any] = field(default_factory=dict)
    """Further arguments of ``vllm.LLM``, which override all others."""

    @classmethod
    def of_run(cls, model: PreTrainedModel, settings: EngineSettings) -> VLLMOptions:
        """Derive the options from the settings of a run; the default precision is training's."""
        options = settings.options
        dtype = (
            "bfloat16"
            if settings.bf16
            else str(getattr(model, "dtype", "float32")).removeprefix("torch.")
        )
        run_options = cls(
            dtype=dtype,
            max_model_len=settings.context,
            max_num_seqs=settings.slots,
            seed=settings.seed,
            lora="adapter" if settings.pool else "merge",
            pool=settings.pool,
        )
        if not options:  # used as a library, without settings
            return run_options
        return replace(
            run_options,
            dtype=options["dtype"] or run_options.dtype,
            max_model_len=options["max_length"] or run_options.max_model_len,
            max_num_seqs=options["max_sequences"] or run_options.max_num_seqs,
            gpu_memory_utilization=options["memory"] or run_options.gpu_memory_utilization,
            tensor_parallel=options["tensor_parallel"],
            sleep=options["sleep"],
            lora="adapter" if settings.pool else options["lora"],
            enforce_eager=options["eager"],
            seeded=options["seeded"],
        )

    def arguments(self, model: torch.nn.Module, *, adapter: bool, on_cpu: bool) -> dict[str, Any]:
        """Return the arguments of ``vllm.LLM``, besides the model's folder and its length."""
        shared = self.tensor_parallel > 1
        out = dict(_FIXED)
        out |= {
            "dtype": self.dtype,
            "max_num_seqs": self.max_num_seqs,
            "seed": self.seed,
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "tensor_parallel_size": self.tensor_parallel,
            "enable_sleep_mode": self.sleep,
            "enforce_eager": on_cpu if self.enforce_eager is None else self.enforce_eager,
            # Weights come from sync; only a real loader can also read them from a folder.
            "load_format": "auto" if shared else "dummy",
            "distributed_executor_backend": _executor(self.tensor_parallel),
        }
        cache = _CPU_CACHE_GIB if self.kv_cache_gib is None and on_cpu else self.kv_cache_gib
        if cache is not None:
            out["kv_cache_memory_bytes"] = int(cache * _GIB)
        if on_cpu:
            # A prompt that is fed in chunks rewinds its request's generator, which generators of a
            # CPU cannot: a prompt that does not fit beside others waits for the next forward.
            out["enable_chunked_prefill"] = False
        if adapter:
            out |= {"enable_lora": True, "max_lora_rank": vllm_rank(adapter_rank(model))}
            out |= dict.fromkeys(("max_loras", "max_cpu_loras"), 1 + self.pool)
        return out | self.vllm


def _executor(tensor_parallel: int) -> str:
    """``"uni"`` alone in its process, the launcher's ranks when there are several.

    Raises:
        ConfigurationError: There are several, and a model is to be shared, too.
    """
    import torch

    several = torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1
    if several and tensor_parallel > 1:
        raise ConfigurationError(
            f"expected --vllm.tensor-parallel 1 in a run of several processes, each of which "
            f"generates for its own episodes, got {tensor_parallel}; for a model that does not fit "
            "one GPU start servers and use --engine vllm-server"
        )
    if tensor_parallel > 1:
        return "mp"
    return "external_launcher" if several else "uni"
