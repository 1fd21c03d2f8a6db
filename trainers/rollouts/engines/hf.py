"""Generation with any transformers causal language model: a decoding loop of our own.

``model.generate`` returns no log-probabilities of the sampling distribution without keeping all
logits, has no generator of its own and forgets its cache between turns; this loop is 70 lines and
does all three. The log-probabilities equal those of a training forward to <= 1e-5 in fp32.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from trainers.rollouts.engines.base import Completion, EngineSettings, Sampling, row_limits
from trainers.rollouts.engines.kv import KVStore
from trainers.rollouts.engines.policy_weights import check_whole

__all__ = ["HFEngine", "distribution"]


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Return the (B, V) float32 log-probabilities of the sampling distribution.

    They are -inf outside the nucleus; ``greedy`` leaves the logits alone.
    """
    logits = logits.float()
    if sampling.greedy:
        return torch.log_softmax(logits, -1)
    logp = torch.log_softmax(logits / sampling.temperature, -1)
    if sampling.top_p >= 1.0:
        return logp
    ordered, index = logp.sort(-1, descending=True)
    # A token stays while the mass before it is below top_p, so the first one always does.
    outside = ordered.exp().cumsum(-1) - ordered.exp() >= sampling.top_p
    drop = torch.zeros_like(outside).scatter(-1, index, outside)
    return torch.log_softmax(logp.masked_fill(drop, -torch.inf), -1)


