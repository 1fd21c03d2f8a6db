"""Generation by SGLang servers, through their native endpoint ``/generate``.

Requests and answers are those of SGLang 0.5.23 (``srt/entrypoints/http_server.py``,
``srt/managers/io_struct.py``). What follows from its source, and was seen on its server:

- ``ignore_eos`` ignores a request's own stop ids, too; without it the model's end-of-text token
  stops a completion that should go on (``Req._check_token_based_finish``). So a completion that
  ended by another token than the request's own is continued.
- Log-probabilities are those at the temperature, before the nucleus (``srt/layers/sampler.py``).
- A request's seed counts only with ``--enable-deterministic-inference``.
- ``/v1/completions`` makes the same request of the engine, and returns the same ids and
  log-probabilities, but it needs the tokenizer, and names likely tokens by their text, which
  several tokens may share.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError
from trainers.rollouts.engines.base import TOLD, Completion, Request, Sampling, least_entropy
from trainers.rollouts.engines.failure import GO_ON, EngineFailure
from trainers.rollouts.engines.server_client import SGLANG, EngineServer, ask_all
from trainers.rollouts.engines.server_engine import ServerEngine, ServerFacts, WeightTransfer
from trainers.rollouts.engines.sglang_command import SGLangNeeds
from trainers.rollouts.engines.vllm_weights import FolderTransfer, parts_of, reload_from

if TYPE_CHECKING:
    import torch

__all__ = ["RequestTransfer", "SGLangServerEngine"]

PART_BYTES = 1 << 26
"""Maximum bytes of weights in a request."""
IDLE_SECONDS = 20
"""Seconds for which a server may finish what it aborted before its cache is reset."""


class SGLangServerEngine(ServerEngine):
    """A ``GenerationEngine`` on SGLang servers; see :class:`ServerEngine`.

    Adapters are merged. Weights go through ``folder`` if the settings name one, else in requests.
    """

    name = "sglang-server"
    kind = SGLANG
    section = "sglang"
    needs_of_run = SGLangNeeds
    _needs: SGLangNeeds

    def _facts(self, server: EngineServer) -> ServerFacts:
        facts: dict[str, Any] = server.get("/server_info")
        length = server.get("/v1/models")["data"][0]["max_model_len"]
        if length < self._needs.context:
            raise self._unfit(
                server,
                f"--context-length of at least {self._needs.context}, which the token budgets of "
                f"the run may fill, got {length}",
            )
        if self._seeded and not facts["enable_deterministic_inference"]:
            raise self._unfit(
                server,
                "--enable-deterministic-inference, without which a request is not drawn with its "
                "seed, or the run with --sglang.no-seeded",
            )
        return ServerFacts(dtype=str(facts["dtype"]))

    def _payload(self, request: Request, server_index: int, sampling: Sampling) -> dict[str, Any]:
        if sampling.top_p < 1 and not sampling.greedy:
            raise ConfigurationError(
                f"expected --top-p 1 with --engine {self.name}, got {sampling.top_p}: SGLang "
                "reports log-probabilities before the nucleus; choose --engine vllm-server"
            )
        self._model_of(request, server_index)
        stop_ids = list(sampling.stop_ids)
        return {
            "input_ids": list(request.prompt),
            "sampling_params": {
                "max_new_tokens": self._room(request),
                "temperature": 0.0 if sampling.greedy else sampling.temperature,
                # Otherwise a model's generation config would change these.
                **{"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
                "sampling_seed": self._seed(request, sampling),
                "stop_token_ids": stop_ids,
                "ignore_eos": not stop_ids,
            },
            "return_logprob": True,
            "top_logprobs_num": TOLD if sampling.entropies else 0,
        }

    def _generate(self, server: EngineServer, payload: dict[str, Any]) -> Completion:
        prompt, settings = payload["input_ids"], payload["sampling_params"]
        limit, stop_ids = settings["max_new_tokens"], settings["stop_token_ids"]
        out = Completion([], [], stopped=False)
        while len(out.ids) < limit and not out.stopped:
            settings = {**settings, "max_new_tokens": limit - len(out.ids)}
            request = {**payload, "input_ids": [*prompt, *out.ids], "sampling_params": settings}
            part = _completion(self._ask(server, "/generate", request), server)
            out.ids += part.ids
            out.logprobs += part.logprobs
            out.entropies += part.entropies
            out.stopped = part.stopped and out.ids[-1] in stop_ids
        return out

    def _make_transfer(self, dtype: torch.dtype) -> WeightTransfer:
        if self._needs.shared:
            return FolderTransfer(self._folder, dtype, _reload)
        return RequestTransfer(dtype, self._needs.tensor_parallel)

    def _flush(self, server: EngineServer) -> None:
        server.post(f"/flush_cache?timeout={IDLE_SECONDS}", {})


class RequestTransfer:
    """Weights travel in requests, part by part, so that no folder need be shared."""

    def __init__(self, dtype: torch.dtype, tensor_parallel: int) -> None:
        """Store the precision of the weights and the number of workers that each load them."""
        self._dtype, self._copies = dtype, tensor_parallel

    def send(
        self,
        pairs: Iterable[tuple[str, torch.Tensor]],
        version: int,
        servers: Sequence[EngineServer],
    ) -> None:
        """Send all weights to all servers.

        Raises:
            EngineFailure: A server cannot load them.
        """
        ask_all(servers, _begin)
        for part in parts_of(pairs, PART_BYTES):
            # A view of a larger tensor would take it along.
            ready = [(name, tensor.to("cpu", self._dtype, copy=True)) for name, tensor in part]
            text = base64.b64encode(pickle.dumps(ready)).decode()
            body = {"serialized_named_tensors": [text] * self._copies, "flush_cache": False}
            ask_all(servers, partial(_update, body=body))
        ask_all(servers, lambda server: server.post("/end_weight_update", {}))

    def close(self) -> None:
        """Do nothing: nothing is held."""


def _begin(server: EngineServer) -> None:
    """Let a server expect weights; it refuses while it still expects those of a killed run."""
    server.tell("/end_weight_update", {})
    server.post("/begin_weight_update", {})


def _update(server: EngineServer, body: dict[str, Any]) -> None:
    """Let a server load weights of a request."""
    server.post("/update_weights_from_tensor", body, patient=False)


def _reload(server: EngineServer, folder: Path) -> None:
    """Let a server read weights from a folder."""
    payload = {"model_path": str(folder)}
    reload_from(server, folder, "/update_weights_from_disk", payload)


def _completion(answer: Any, server: EngineServer) -> Completion:
    """Convert an answer to a completion."""
    ids, meta = answer["output_ids"], answer["meta_info"]
    logprobs = [float(entry[0]) for entry in meta["output_token_logprobs"]]
    reason = (meta["finish_reason"] or {}).get("type")
    if not ids or len(ids) != len(logprobs) or reason not in ("stop", "length"):
        raise EngineFailure(
            f"expected a whole completion of the SGLang server at {server.url}, but it was broken "
            f"off ({reason}); {GO_ON}"
        )
    likely = meta.get("output_top_logprobs") or []
    entropies = [least_entropy(entry[0] for entry in entries) for entries in likely]
    return Completion(list(ids), logprobs, reason == "stop", entropies)
