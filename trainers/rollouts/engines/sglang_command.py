"""The command that starts an SGLang server for a run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers.rollouts.engines.vllm_command import ServerNeeds

if TYPE_CHECKING:
    from trainers.rollouts.engines.base import EngineSettings

__all__ = ["SGLangNeeds"]


@dataclass(frozen=True)
class SGLangNeeds(ServerNeeds):
    """A run's requirements of its SGLang server.

    The flags are those of SGLang 0.5.23 (``srt/server_args.py``). Its CPU back ends draw no request
    with its own seed: ``--enable-deterministic-inference`` wants an attention of GPUs
    (``srt/arg_groups/choices.py``).
    """

    seeded: bool = True
    """Whether every completion is drawn from the seed of its request."""
    shared: bool = False
    """Whether weights go through a folder that trainer and servers see, instead of in requests."""

    @classmethod
    def of_run(cls, settings: EngineSettings, *, dtype: str, rank: int, cuda: bool) -> SGLangNeeds:
        """Derive the requirements from the settings of a run; see ``ServerNeeds``.

        Raises:
            ConfigurationError: Completions cannot be drawn with their own seeds on a CPU.
        """
        seeded = bool(settings.options["seeded"])
        if seeded and not cuda:
            raise ConfigurationError(
                "expected --sglang.no-seeded without a GPU, because SGLang draws a request with "
                "its own seed only on GPUs; or choose --engine vllm-server"
            )
        base = vars(ServerNeeds.of_run(settings, dtype=dtype, rank=0, cuda=cuda))
        shared = settings.options["folder"] is not None
        return cls(**{**base, "nccl": False, "seeded": seeded, "shared": shared})

    def command(self) -> str:
        """Return the command, for a shell on the server's machine."""
        flags: dict[str, str | int | None] = {
            "--model-path": self.model,
            "--skip-tokenizer-init": None,
            "--dtype": self.dtype,
            "--context-length": self.context,
            "--max-running-requests": self.sequences,
        }
        if self.tensor_parallel > 1:
            flags["--tp-size"] = self.tensor_parallel
        if self.seeded:
            flags["--enable-deterministic-inference"] = None
        words = ["python", "-m", "sglang.launch_server"]
        if self.on_cpu:
            words.insert(0, "SGLANG_USE_CPU_ENGINE=1")
            flags |= {
                "--device": "cpu", "--attention-backend": "torch_native",
                "--sampling-backend": "pytorch", "--sleep-on-idle": None,
                # Otherwise the cache takes most of the machine's memory.
                "--max-total-tokens": self.context * self.sequences,
            }  # fmt: skip
        for flag, value in flags.items():
            words += [flag] if value is None else [flag, shlex.quote(str(value))]
        return " ".join(words)