class HFEngine:
    """Generate with the model object the trainer trains; ``sync`` therefore copies nothing.

    Attributes:
        model: A transformers causal LM or a PEFT model around one.
        exact: Whether all weights are float32 and nothing is autocast. In lower precision decoding
            with a cache and the training forward round differently, by about 1e-2 nats.
        version: Version of the weights.
    """

    name = "hf"

    def __init__(
        self,
        model: Any,
        pad_id: int = 0,
        seed: int = 0,
        autocast: torch.dtype | None = None,
        keep_cache: bool = True,
    ) -> None:
        """Wrap a model.

        Args:
            model: A causal LM, possibly with PEFT adapters; each process needs all of its weights.
            pad_id: Id used for padding; any valid id, it is never attended to.
            seed: Seed of the engine's own generator.
            autocast: Low-precision dtype of the training forward, if it uses one; else None.
            keep_cache: Keep the key-value cache between calls, so a turn feeds only new tokens.
        """
        self.model = model
        self.version = 0
        self._pad = pad_id
        self._autocast = autocast
        self._keep = keep_cache
        self._generator = torch.Generator(device=self._device).manual_seed(seed)
        self._store: KVStore | None = None
        self._stamp = -1
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._last_only = "logits_to_keep" in inspect.signature(base.forward).parameters

    @classmethod
    def for_run(cls, model: Any, settings: EngineSettings) -> HFEngine:
        """Make the engine of a run; it has no limits of its own on length or number."""
        autocast = torch.bfloat16 if settings.bf16 else None
        return cls(model, settings.pad_id, settings.seed, autocast)

    @property
    def exact(self) -> bool:
        """Whether log-probabilities equal the training forward's; see ``GenerationEngine``."""
        return self._autocast is None and all(
            parameter.dtype == torch.float32 for parameter in self.model.parameters()
        )

    @property
    def _device(self) -> torch.device:
        """Where the model's weights live."""
        return next(self.model.parameters()).device

    @torch.no_grad()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        max_tokens: Sequence[int] | None = None,
    ) -> list[Completion]:
        """Continue each prompt; see ``GenerationEngine.generate``.

        Raises:
            NotSupported: The model's weights are sharded over processes.
        """
        if not prompts:
            return []
        check_whole(self.model)
        limits = row_limits(len(prompts), sampling, max_tokens)
        if sampling.seed is not None:
            self._generator.manual_seed(sampling.seed)
        self._forget_if_trained()
        training = self.model.training
        self.model.eval()
        try:
            with self._precision():
                out = self._decode(prompts, sampling, limits)
        except BaseException:
            self._store = None
            raise
        finally:
            self.model.train(training)
        return out

    def sync(self, named_params: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Drop the cache: the weights it was computed with have changed in place."""
        self._store = None
        self.version = version

    def close(self) -> None:
        """Free the cache."""
        self._store = None

    def _forget_if_trained(self) -> None:
        """Drop the cache if a weight was written to since, also when nobody called ``sync``."""
        stamp = sum(parameter._version for parameter in self.model.parameters())
        if stamp != self._stamp:
            self._store = None
        self._stamp = stamp

    def _precision(self) -> AbstractContextManager[Any]:
        """The autocast context of the training forward."""
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self._device.type, self._autocast)

    def _decode(
        self, prompts: Sequence[Sequence[int]], sampling: Sampling, limits: list[int]
    ) -> list[Completion]:
        """Prefill and sample token by token until every row has stopped or hit its limit."""
        device = self._device
        if self._store is None or not self._keep:
            self._store = KVStore(self.model.config, device)
        store = self._store
        logits = self._prefill(store, store.enter(prompts), device)
        stops = torch.tensor(sampling.stop_ids, dtype=torch.long, device=device)
        limit = torch.tensor(limits, device=device)
        alive = torch.ones(len(prompts), dtype=torch.bool, device=device)
        tokens, logps, lives = [], [], []
        for step in range(1, max(limits) + 1):
            token, logp = self._sample(logits, sampling)
            tokens.append(token)
            logps.append(logp)
            lives.append(alive)
            alive = alive & ~torch.isin(token, stops) & (limit > step)
            if not alive.any():
                break
            fed = torch.where(alive, token, self._pad)[:, None]
            logits = self._forward(store, fed, alive.long()[:, None])
        counts = torch.stack(lives).sum(0)
        out = _completions(torch.stack(tokens, 1), torch.stack(logps, 1), counts, stops)
        store.extend([completion.ids for completion in out])
        return out

    def _prefill(
        self, store: KVStore, segments: Sequence[Sequence[int]], device: torch.device
    ) -> Tensor:
        """Feed the new part of every prompt, left-padded; (B, V) logits of the last position."""
        width = max(len(segment) for segment in segments)
        pads = [width - len(segment) for segment in segments]
        ids = [[self._pad] * pad + list(s) for pad, s in zip(pads, segments, strict=True)]
        lengths = torch.tensor(pads, device=device)[:, None]
        columns = (torch.arange(width, device=device)[None] >= lengths).long()
        return self._forward(store, torch.tensor(ids, device=device), columns)

    def _forward(self, store: KVStore, ids: Tensor, columns: Tensor) -> Tensor:
        """One forward over (B, L) ids with the cache; (B, V) logits of the last position."""
        position = store.append(columns)
        extra = {"logits_to_keep": 1} if self._last_only else {}
        out = self.model(
            input_ids=ids,
            attention_mask=store.mask,
            position_ids=position,
            past_key_values=store.cache,
            use_cache=True,
            **extra,
        )
        logits: Tensor = out.logits[:, -1]
        return logits

    def _sample(self, logits: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
        """Draw one token per row; (B,) ids and (B,) log-probabilities."""
        logp = distribution(logits, sampling)
        if sampling.greedy:
            token = logp.argmax(-1)
        else:
            token = torch.multinomial(logp.exp(), 1, generator=self._generator)[:, 0]
        return token, logp.gather(-1, token[:, None])[:, 0]


def _completions(tokens: Tensor, logps: Tensor, counts: Tensor, stops: Tensor) -> list[Completion]:
    """Cut (B, T) samples to the length each row lived."""
    last = tokens.gather(1, counts[:, None] - 1)[:, 0]
    stopped = torch.isin(last, stops).tolist()
    rows = zip(tokens.tolist(), logps.tolist(), counts.tolist(), stopped, strict=True)
    return [Completion(ids[:n], logp[:n], stop) for ids, logp, n, stop in rows]
