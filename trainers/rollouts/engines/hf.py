"""Generation with any transformers causal language model: continuous batching of our own.

``model.generate`` returns no log-probabilities of the sampling distribution without keeping all
logits, has no generator of its own, forgets its cache between turns and lets all rows wait for the
longest. Here rows at different places of their turns share a decoding step, a row that has ended
leaves, new ones are prefilled together, and every row draws from a random stream of its own. The
log-probabilities equal those of a training forward to <= 1e-5 in fp32.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trainers.rollouts.engines.base import (
    Completion,
    EngineSettings,
    Request,
    Sampling,
    require_idle,
)
from trainers.rollouts.engines.kv import KVBatch
from trainers.rollouts.engines.policy_weights import check_whole

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

__all__ = ["ADMIT_SHARE", "HFEngine", "distribution", "draw"]

ADMIT_SHARE = 0.5
"""New requests are prefilled when nothing runs, or when they are this many for each running row: a
prefill is a forward of its own and copies the cache, which must pay for more than a row or two."""
LEAVE_SHARE = 0.5
"""Rows that have ended are taken out of the batch when this share of it, or less, is running."""
SPLIT_TOKENS = 512
"""Padding, in tokens, that a prefill must save to be a forward of its own."""
_DRAWS = 64
"""Random numbers made at a time for a request."""


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
    ordered, index = logp.sort(-1, descending=True)  # (B, V) each
    # A token stays while the mass before it is below top_p, so the first one always does.
    outside = ordered.exp().cumsum(-1) - ordered.exp() >= sampling.top_p
    drop = torch.zeros_like(outside).scatter(-1, index, outside)
    return torch.log_softmax(logp.masked_fill(drop, -torch.inf), -1)


def draw(logp: Tensor, uniforms: Sequence[float]) -> Tensor:
    """Draw one token per row by inversion of its distribution function.

    Args:
        logp: (B, V) log-probabilities.
        uniforms: B numbers in [0, 1).

    Returns:
        (B,) ids, never of a token without probability.
    """
    # In single precision the tail of a large vocabulary would be lost in the sum.
    wide = torch.float32 if logp.device.type == "mps" else torch.float64
    mass = logp.to(wide).exp().cumsum(-1)
    point = torch.tensor(uniforms, dtype=wide, device=logp.device)[:, None] * mass[:, -1:]
    found = torch.searchsorted(mass, point, right=True)[:, 0]
    return found.clamp(max=logp.shape[-1] - 1)


def _uniforms(seed: int) -> Iterator[float]:
    """Yield the random numbers of a request: a counter-based stream keyed by its seed."""
    generator = np.random.Generator(np.random.Philox(key=seed))
    while True:
        yield from generator.random(_DRAWS).tolist()


@dataclass(slots=True, eq=False)
class _Row:
    """A request and what has been sampled for it."""

    request: Request
    sampling: Sampling
    uniforms: Iterator[float]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False

    @property
    def held(self) -> list[int]:
        """The tokens whose keys and values are cached: all but the last one."""
        return [*self.request.prompt, *self.ids[:-1]]

    def is_continued_by(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt is what is held and at least one token more."""
        start, last = self.request.prompt, self.ids[:-1]
        size = len(start) + len(last)
        if len(prompt) <= size:
            return False
        return list(prompt[len(start) : size]) == last and list(prompt[: len(start)]) == list(start)


