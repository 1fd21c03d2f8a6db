"""vLLM inside the training process: continuous batching without a server or a second process.

The engine is built from the policy's configuration; its weights only come from ``sync``, so no
checkpoint is written and stale weights cannot be sampled from. Sampling is seeded per request,
which makes results independent of vLLM's batching and keeps the trainer's generators untouched.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgym.errors import ConfigurationError, NotSupported
from trainers.rollouts.engines.base import (
    TOLD,
    Completion,
    EngineSettings,
    Request,
    Sampling,
    least_entropy,
)
from trainers.rollouts.engines.failure import GO_ON, EngineLost
from trainers.rollouts.engines.policy_weights import base_model, policy_weights, with_tied_head
from trainers.rollouts.engines.vllm_adapter import serves_adapter
from trainers.rollouts.engines.vllm_options import VLLMOptions
from trainers.rollouts.engines.vllm_process import (
    draw_by_request,
    explained,
    generating,
    import_vllm,
    starting,
    stopping,
)
from trainers.rollouts.engines.vllm_reload import Reload
from trainers.rollouts.engines.vllm_weights import write_config, write_weights

if TYPE_CHECKING:
    import torch
    from vllm import LLM, CompletionOutput, SamplingParams
    from vllm.lora.request import LoRARequest

    from trainers.rollouts.engines.trained_weights import TrainedWeights

__all__ = ["VLLMColocateEngine"]

_ABANDONED: list[LLM] = []
"""Engines that died, kept alive here: shutting one down, or collecting it as garbage, would wait
forever for a dead worker to read its messages; the imminent end of the process does not."""


class VLLMColocateEngine:
    """A ``GenerationEngine`` on vLLM, in process.

    One engine may be open per process at a time. Under a multi-process launcher every rank holds
    a whole copy of the model and generates for its own episodes (data parallel).

    Attributes:
        name: ``"vllm"``.
        exact: True when policy and engine are in float32: log-probabilities then equal the
            trainer's to about 1e-6.
        version: Version given to the last ``sync``; -1 before the first one.
        stale_version: Version given to the last ``sync_stale``; -1 before the first one.
        reads_policy: Whether ``sync`` reads the policy itself, for its adapter.
    """

    name = "vllm"

    def __init__(self, model: torch.nn.Module, **options: Any) -> None:
        """Start the engine with empty weights; call ``sync`` before ``submit``.

        Args:
            model: The policy (transformers, PEFT or wrapped). Only its class and configuration
                are used, unless its adapter is served: then every sync reads it.
            **options: Those of ``VLLMOptions``.

        Raises:
            DependencyNotInstalled: vLLM cannot be imported; names the install commands.
            ConfigurationError: The platform has no sleep mode, the processes are too many for
                ``tensor_parallel``, or the adapter cannot be served.
            EngineLost: vLLM does not start, for example for want of memory.
        """
        import torch

        settings = VLLMOptions(**options)
        vllm = import_vllm()
        from vllm.platforms import current_platform

        on_cpu = current_platform.is_cpu()
        if settings.sleep and not current_platform.is_sleep_mode_available():
            raise ConfigurationError(
                "expected --vllm.sleep only where vLLM has a sleep mode, which is on GPUs; got it "
                f"on {current_platform.device_type}"
            )
        base = base_model(model)
        positions = getattr(base.config, "max_position_embeddings", settings.max_model_len)
        self._max_model_len = min(settings.max_model_len, positions)
        self._sleeps, self._seeded = settings.sleep, settings.seeded
        self._owns_process_group = not torch.distributed.is_initialized()
        # Keys recur turn after turn, but vLLM's request names must be unique.
        self._names = itertools.count()
        self._keys: dict[str, tuple[int, bool]] = {}  # and whether entropies were requested
        served = serves_adapter(settings.lora, model, dtype=settings.dtype, on_cpu=on_cpu)
        self.reads_policy = served
        arguments = settings.arguments(model, adapter=served, on_cpu=on_cpu)
        self._without_compiling = on_cpu and arguments["enforce_eager"]
        self.exact = settings.dtype == "float32" and all(
            parameter.dtype == torch.float32 for parameter in model.parameters()
        )
        self.version, self.stale_version, self._dead = -1, -1, False
        self._temporary = tempfile.TemporaryDirectory(prefix="agentgym-vllm-")
        folder = Path(self._temporary.name)
        tied = write_config(base, folder)
        if arguments["load_format"] != "dummy":
            write_weights(
                with_tied_head(policy_weights(model)), folder, getattr(torch, settings.dtype)
            )
        with explained("start"), starting():
            self._llm: Any = vllm.LLM(
                model=str(folder), max_model_len=self._max_model_len, **arguments
            )
            if on_cpu:
                self._llm.collective_rpc(draw_by_request)
        self._weights = Reload(self._llm, model, folder, tied=tied, served=served)

    @classmethod
    def for_run(cls, model: torch.nn.Module, settings: EngineSettings) -> VLLMColocateEngine:
        """Make the engine of a run."""
        return cls(model, **vars(VLLMOptions.of_run(base_model(model), settings)))

    @property
    def adapter(self) -> LoRARequest | None:
        """The adapter served beside the base, as vLLM's request; None: merged weights."""
        return self._weights.adapter

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._keys)

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Submit requests to vLLM's scheduler; see ``GenerationEngine.submit``.

        Args:
            requests: Their prompts have 1 to ``max_model_len`` - 1 tokens. A completion that
                reaches ``max_model_len`` has ``stopped`` False.
            sampling: How to draw.

        Raises:
            ConfigurationError: A prompt is empty or leaves no room for a token; no request is
                started.
            NotSupported: No weights were synchronised yet, or no stale ones for a stale request, or
                the engine is closed.
        """
        self._require_ready()
        if self.stale_version < 0 and any(request.stale for request in requests):
            raise NotSupported(
                "expected a stale policy for requests that ask for it: call sync_stale before."
            )
        parameters = [self._parameters(request, sampling) for request in requests]
        for request, settings in zip(requests, parameters, strict=True):
            name = str(next(self._names))
            prompt = {"prompt_token_ids": list(request.prompt)}
            adapter = self._weights.stale if request.stale else self.adapter
            self._llm.llm_engine.add_request(name, prompt, settings, lora_request=adapter)
            self._keys[name] = request.key, sampling.entropies

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Let vLLM take one step; see ``GenerationEngine.advance``.

        Raises:
            EngineLost: vLLM died.
        """
        if not self._keys:
            return []
        self._dead = True  # cleared if the step succeeds
        with explained("generate"), generating(without_compiling=self._without_compiling):
            outputs = self._llm.llm_engine.step()
        self._dead = False
        finished = [output for output in outputs if output.finished]
        keys = [self._keys.pop(output.request_id) for output in finished]
        return [
            (key, _completion(output.outputs[0], with_entropies))
            for (key, with_entropies), output in zip(keys, finished, strict=True)
        ]

    def abort(self) -> None:
        """Drop all requests in flight."""
        if self._keys and not self._dead:
            self._llm.llm_engine.abort_request(list(self._keys))
        self._keys.clear()

    def sync(self, named_params: Iterable[tuple[str, torch.Tensor]], version: int) -> None:
        """Copy the policy's weights into the engine and drop its prefix cache.

        Args:
            named_params: Pairs as from ``policy_weights(model)``: merged, named like the base
                checkpoint. A tied ``lm_head.weight`` is added when it is missing. They are ignored
                if the adapter is served.
            version: Version to report from now on.

        Raises:
            ConfigurationError: A name belongs to an adapter or wrapper, or there is none.
            NotSupported: The engine is closed or generating.
            EngineLost: vLLM died, or an earlier sync failed halfway.
        """
        self._require_open()
        self._weights.sync(named_params, version)
        self.version = version

    def sync_stale(self, weights: TrainedWeights, version: int) -> None:
        """Serve a second adapter on the same base; see ``PoolEngine.sync_stale``.

        Raises:
            NotSupported: The engine is closed, or serves no adapters.
            EngineLost: vLLM died.
        """
        self._require_open()
        self._weights.sync_stale(weights, version)
        self.stale_version = version

    def rest(self) -> None:
        """Free device memory until the next ``sync``, if the engine has sleep mode."""
        if self._sleeps and self._llm is not None:
            self._weights.rest()
            self.version = -1

    def close(self) -> None:
        """Free the engine's memory; calling it twice is allowed."""
        llm, self._llm = getattr(self, "_llm", None), None
        if llm is None:
            return
        self._keys.clear()
        if self._dead:
            _ABANDONED.append(llm)
            return
        with stopping(keep_process_group=not self._owns_process_group):
            llm.llm_engine.engine_core.shutdown()
        self._temporary.cleanup()

    def __enter__(self) -> VLLMColocateEngine:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()

    def _parameters(self, request: Request, sampling: Sampling) -> SamplingParams:
        """Return a request's settings as vLLM's sampling parameters."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=0.0 if sampling.greedy else sampling.temperature,
            top_p=1.0 if sampling.greedy else sampling.top_p,
            max_tokens=self._room(request.prompt, request.max_tokens),
            seed=request.seed if self._seeded and not sampling.greedy else None,
            stop_token_ids=list(sampling.stop_ids),
            ignore_eos=True,  # only the caller's stop ids, never those of the model's configuration
            logprobs=TOLD if sampling.entropies else 0,  # the sampled token's is always included
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _room(self, prompt: Sequence[int], limit: int) -> int:
        """Return the limit, lowered to the remaining context."""
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
        if self._dead:
            raise EngineLost(f"expected vLLM to be alive, but it died before; {GO_ON}")
        if self._weights.broken:
            raise EngineLost(
                "expected an engine with whole weights, but its last sync failed half way, after "
                f"which vLLM needs a new process; {GO_ON}"
            )

    def _require_ready(self) -> None:
        self._require_open()
        if self.version < 0:
            raise NotSupported(
                "expected synchronised weights, but none were loaded: call "
                "sync(policy_weights(model), version) before submit."
            )


def _completion(output: CompletionOutput, with_entropies: bool) -> Completion:
    """Convert vLLM's output to a completion."""
    ids = list(output.token_ids)
    logprobs = [entry[token].logprob for token, entry in zip(ids, output.logprobs, strict=True)]
    stopped, entropies = output.finish_reason == "stop", []
    if with_entropies:
        entropies = [least_entropy(e.logprob for e in entry.values()) for entry in output.logprobs]
    return Completion(ids, logprobs, stopped, entropies)
