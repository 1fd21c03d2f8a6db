"""Generation by vLLM servers that the user started, on other devices or nodes.

Token ids are sent in both directions, so nothing is tokenised twice. Every request is a separate
HTTP request with its own seed: a server batches the requests in flight, and answers return as they
finish.

A server starts with other weights than the policy's and may be restarted unnoticed, so its weights
carry the version of the last sync as their name, which is checked after every loss of contact.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, NotSupported
from trainers import processes
from trainers.rollouts.engines.base import (
    TOLD,
    Completion,
    EngineSettings,
    Request,
    Sampling,
    least_entropy,
    require_idle,
)
from trainers.rollouts.engines.failure import GO_ON, EngineFailure
from trainers.rollouts.engines.policy_weights import base_model, policy_weights, with_tied_head
from trainers.rollouts.engines.vllm_adapter import Lora, adapter_rank, serves_adapter
from trainers.rollouts.engines.vllm_client import VLLMServer, ask_all
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_served_adapter import ServedAdapter
from trainers.rollouts.engines.vllm_weights import (
    FolderTransfer,
    NcclTransfer,
    checked,
    write_config,
    write_weights,
)

if TYPE_CHECKING:
    import torch

    from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = ["VLLMServerEngine"]

FIRST_WEIGHTS = "default"
"""vLLM's name of the weights that a server was started with."""
IN_TRANSIT = "in-transit"
"""Their name while a sync is in progress."""
ABORTING, PAUSE = 20, 0.1
"""Maximum polls of a server that is not idle, and seconds between two of them."""


