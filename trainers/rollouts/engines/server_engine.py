"""Generation by servers that the user started, on other devices or nodes.

Token ids are sent in both directions, so nothing is tokenised twice. Every request is a separate
HTTP request with its own seed: a server batches the requests in flight, and answers return as they
finish.

A server starts with other weights than the policy's and may be restarted unnoticed, so its weights
carry the version of the last sync as their name, which is checked after every loss of contact.
"""

from __future__ import annotations

import contextlib
import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agentgym.errors import ConfigurationError, NotSupported
from trainers import processes
from trainers.rollouts.engines.base import (
    Completion,
    EngineSettings,
    Request,
    Sampling,
    require_idle,
)
from trainers.rollouts.engines.failure import GO_ON, EngineFailure
from trainers.rollouts.engines.policy_weights import base_model, policy_weights, with_tied_head
from trainers.rollouts.engines.server_client import EngineServer, ServerKind, ask_all
from trainers.rollouts.engines.vllm_adapter import Lora, adapter_rank, serves_adapter
from trainers.rollouts.engines.vllm_command import ServerNeeds
from trainers.rollouts.engines.vllm_served_adapter import ServedAdapter
from trainers.rollouts.engines.vllm_weights import checked, write_config, write_weights

if TYPE_CHECKING:
    import torch

    from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = ["ServerEngine", "ServerFacts", "WeightTransfer"]

FIRST_WEIGHTS = "default"
"""A server's name of the weights that it was started with."""
IN_TRANSIT = "in-transit"
"""Their name while a sync is in progress."""


class WeightTransfer(Protocol):
    """A way of weights to servers."""

    def send(
        self,
        pairs: Iterable[tuple[str, torch.Tensor]],
        version: int,
        servers: Sequence[EngineServer],
    ) -> None:
        """Send all weights to all servers."""
        ...

    def close(self) -> None:
        """Give up what it holds."""
        ...


@dataclass(frozen=True)
class ServerFacts:
    """What a server says of itself."""

    dtype: str
    """Precision, such as ``"float32"``."""
    name: str = ""
    """Name of its model in requests."""
    model: Mapping[str, Any] | None = None
    """``model``, ``revision`` and ``quantization`` that it was started with."""
    takes_nccl: bool = False
    """Whether it takes weights by NCCL."""
    lora_rank: int = 0
    """Largest rank of an adapter that it serves; 0: none."""


