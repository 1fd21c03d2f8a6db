"""The policy's adapter at vLLM servers, which read it from a folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.errors import ConfigurationError
from trainers import processes
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.server_client import EngineServer, ask_all
from trainers.rollouts.engines.vllm_adapter import AdapterFolder, Lora

if TYPE_CHECKING:
    import torch
    from peft import PeftModel

__all__ = ["ServedAdapter"]

PROBE = "policy-probe"
"""Name of the adapter that servers load as a test."""

logger = logging.getLogger(__name__)


class ServedAdapter:
    """Sends the policy's adapter to servers; every process of a run takes part.

    Attributes:
        loaded: Name of the served adapter; empty: none.
    """

    def __init__(
        self, servers: Sequence[EngineServer], folder: Path, whose: str = "policy"
    ) -> None:
        """Choose the folder, which is created with the first adapter.

        Args:
            servers: The servers.
            folder: The folder.
            whose: Prefix of the adapter's name on the servers.
        """
        self._servers, self._adapters, self._whose = servers, AdapterFolder(folder), whose
        self.loaded = ""

    def reaches(self, model: torch.nn.Module, lora: Lora, *, by_nccl: bool) -> bool:
        """Test whether the servers see the folder, by letting each load an adapter from it.

        Args:
            model: The policy.
            lora: How adapters are served.
            by_nccl: Whether weights can be sent without a folder.

        Returns:
            Whether they do. If not, the adapter must be merged and all weights sent.

        Raises:
            ConfigurationError: They do not, and there is no alternative.
        """
        path = self._adapters.write(model, 0, main=processes.is_main()).resolve()
        unseen = processes.on_main(lambda: self._unseen(path))
        if not unseen:
            return True
        problem = (
            f"{unseen}: let --vllm.folder be a folder that trainer and servers see under the same "
            "path, or, as the run's folder is what stands in for it, --out"
        )
        if lora == "adapter" or not by_nccl:
            merged = ", or choose --vllm.lora merge" * by_nccl
            raise ConfigurationError(
                f"expected vLLM servers that see the folder in which adapters reach them, but "
                f"{problem}{merged}"
            )
        logger.warning(
            "adapters are merged, and all weights sent by NCCL at every step, because %s", problem
        )
        return False

    def replace(self, model: PeftModel, version: int) -> None:
        """Let every server replace the last adapter by the current one."""
        name = f"{self._whose}-{version}"
        path = self._adapters.write(model, version, main=processes.is_main()).resolve()
        if processes.is_main():
            ask_all(self._servers, lambda server: self._swap(server, name, path))
        self.loaded = name

    def close(self) -> None:
        """Let the servers unload the adapter, and delete the folder's files."""
        if self.loaded:
            for server in self._servers:
                _unload(server, self.loaded)
        self._adapters.clear()

    def _swap(self, server: EngineServer, name: str, path: Path) -> None:
        """Let a server serve one adapter instead of another."""
        # A killed run may have left an adapter behind, perhaps with the same name.
        for old in filter(None, (self.loaded, name)):
            _unload(server, old)
        _load(server, name, path)

    def _unseen(self, path: Path) -> str:
        """Return the message of a server that cannot load an adapter; empty if all can."""
        try:
            ask_all(self._servers, lambda server: _probe(server, path))
        except EngineFailure as error:
            return str(error)
        finally:
            self._adapters.clear()
        return ""


def _probe(server: EngineServer, path: Path) -> None:
    """Let a server load and unload an adapter."""
    _unload(server, PROBE)
    _load(server, PROBE, path, patient=False)
    _unload(server, PROBE)


def _load(server: EngineServer, name: str, path: Path, *, patient: bool = True) -> None:
    """Let a server load an adapter."""
    body = {"lora_name": name, "lora_path": str(path)}
    server.post("/v1/load_lora_adapter", body, patient=patient)


def _unload(server: EngineServer, name: str) -> None:
    """Let a server unload an adapter, if it has it."""
    server.tell("/v1/unload_lora_adapter", {"lora_name": name})