class HFEngine:
    """Generate with the model object the trainer trains; ``sync`` therefore copies nothing.

    While requests are in flight the model is in evaluation mode and its weights must not change.

    Attributes:
        model: A transformers causal LM or a PEFT model around one.
        exact: Whether all weights are float32 and nothing is autocast. In lower precision decoding
            with a cache and the training forward round differently, by about 1e-2 nats.
        version: Version of the weights.
    """

    name = "hf"

    def __init__(
        self,
        model: PreTrainedModel | PeftModel,
        pad_id: int = 0,
        autocast: torch.dtype | None = None,
        keep_cache: bool = True,
    ) -> None:
        """Wrap a model.

        Args:
            model: A causal LM, possibly with PEFT adapters; each process needs all of its weights.
            pad_id: Id used for padding; any valid id, it is never attended to.
            autocast: Low-precision dtype of the training forward, if it uses one; else None.
            keep_cache: Keep the key-value cache of a conversation from turn to turn, so that a
                turn feeds only new tokens.
        """
        self.model = model
        self.version = 0
        self._pad = pad_id
        self._autocast = autocast
        self._keep = keep_cache
        self._stamp = -1
        self._training: bool | None = None
        self._waiting: list[_Row] = []
        # Whether rows can join and leave a batch: some kinds of cache have no rows.
        self._divisible = KVBatch(model.config, self._device, 0).divisible
        self._forget()
        base = model.get_base_model() if hasattr(model, "get_base_model") else model
        # Most architectures can leave out the logits of all positions but the last.
        self._last_only = "logits_to_keep" in inspect.signature(base.forward).parameters

    @classmethod
    def for_run(cls, model: PreTrainedModel | PeftModel, settings: EngineSettings) -> HFEngine:
        """Make the engine of a run; it has no limits of its own on length or number."""
        autocast = torch.bfloat16 if settings.bf16 else None
        return cls(model, settings.pad_id, autocast)

    @property
    def exact(self) -> bool:
        """Whether log-probabilities equal the training forward's; see ``GenerationEngine``."""
        return self._autocast is None and all(
            parameter.dtype == torch.float32 for parameter in self.model.parameters()
        )

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._waiting) + self._decoding

    @property
    def _device(self) -> torch.device:
        """Where the model's weights live."""
        return next(self.model.parameters()).device

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Take requests in; see ``GenerationEngine.submit``.

        Raises:
            NotSupported: The model's weights are sharded over processes.
        """
        if self._training is None:
            check_whole(self.model)
            self._forget_if_trained()
            self._training = self.model.training
            self.model.eval()
        self._waiting += [_Row(request, sampling, _uniforms(request.seed)) for request in requests]

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Sample one token for every row, after prefilling new rows if enough of them wait."""
        ended: list[tuple[int, Completion]] = []
        if self.running:
            try:
                with torch.no_grad(), self._precision():
                    ended = self._step()
            except BaseException:
                self.abort()
                raise
        self._give_model_back()
        return ended

    def abort(self) -> None:
        """Forget everything in flight, and the cache."""
        self._waiting.clear()
        self._forget()
        self._give_model_back()

    def sync(self, named_params: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Drop the cache: the weights it was computed with have changed in place.

        Raises:
            NotSupported: Requests are in flight.
        """
        require_idle(self)
        self._forget()
        self.version = version

    def rest(self) -> None:
        """Do nothing: the weights are those that train."""

    def close(self) -> None:
        """Free the cache."""
        self.abort()

    # -- what is kept ----------------------------------------------------------------------------

    def _forget(self) -> None:
        """Drop all rows and their cache."""
        self._rows: list[_Row] = []
        self._decoding = 0
        self._batch: KVBatch | None = None
        self._parked: dict[int, tuple[_Row, KVBatch, int]] = {}

    def _forget_if_trained(self) -> None:
        """Drop the cache if a weight was written to since, also when nobody called ``sync``."""
        # torch counts the writes to a tensor, those of an optimiser too.
        stamp = sum(parameter._version for parameter in self.model.parameters())
        if stamp != self._stamp:
            self._forget()
        self._stamp = stamp

    def _give_model_back(self) -> None:
        """Give the model back in the mode it had, once nothing is in flight."""
        if self._training is None or self.running:
            return
        self.model.train(self._training)
        self._training = None
        if not self._keep or not self._divisible:
            self._forget()

    def _precision(self) -> AbstractContextManager[object]:
        """The autocast context of the training forward."""
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self._device.type, self._autocast)

    # -- rows come and go ------------------------------------------------------------------------

    def _step(self) -> list[tuple[int, Completion]]:
        """Feed the rows that run, and with them those that are due; sample for all."""
        due = self._due()
        if due:
            return self._sample(self._admit(due))
        if self._divisible and self._decoding <= LEAVE_SHARE * len(self._rows):
            assert self._batch is not None
            kept = self._kept
            self._arrange([(self._batch, kept, [self._rows[place] for place in kept])])
        return self._sample(self._decode())

    @property
    def _kept(self) -> list[int]:
        """Places of the rows that run."""
        return [place for place, row in enumerate(self._rows) if not row.ended]

    def _due(self) -> list[_Row]:
        """Take the waiting rows that are to be prefilled now: all of one sampling, or none."""
        if not self._waiting:
            return []
        sampling = self._waiting[0].sampling
        if self._decoding:
            running = next(row.sampling for row in self._rows if not row.ended)
            few = len(self._waiting) < ADMIT_SHARE * self._decoding
            if few or not self._divisible or running != sampling:
                return []
        due = [row for row in self._waiting if row.sampling == sampling]
        self._waiting = [row for row in self._waiting if row.sampling != sampling]
        return due

    def _admit(self, due: list[_Row]) -> Tensor:
        """Prefill rows, which join those that run; (B, V) logits of all, in the new order."""
        parts: list[tuple[KVBatch, Sequence[int], list[_Row]]] = []
        outs = []
        for fed in self._found(due):
            if fed[0].batch is None:
                batch = KVBatch(self.model.config, self._device, len(fed))
            else:
                batch = KVBatch.gathered([(one.batch, [one.place]) for one in fed if one.batch])
            outs.append(self._prefill(batch, [one.segment for one in fed]))
            parts.append((batch, range(len(fed)), [one.row for one in fed]))
        self._arrange(parts)
        return outs[0] if len(outs) == 1 else torch.cat(outs)

    def _found(self, due: list[_Row]) -> list[list[_Fed]]:
        """Divide the rows that run and those that are due into forwards, by what is to be fed."""
        places = {row.request.key: place for place, row in enumerate(self._rows)}
        here, parked, fresh = [], [], []
        for place in self._kept:
            row = self._rows[place]
            here.append(_Fed(row, self._batch, place, row.ids[-1:]))
        for row in due:
            key, prompt = row.request.key, row.request.prompt
            ended = places.get(key) if self._divisible else None
            old, batch, at = self._parked.pop(key, (None, None, 0))
            if ended is not None and self._rows[ended].is_continued_by(prompt):
                here.append(_Fed(row, self._batch, ended, prompt[len(self._rows[ended].held) :]))
            elif old is not None and old.is_continued_by(prompt):
                parked.append(_Fed(row, batch, at, prompt[len(old.held) :]))
            else:
                fresh.append(_Fed(row, None, 0, prompt))
        # In the order of the cache: where nothing has changed, nothing is copied.
        cached = sorted(here, key=lambda fed: fed.place) + parked
        if not self._divisible:
            return [fresh]
        return [part for rows in (cached, fresh) for part in _alike(rows)]

    def _arrange(self, parts: list[tuple[KVBatch, Sequence[int], list[_Row]]]) -> None:
        """Make a batch of rows of others, and park the ended ones that nobody continues."""
        old, rows = self._batch, self._rows
        self._rows = [row for _, _, part in parts for row in part]
        taken = {row.request.key for row in self._rows}
        left = [place for place, row in enumerate(rows) if row.request.key not in taken]
        if left and self._divisible:
            assert old is not None
            batch = KVBatch.gathered([(old, left)])
            for at, place in enumerate(left):
                self._parked[rows[place].request.key] = rows[place], batch, at
        self._batch = KVBatch.gathered([(batch, places) for batch, places, _ in parts])
        self._decoding = len(self._rows)
        self._alive = torch.ones((len(self._rows), 1), dtype=torch.long, device=self._device)

    # -- forwards --------------------------------------------------------------------------------

    def _decode(self) -> Tensor:
        """Feed the last token of every row; (B, V) logits."""
        assert self._batch is not None
        # Rows that have ended are fed on, but into holes.
        tokens = torch.tensor([[row.ids[-1]] for row in self._rows], device=self._device)
        return self._forward(self._batch, tokens, self._alive)

    def _prefill(self, batch: KVBatch, segments: Sequence[Sequence[int]]) -> Tensor:
        """Feed the new part of every prompt, left-padded; (B, V) logits of the last position."""
        width = max(len(segment) for segment in segments)
        pads = [width - len(segment) for segment in segments]
        ids = [[self._pad] * pad + list(s) for pad, s in zip(pads, segments, strict=True)]
        begins = torch.tensor(pads, device=self._device)[:, None]
        columns = (torch.arange(width, device=self._device)[None] >= begins).long()  # (B, L)
        return self._forward(batch, torch.tensor(ids, device=self._device), columns)

    def _forward(self, batch: KVBatch, ids: Tensor, columns: Tensor) -> Tensor:
        """One forward over (B, L) ids with the cache; (B, V) logits of the last position."""
        position = batch.append(columns)
        extra = {"logits_to_keep": 1} if self._last_only else {}
        # Position ids count tokens alone: without them the model would count the holes, too.
        out = self.model(
            input_ids=ids,
            attention_mask=batch.mask,
            position_ids=position,
            past_key_values=batch.cache,
            use_cache=True,
            **extra,
        )
        logits: Tensor = out.logits[:, -1]
        return logits

    def _sample(self, logits: Tensor) -> list[tuple[int, Completion]]:
        """Draw one token for every row that runs; return those that have ended with it."""
        sampling = next(row.sampling for row in self._rows if not row.ended)
        logp = distribution(logits, sampling)  # (B, V) float32, in nats
        if sampling.greedy:
            token = logp.argmax(-1)
        else:
            token = draw(logp, [0.0 if row.ended else next(row.uniforms) for row in self._rows])
        chosen = logp.gather(-1, token[:, None])[:, 0]  # (B,)
        ended: list[tuple[int, Completion]] = []
        for row, drawn, logprob in zip(self._rows, token.tolist(), chosen.tolist(), strict=True):
            if row.ended:
                continue
            row.ids.append(drawn)
            row.logprobs.append(logprob)
            stopped = drawn in sampling.stop_ids
            if stopped or len(row.ids) >= row.request.max_tokens:
                row.ended = True
                # A copy: by its ids the row is known when the conversation's next turn comes.
                completion = Completion(list(row.ids), row.logprobs, stopped)
                ended.append((row.request.key, completion))
        if ended:
            self._decoding -= len(ended)
            alive = [[int(not row.ended)] for row in self._rows]
            self._alive = torch.tensor(alive, device=self._device)
        return ended


class _Fed(NamedTuple):
    """A row, where its beginning is cached, and the tokens to be fed behind it."""

    row: _Row
    batch: KVBatch | None
    """Where the keys and values of its beginning are; None: nothing of it is cached."""
    place: int
    """The row of that batch."""
    segment: Sequence[int]
    """At least one token."""


def _alike(rows: list[_Fed]) -> list[list[_Fed]]:
    """Divide rows, in their order, so that short segments are not padded to the longest ones.

    Environments answer now with a page and now with a word. A forward of its own must save more
    tokens of padding than it costs.
    """
    sizes = sorted((len(fed.segment) for fed in rows), reverse=True)
    saved = [(len(sizes) - at) * (sizes[0] - size) for at, size in enumerate(sizes)]
    if not saved or max(saved) < SPLIT_TOKENS:
        return [rows] if rows else []
    size = sizes[saved.index(max(saved))]
    long = [fed for fed in rows if len(fed.segment) > size]
    short = [fed for fed in rows if len(fed.segment) <= size]
    return [*_alike(long), *_alike(short)]
