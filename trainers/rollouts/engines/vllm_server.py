"""Generation by vLLM servers, through OpenAI's API with vLLM's extensions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainers.rollouts.engines.base import TOLD, Completion, Request, Sampling, least_entropy
from trainers.rollouts.engines.failure import GO_ON, EngineFailure
from trainers.rollouts.engines.server_client import VLLM, EngineServer
from trainers.rollouts.engines.server_engine import ServerEngine, ServerFacts, WeightTransfer
from trainers.rollouts.engines.vllm_weights import FolderTransfer, NcclTransfer, reload_from

if TYPE_CHECKING:
    import torch

__all__ = ["VLLMServerEngine"]

ABORTING, PAUSE = 20, 0.1
"""Maximum polls of a server that is not idle, and seconds between two of them."""


class VLLMServerEngine(ServerEngine):
    """A ``GenerationEngine`` on vLLM servers; see :class:`ServerEngine`."""

    name = "vllm-server"
    kind = VLLM
    section = "vllm"

    def _facts(self, server: EngineServer) -> ServerFacts:
        server.get("/v1/models")
        facts: dict[str, Any] = server.get("/server_info?config_format=json")["vllm_config"]
        model = facts["model_config"]
        if model["max_model_len"] < self._needs.context:
            raise self._unfit(
                server,
                f"--max-model-len of at least {self._needs.context}, which the token budgets of "
                f"the run may fill, got {model['max_model_len']}",
            )
        if model["logprobs_mode"] != "processed_logprobs":
            raise self._unfit(
                server, f"--logprobs-mode processed_logprobs, got {model['logprobs_mode']}"
            )
        return ServerFacts(
            dtype=str(model["dtype"]).removeprefix("torch."),
            name=str(model["served_model_name"]),
            model=model,
            takes_nccl=bool(facts.get("weight_transfer_config")),
            lora_rank=(facts.get("lora_config") or {}).get("max_lora_rank", 0),
        )

    def _payload(self, request: Request, server_index: int, sampling: Sampling) -> dict[str, Any]:
        return {
            "model": self._model_of(request, server_index),
            "prompt": list(request.prompt),
            "max_tokens": self._room(request),
            "temperature": 0.0 if sampling.greedy else sampling.temperature,
            "top_p": 1.0 if sampling.greedy else sampling.top_p,
            # Otherwise a model's generation config would change these.
            **{"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0},
            "seed": self._seed(request, sampling),
            "stop_token_ids": list(sampling.stop_ids),
            # The chat template's stop ids end a turn, not the end of text.
            "ignore_eos": True,
            "logprobs": TOLD if sampling.entropies else 0,  # plus the sampled token's, always
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }

    def _generate(self, server: EngineServer, payload: dict[str, Any]) -> Completion:
        answer = self._ask(server, "/v1/completions", payload)
        return _completion(answer, server, with_entropies=payload["logprobs"] > 0)

    def _make_transfer(self, dtype: torch.dtype) -> WeightTransfer:
        if self._needs.nccl and self._takes:
            device = next(self._model.parameters()).device
            return NcclTransfer(self._servers, dtype, device)
        return FolderTransfer(self._folder, dtype, _reload)

    def _flush(self, server: EngineServer) -> None:
        for _ in range(ABORTING):
            if server.post("/reset_prefix_cache", {})["success"]:
                return
            time.sleep(PAUSE)  # It may still be cancelling recently aborted requests.
        raise EngineFailure(
            f"expected the vLLM server at {server.url} to be idle at a weight sync, but its prefix "
            "cache is in use: let no other client use it during a run"
        )


def _reload(server: EngineServer, folder: Path) -> None:
    """Let a server read weights from a folder."""
    payload = {"method": "reload_weights", "kwargs": {"weights_path": str(folder)}}
    reload_from(server, folder, "/collective_rpc", payload)


def _completion(answer: Any, server: EngineServer, with_entropies: bool) -> Completion:
    """Convert an answer to a completion."""
    (choice,) = answer["choices"]
    ids, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
    if not ids or len(ids) != len(logprobs) or choice["finish_reason"] == "abort":
        raise EngineFailure(
            f"expected a whole completion of the vLLM server at {server.url}, but it was broken "
            f"off ({choice['finish_reason']}); {GO_ON}"
        )
    entropies = []
    if with_entropies:
        # By token, because the sampled one appears twice if it is among the most likely.
        entropies = [
            least_entropy(candidates.values()) for candidates in choice["logprobs"]["top_logprobs"]
        ]
    return Completion(list(ids), list(logprobs), choice["finish_reason"] == "stop", entropies)