class ServerEngine(ABC):
    """A ``GenerationEngine`` on servers.

    Every process of a run queries the servers itself; the main process sends the weights.

    Attributes:
        name: Name of the engine, such as ``"vllm-server"``.
        kind: Kind of its servers.
        section: Section of its settings.
        exact: Whether policy and servers are in float32.
        version: Version given to the last ``sync``; -1 before the first one.
        stale_version: Version given to the last ``sync_stale``; -1 before the first one.
        adapter: Whether the servers get adapters instead of merged weights.
    """

    name: str
    kind: ClassVar[ServerKind]
    section: ClassVar[str]
    needs_of_run: ClassVar[type[ServerNeeds]] = ServerNeeds

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
                f"expected --{self.section}.url, the address of {self.kind.article} server, for "
                f"--engine {self.name}, got none"
            )
        self._folder, self._model = folder, model
        if not needs.model:
            needs = _write_policy(model, folder / "model", needs)
        advice = needs.command()
        self._servers = [EngineServer(url, patience, advice, self.kind) for url in urls]
        self._needs, self._seeded = needs, seeded
        self.version = self.stale_version = -1
        facts = [self._facts(server) for server in self._servers]
        self._names = [fact.name for fact in facts]
        self.exact = {needs.dtype, *(fact.dtype for fact in facts)} == {"float32"}
        self._takes = all(fact.takes_nccl for fact in facts)
        self._served = ServedAdapter(self._servers, folder / "adapters")
        self._stale = ServedAdapter(self._servers, folder / "stale-adapters", "stale")
        self.adapter = self._decide(
            lora, min(fact.lora_rank for fact in facts)
        ) and self._served.reaches(model, lora, by_nccl=needs.nccl and self._takes)
        self._bases = [fact.model or {} for fact in facts]
        self._transfer: WeightTransfer | None = None
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(
            needs.sequences, thread_name_prefix=self.name
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
    def for_run(cls, model: torch.nn.Module, settings: EngineSettings) -> ServerEngine:
        """Make the engine of a run."""
        import torch

        options = settings.options
        dtype = str(base_model(model).dtype).removeprefix("torch.")
        rank, cuda = adapter_rank(model), torch.cuda.is_available()
        return cls(
            model,
            [url.strip() for url in options["url"].split(",") if url.strip()],
            cls.needs_of_run.of_run(settings, dtype=dtype, rank=rank, cuda=cuda),
            folder=Path(options["folder"] or options["run_folder"]),
            patience=options["patience"],
            lora="adapter" if settings.pool else options.get("lora", "merge"),
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
        # Turns of an episode, and episodes of a task, share a prefix cached by one server.
        groups = [r.key if r.group is None else r.group for r in requests]
        places = [group % len(self._servers) for group in groups]
        payloads = [self._payload(*pair, sampling) for pair in zip(requests, places, strict=True)]
        for request, place, payload in zip(requests, places, payloads, strict=True):
            self.running += 1
            self._pool.submit(self._complete, self._round, request.key, place, payload)

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
            ask_all(self._servers, lambda s: s.tell(self.kind.abort_path, {"abort_all": True}))
        self._round += 1
        self.running = 0

    def _complete(
        self, round_number: int, key: int, server_index: int, payload: dict[str, Any]
    ) -> None:
        """Request a completion from a server and store the result."""
        result: Completion | BaseException
        if round_number != self._round:
            return  # abandoned before it was sent
        try:
            result = self._generate(self._servers[server_index], payload)
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

    def _room(self, request: Request) -> int:
        """Return the maximum number of new tokens of a request."""
        room = self._needs.context - len(request.prompt)
        if not request.prompt or room < 1:
            raise ConfigurationError(
                f"expected a prompt of 1 to {self._needs.context - 1} tokens, got "
                f"{len(request.prompt)}: raise --{self.section}.max-length or lower "
                "--rl.episode-tokens"
            )
        return min(request.max_tokens, room)

    def _ask(self, server: EngineServer, path: str, payload: Mapping[str, Any]) -> Any:
        """Send a request for tokens, until there is an answer of the right weights."""
        return server.post(
            path,
            payload,
            before_retry=lambda: self._check_weights(server, server.weight_version()),
        )

    def _seed(self, request: Request, sampling: Sampling) -> int | None:
        """Return the seed of a request, if it is drawn with one."""
        return request.seed if self._seeded and not sampling.greedy else None

    # -- what a kind of server does its own way ----------------------------------------------------

    @abstractmethod
    def _facts(self, server: EngineServer) -> ServerFacts:
        """Return a server's facts, and check that it fits the run."""

    @abstractmethod
    def _payload(self, request: Request, server_index: int, sampling: Sampling) -> dict[str, Any]:
        """Return what is sent for a request."""

    @abstractmethod
    def _generate(self, server: EngineServer, payload: dict[str, Any]) -> Completion:
        """Let a server complete a prompt; called in many threads."""

    @abstractmethod
    def _make_transfer(self, dtype: torch.dtype) -> WeightTransfer:
        """Return the way of the weights to the servers."""

    @abstractmethod
    def _flush(self, server: EngineServer) -> None:
        """Reset a server's cache, which is idle or about to be."""

    def _unfit(self, server: EngineServer, problem: str) -> ConfigurationError:
        """Return the error that a server was not started for this run."""
        return ConfigurationError(
            f"expected the {self.kind.name} server at {server.url} to run with {problem}; start "
            f"it for this run ({self._needs.command()})"
        )

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
        sends = not self.adapter or not processes.on_main(self._have_base)
        self.version = -1  # until the end: half a sync must not be sampled from
        if sends:
            base = policy_weights(self._model, merged=False)
            self._send(base if self.adapter else named_params, version)
        if self.adapter:
            self._served.replace(self._model, version)
        rename = partial(self._rename, version=version, sent=sends)
        self._on_main(lambda: ask_all(self._servers, rename))
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

    def rest(self) -> None:  # noqa: B027 - servers have their own devices
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
            self._transfer = self._make_transfer(getattr(torch, self._needs.dtype))
        with self._paused():
            # If the run dies meanwhile, the weights of its servers are unknown.
            ask_all(self._servers, lambda server: _name_weights(server, IN_TRANSIT))
            self._transfer.send(pairs, version, self._servers)

    @contextlib.contextmanager
    def _paused(self) -> Iterator[None]:
        """Let the servers generate nothing, for whomever, while their weights change."""
        body = {"mode": "abort"}
        try:
            ask_all(self._servers, lambda server: server.post(self.kind.pause_path, body))
            yield
        except BaseException:
            ask_all(self._servers, lambda server: server.tell(self.kind.resume_path, {}))
            raise
        ask_all(self._servers, lambda server: server.post(self.kind.resume_path, {}))

    def _rename(self, server: EngineServer, version: int, sent: bool) -> None:
        """Reset a server's cache and name its weights, if it still has those that were sent."""
        self._flush(server)
        if sent:
            self._check_weights(server, _weights_of(server), IN_TRANSIT)
        _name_weights(server, str(version))

    def _have_base(self) -> bool:
        """Whether every server has the policy's base, since the last sync or since its start.

        A model of the same name on another machine is assumed to be the same model.
        """
        name = str(getattr(base_model(self._model).config, "_name_or_path", ""))
        last = None if self.version < 0 else str(self.version)
        # A server that was restarted has lost a base that was sent.
        return all(
            weights == last or (weights == FIRST_WEIGHTS and bool(name) and _is_model(base, name))
            for weights, base in zip(ask_all(self._servers, _weights_of), self._bases, strict=True)
        )

    def _check_weights(self, server: EngineServer, version: str, expected: str = "") -> None:
        """Detect a restarted server, which has its initial weights again."""
        expected = expected or str(self.version)
        if version != expected:
            raise EngineFailure(
                f"expected the {self.kind.name} server at {server.url} to have the policy's "
                f"weights of version {expected}, but it has {version!r}: it was restarted or "
                f"serves another run, too; {GO_ON}"
            )

    # -- checks ------------------------------------------------------------------------------------

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
            raise NotSupported(
                f"expected an open {self.name} engine, but close() was called on it."
            )

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


def _weights_of(server: EngineServer) -> str:
    """Return a server's name of its weights, retrying within the patience."""
    return str(server.get(server.kind.weights_path)["weight_version"])


def _name_weights(server: EngineServer, version: str) -> None:
    """Set a server's name of its weights."""
    server.post("/update_weight_version", {"new_version": version})


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
