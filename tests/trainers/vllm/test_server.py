"""A real vLLM server keeps the contract of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.trainers.server_contract import Server, ServerContract


class TestVLLMServer(ServerContract):
    section, name = "vllm", "vLLM"

    @staticmethod
    def connect(policy: Any, server: Server, folder: Path) -> Any:
        from trainers.rollouts.engines.vllm_command import ServerNeeds
        from trainers.rollouts.engines.vllm_server import VLLMServerEngine

        needs = ServerNeeds("some/model", 128, 16, "float32", on_cpu=True, nccl=False)
        return VLLMServerEngine(policy, [server.url], needs, folder=folder)