class VLLMServerEngine:
    """A ``GenerationEngine`` on vLLM servers.

    Every process of a run queries the servers itself; the main process sends the weights.

    Attributes:
        name: ``"vllm-server"``.
        exact: Whether policy and servers are in float32.
        version: Version given to the last ``sync``; -1 before the first one.
        stale_version: Version given to the last ``sync_stale``; -1 before the first one.
        adapter: Whether the servers get adapters instead of merged weights.
    """

    name = "vllm-server"

    def __init__(
        self,
        model: torch.nn.Module,
        urls: Sequence[str],
        needs: ServerNeeds,
        *,
        folder: Path,
        patience: float = 60.0,
        lora: Lora = "merge",
        seeded: bool = True,
    ) -> None:
        """Find the servers and check that they fit; call ``sync`` before ``submit``.

        Args:
            model: The policy (transformers, PEFT or wrapped).
            urls: Addresses of the servers, such as ``http://host:8000``.
            needs: The run's requirements. An empty ``model`` means a model that is written to
                ``folder`` if no server answers yet.
            folder: Folder that trainer and servers can read, for weights not sent by NCCL.
            patience: Seconds for which a server may be unreachable, at the start and later.
            lora: How adapters of the policy are served; ``auto`` as an adapter if every server was
                started with ``--enable-lora``, and sees the folder or takes weights by NCCL.
            seeded: Whether every completion is drawn from the seed of its request.

        Raises:
            ConfigurationError: There is no address, a server does not fit the run, or it does not
                see the folder.
            EngineFailure: A server cannot be reached, or has no development endpoints.
        """
        if not urls:
            raise ConfigurationError(
                "expected --vllm.url, the address of a vLLM server, for --engine vllm-server, got "
                "none"
            )
        self._folder, self._model = folder, model
        if not needs.model:
            needs = _write_policy(model, folder / "model", needs)
        advice = needs.command()
        self._servers = [VLLMServer(url, patience, advice) for url in urls]
        self._needs, self._seeded = needs, seeded
        self.version = self.stale_version = -1
        facts = [self._facts(server) for server in self._servers]
        self._names = [str(fact["model_config"]["served_model_name"]) for fact in facts]
        dtypes = {str(fact["model_config"]["dtype"]).removeprefix("torch.") for fact in facts}
        self.exact = dtypes == {"float32"} and needs.dtype == "float32"
        self._takes = all(fact.get("weight_transfer_config") for fact in facts)
        ranks = [(fact.get("lora_config") or {}).get("max_lora_rank", 0) for fact in facts]
        self._served = ServedAdapter(self._servers, folder / "adapters")
        self._stale = ServedAdapter(self._servers, folder / "stale-adapters", "stale")
        self.adapter = self._decide(lora, min(ranks)) and self._served.reaches(
            model, lora, by_nccl=needs.nccl and self._takes
        )
        self._bases = [fact["model_config"] for fact in facts]
        self._transfer: FolderTransfer | NcclTransfer | None = None
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(
            needs.sequences, thread_name_prefix="vllm-server"
        )
        self._done: queue.SimpleQueue[tuple[int, int, Completion | BaseException]]
        self._done = queue.SimpleQueue()
        # Answers to abandoned requests still arrive; their round identifies them.
        self._round, self.running = 0, 0

    @property
    def reads_policy(self) -> bool:
        """Whether ``sync`` reads the policy itself, for its adapter."""
        return self.adapter

    @classmethod
    def for_run(cls, model: torch.nn.Module, settings: EngineSettings) -> VLLMServerEngine:
        """Make the engine of a run."""
        import torch

        options = settings.options
        dtype = str(base_model(model).dtype).removeprefix("torch.")
        rank, cuda = adapter_rank(model), torch.cuda.is_available()
        return cls(
            model,
            [url.strip() for url in options["url"].split(",") if url.strip()],
            ServerNeeds.of_run(settings, dtype=dtype, rank=rank, cuda=cuda),
            folder=Path(options["folder"] or options["run_folder"]),
            patience=options["patience"],
            lora="adapter" if settings.pool else options["lora"],
            seeded=options["seeded"],
        )

    # -- generation --------------------------------------------------------------------------------

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Send requests; see ``GenerationEngine.submit``.

        Raises:
            ConfigurationError: A prompt is empty or leaves no room for a token.
            EngineFailure: A server no longer has the weights of the last sync.
            NotSupported: No weights were synchronised yet, or no stale ones for a request that asks
                for them, or the engine is closed.
        """
        self._require_ready()
        # Once a batch: a server that was restarted has lost the weights of the last sync.
        if requests and not self.running:
            ask_all(self._servers, lambda server: self._check_weights(server, _weights_of(server)))
        assert self._pool is not None
        payloads = [self._payload(request, sampling) for request in requests]
        for request, payload in zip(requests, payloads, strict=True):
            # Turns of an episode, and episodes of a task, share a prefix cached by one server.
            group = request.key if request.group is None else request.group
            server_index = group % len(self._servers)
            payload["model"] = self._model_of(request, server_index)
            self.running += 1
            self._pool.submit(self._complete, self._round, request.key, server_index, payload)

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Wait for the next completion; see ``GenerationEngine.advance``.

        Raises:
            EngineFailure: A server refused or could not be reached for too long.
        """
        completions: list[tuple[int, Completion]] = []
        while self.running:
            try:
                round_number, key, result = self._done.get(block=not completions, timeout=timeout)
            except queue.Empty:
                break
            if round_number != self._round:
                continue  # it was given up
            self.running -= 1
            if isinstance(result, BaseException):
                self.abort()
                raise result
            completions.append((key, result))
        return completions

    def abort(self) -> None:
        """Drop all requests in flight; the servers are notified without a guarantee."""
        if self.running:
            for server in self._servers:
                server.tell("/abort_requests", {})
        self._round += 1
        self.running = 0

    def _complete(
        self, round_number: int, key: int, server_index: int, payload: dict[str, Any]
    ) -> None:
        """Request a completion from a server and store the result."""
        result: Completion | BaseException
        if round_number != self._round:
            return  # abandoned before it was sent
        server = self._servers[server_index]
        try:
            answer = server.post(
                "/v1/completions",
                payload,
                before_retry=lambda: self._check_weights(server, server.weight_version()),
            )
            result = _completion(answer, server, with_entropies=payload["logprobs"] > 0)
        except BaseException as error:
            # This is a thread of the pool: `advance` raises it.
            result = error
        self._done.put((round_number, key, result))

    def _model_of(self, request: Request, server_index: int) -> str:
        """Return a server's name of the policy for a request."""
        if request.stale and self.stale_version < 0:
            raise NotSupported(
                "expected a stale policy for requests that ask for it: call sync_stale before."
            )
        return (self._stale if request.stale else self._served).loaded or self._names[server_index]

    def _payload(self, request: Request, sampling: Sampling) -> dict[str, Any]:
        """Return a request in OpenAI's API with vLLM's extensions."""
        room = self._needs.context - len(request.prompt)
        if not request.prompt or room < 1:
            raise ConfigurationError(
                f"expected a prompt of 1 to {self._needs.context - 1} tokens, got "
                f"{len(request.prompt)}: raise --vllm.max-length or lower --rl.episode-tokens"
            )
        return {
            "prompt": list(request.prompt),
            "max_tokens": min(request.max_tokens, room),
            "temperature": 0.0 if sampling.greedy else sampling.temperature,
            "top_p": 1.0 if sampling.greedy else sampling.top_p,
            # Otherwise a model's generation config would change these.
            **{"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0},
            "seed": request.seed if self._seeded and not sampling.greedy else None,
            "stop_token_ids": list(sampling.stop_ids),
            # The chat template's stop ids end a turn, not the end of text.
            "ignore_eos": True,
            "logprobs": TOLD if sampling.entropies else 0,  # plus the sampled token's, always
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }

    # -- weights -----------------------------------------------------------------------------------

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Send the policy's weights to the servers, which reset their caches.

        Args:
            named_params: Pairs as from ``policy_weights(model)``. They are ignored if the servers
                get adapters; the base is then sent once, to servers that were started with another
                base or have received other weights since.
            version: Version to report from now on.

        Raises:
            EngineFailure: A server cannot load them.
            NotSupported: The engine is closed or has requests in flight.
        """
        self._require_open()
        require_idle(self)
        first = self.version < 0
        self.version = -1  # until the end: half a sync must not be sampled from
        if not self.adapter:
            self._send(named_params, version)
        else:
            if first and not processes.on_main(self._have_base):
                self._send(policy_weights(self._model, merged=False), version)
            self._served.replace(self._model, version)
        self._on_main(lambda: ask_all(self._servers, lambda server: _forget(server, version)))
        processes.barrier()
        self.version = version

    def sync_stale(self, weights: TrainedWeights, version: int) -> None:
        """Let the servers serve a second adapter; see ``PoolEngine.sync_stale``.

        Raises:
            EngineFailure: A server cannot load it.
            NotSupported: The servers get no adapters, or the engine is closed or busy.
        """
        self._require_open()
        require_idle(self)
        if not self.adapter:
            raise NotSupported(
                "expected servers that get adapters, two of which share one base, to hold a stale "
                "policy: start them with --enable-lora, and choose --vllm.lora adapter"
            )
        with weights.in_use():
            self._stale.replace(weights.model, version)
        processes.barrier()
        self.stale_version = version

    def rest(self) -> None:
        """Do nothing: servers have their own devices."""

    def close(self) -> None:
        """Abandon requests in flight and leave the servers running; may be called twice."""
        if self._pool is None:
            return
        self.abort()
        pool, self._pool = self._pool, None
        self._on_main(self._served.close)
        self._on_main(self._stale.close)
        for server in self._servers:
            server.close()
        pool.shutdown(wait=False, cancel_futures=True)
        if self._transfer is not None:
            self._transfer.close()

    def _send(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Send all weights from the main process; the others help to gather them."""
        import torch

        pairs = checked(with_tied_head(named_params))
        if not processes.is_main():
            for _ in pairs:
                pass
            return
        if self._transfer is None:
            dtype: torch.dtype = getattr(torch, self._needs.dtype)
            if self._needs.nccl and self._takes:
                device = next(self._model.parameters()).device
                self._transfer = NcclTransfer(self._servers, dtype, device)
            else:
                self._transfer = FolderTransfer(self._folder, dtype)
        # If the run dies meanwhile, the weights of its servers are unknown.
        ask_all(self._servers, lambda server: _name_weights(server, IN_TRANSIT))
        self._transfer.send(pairs, version, self._servers)

    def _have_base(self) -> bool:
        """Whether every server still has the weights that it was started with: the policy's base.

        A model of the same name on another machine is assumed to be the same model.
        """
        name = str(getattr(base_model(self._model).config, "_name_or_path", ""))
        if not name or not all(_is_model(base, name) for base in self._bases):
            return False
        return set(ask_all(self._servers, _weights_of)) == {FIRST_WEIGHTS}

    def _check_weights(self, server: VLLMServer, version: str) -> None:
        """Detect a restarted server, which has its initial weights again."""
        if version != str(self.version):
            raise EngineFailure(
                f"expected the vLLM server at {server.url} to have the policy's weights of version "
                f"{self.version}, but it has {version!r}: it was restarted or serves another run, "
                f"too; {GO_ON}"
            )

    # -- checks ------------------------------------------------------------------------------------

    def _facts(self, server: VLLMServer) -> dict[str, Any]:
        """Return a server's configuration, and check that it fits the run."""
        server.get("/v1/models")
        facts: dict[str, Any] = server.get("/server_info?config_format=json")["vllm_config"]
        model = facts["model_config"]
        problem = ""
        if model["max_model_len"] < self._needs.context:
            problem = (
                f"--max-model-len of at least {self._needs.context}, which the token budgets of "
                f"the run may fill, got {model['max_model_len']}"
            )
        elif model["logprobs_mode"] != "processed_logprobs":
            problem = f"--logprobs-mode processed_logprobs, got {model['logprobs_mode']}"
        if problem:
            raise ConfigurationError(
                f"expected the vLLM server at {server.url} to run with {problem}; start it for "
                f"this run ({self._needs.command()})"
            )
        return facts

    def _decide(self, lora: Lora, rank: int) -> bool:
        """Decide whether adapters are served unmerged."""
        needs = self._needs
        as_adapter = serves_adapter(lora, self._model, dtype=needs.dtype, on_cpu=needs.on_cpu)
        able = rank >= adapter_rank(self._model) if as_adapter else False
        if lora == "adapter" and not able:
            raise ConfigurationError(
                "expected vLLM servers that serve adapters of the policy's rank for --vllm.lora "
                f"adapter, got --max-lora-rank {rank}; start them with --enable-lora "
                f"({needs.command()})"
            )
        return able

    def _require_open(self) -> None:
        if self._pool is None:
            raise NotSupported("expected an open vLLM engine, but close() was called on it.")

    def _require_ready(self) -> None:
        self._require_open()
        if self.version < 0:
            raise NotSupported(
                "expected synchronised weights, but none were sent: call "
                "sync(policy_weights(model), version) before submit."
            )

    @staticmethod
    def _on_main(action: Callable[[], object]) -> None:
        """Run a function in the main process only."""
        if processes.is_main():
            action()


def _is_model(info: Mapping[str, Any], name: str) -> bool:
    """Whether a server was started with a model, at its usual revision."""
    served = str(info.get("model"))
    is_same = served == name or Path(served).resolve() == Path(name)
    return is_same and info.get("revision") in (None, "main") and not info.get("quantization")


def _weights_of(server: VLLMServer) -> str:
    """Return a server's name of its weights, retrying within the patience."""
    return str(server.get("/weight_info")["weight_version"])


def _name_weights(server: VLLMServer, version: str) -> None:
    """Set a server's name of its weights."""
    server.post("/update_weight_version", {"new_version": version})


def _forget(server: VLLMServer, version: int) -> None:
    """Reset a server's cache and name its weights."""
    for _ in range(ABORTING):
        if server.post("/reset_prefix_cache", {})["success"]:
            break
        time.sleep(PAUSE)  # It may still be cancelling recently aborted requests.
    else:
        raise EngineFailure(
            f"expected the vLLM server at {server.url} to be idle at a weight sync, but its prefix "
            "cache is in use: let no other client use it during a run"
        )
    _name_weights(server, str(version))


def _write_policy(model: torch.nn.Module, folder: Path, needs: ServerNeeds) -> ServerNeeds:
    """Save a policy that exists nowhere else, for a server to start with."""
    import dataclasses

    import torch

    if processes.is_main():
        folder.mkdir(parents=True, exist_ok=True)
        write_config(base_model(model), folder)
        pairs = with_tied_head(policy_weights(model))
        write_weights(pairs, folder, getattr(torch, needs.dtype))
    return dataclasses.replace(needs, model=str(folder.resolve()))


def _completion(answer: Any, server: VLLMServer, with_entropies: bool) -> Completion:
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
