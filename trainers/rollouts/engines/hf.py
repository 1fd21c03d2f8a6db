"""Generation with any transformers causal language model, by continuous batching.

Why not ``model.generate``: it returns log-probabilities of the sampling distribution only by
keeping all logits, takes no generator, drops its cache between turns and lets all rows wait for the
longest; ``generate_batch`` takes more time (``benchmarks/continuous_batching.py``). Here every step
is one forward pass over all rows: new prompts, the next token of running rows, and draft tokens
after it, which the pass verifies. Every row has its own random stream with one number per token, so
drafts change no sample. The log-probabilities equal those of a training forward to <= 1e-5 in fp32.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from trainers.rollouts.engines.base import (
    Completion,
    EngineSettings,
    Request,
    Sampling,
    require_idle,
)
from trainers.rollouts.engines.drafts import Drafts
from trainers.rollouts.engines.forwards import Segment, forward_of
from trainers.rollouts.engines.generation_weights import GenerationWeights
from trainers.rollouts.engines.policy_weights import check_whole
from trainers.rollouts.engines.shared_prefixes import LEAST, shared_length, shared_prefixes

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedModel

__all__ = ["HFEngine", "distribution", "draw"]

MOST_GUESSED = 2
"""Maximum draft tokens of a row that are verified in one forward pass."""
ANCHORS = 64
"""Number of latest prompts that are compared with new ones for a shared prefix."""
BLOCK = 256
"""Tokens of a vocabulary whose probabilities are summed at a time."""
_DRAWS = 64
"""Random numbers made at a time for a request."""


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Return the (B, V) float32 log-probabilities of the sampling distribution.

    They are -inf outside the top k and the nucleus; ``greedy`` leaves the logits unchanged.
    """
    logits = logits.float()
    if sampling.greedy:
        return torch.log_softmax(logits, -1)
    logp = torch.log_softmax(logits / sampling.temperature, -1)
    if 0 < sampling.top_k < logp.shape[-1]:
        least = logp.topk(sampling.top_k, -1).values[:, -1:]  # (B, 1); ties are kept as well
        logp = torch.log_softmax(logp.masked_fill(logp < least, -torch.inf), -1)
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
    # Running sums are float64: in single precision a large vocabulary's tail would be lost. They
    # run over blocks, then within one block: over whole rows they would cost five times as much as
    # the softmax.
    wide = torch.float32 if logp.device.type == "mps" else torch.float64
    padding = -logp.shape[-1] % BLOCK
    masses = logp.exp()
    if padding:
        masses = pad(masses, (0, padding))
    masses = masses.unflatten(-1, (-1, BLOCK))  # (B, blocks, BLOCK)
    ends = masses.sum(-1).to(wide).cumsum(-1)  # (B, blocks)
    point = torch.tensor(uniforms, dtype=wide, device=logp.device)[:, None] * ends[:, -1:]
    block = _first_above(ends, point)  # (B, 1)
    before = torch.where(block > 0, ends.gather(-1, (block - 1).clamp(min=0)), 0.0)
    rows = torch.arange(len(masses), device=logp.device)
    inner = masses[rows, block[:, 0]].to(wide).cumsum(-1)  # (B, BLOCK)
    tokens = (block * BLOCK + _first_above(inner, point - before))[:, 0]
    return tokens.clamp(max=logp.shape[-1] - 1)  # Probabilities that are NaN may point at padding.


def _first_above(sums: Tensor, point: Tensor) -> Tensor:
    """Return the (B, 1) first index at which running sums (B, N) exceed a point (B, 1).

    Where rounding leaves no such index, it is the last one at which the sum rises.
    """
    last_rise = torch.searchsorted(sums, sums[:, -1:].contiguous())
    index = torch.minimum(torch.searchsorted(sums, point, right=True), last_rise)
    return index.clamp(max=sums.shape[-1] - 1)  # Sums of NaN have no order.


class _Uniforms:
    """The random numbers of a request, one for each token: a stream keyed by its seed."""

    def __init__(self, seed: int) -> None:
        """Start without drawn numbers."""
        self._generator = np.random.Generator(np.random.Philox(key=seed))
        self._drawn: list[float] = []

    def of(self, first: int, count: int) -> list[float]:
        """Return the random numbers of some tokens, by position."""
        while len(self._drawn) < first + count:
            self._drawn += self._generator.random(_DRAWS).tolist()
        return self._drawn[first : first + count]


@dataclass(slots=True, eq=False)
class _Row:
    """A request and its tokens so far."""

    request: Request
    sampling: Sampling
    uniforms: _Uniforms
    n_cached: int = 0
    """Number of cached tokens."""
    text: list[int] = field(default_factory=list)
    """Prompt and sampled tokens."""
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Tokens that may still be sampled."""
        return self.request.max_tokens - len(self.logprobs)

    @property
    def ids(self) -> list[int]:
        """The sampled tokens."""
        return self.text[len(self.request.prompt) :]

    def take(
        self,
        drawn: Sequence[tuple[int, float, float]],
        guess: Sequence[int],
        stop_ids: Sequence[int],
    ) -> bool:
        """Accept drawn tokens, up to the first that contradicts its draft.

        Args:
            drawn: Tokens, log-probabilities and entropies: those of the next token, and of one
                after each guessed token.
            guess: The draft tokens.
            stop_ids: Those that end it.

        Returns:
            Whether a stop id was accepted.
        """
        self.n_cached = len(self.text)
        for index, (token, logprob, entropy) in enumerate(drawn):
            self.text.append(token)
            self.logprobs.append(logprob)
            self.entropies.append(entropy)
            if token in stop_ids:
                return True
            if not self.left or index == len(guess) or token != guess[index]:
                break
            self.n_cached += 1
        return False


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
        drafts: int = MOST_GUESSED,
        context: int = 0,
        slots: int = 0,
        copies: bool = True,
    ) -> None:
        """Wrap a model.

        Args:
            model: A causal LM, possibly with PEFT adapters; each process needs all of its weights.
            pad_id: Id used for padding; any valid id, it is never attended to.
            autocast: Low-precision dtype of the training forward, if it uses one; else None.
            keep_cache: Keep the key-value cache of a conversation between turns, so that a turn
                feeds only new tokens.
            drafts: Maximum draft tokens verified in one forward pass; 0: none. Samples do not
                depend on it.
            context: Maximum tokens of prompt and completion together; 0: unknown.
            slots: Maximum sequences at a time; 0: unknown.
            copies: Generate with adapters merged into copies of their base weights, or with cast
                copies, which take memory until ``rest``; a quantized base stays as it is.
        """
        self.model = model
        self.version = 0
        self._autocast = autocast
        self._keep = keep_cache
        self._stamp = -1
        self._training: bool | None = None
        self._waiting: list[_Row] = []
        self._running: list[_Row] = []
        with self._precision():
            self._forward = forward_of(model, pad=pad_id, dtype=autocast, room=(slots, context))
        self._max_drafts = drafts if self._forward.joins else 0
        self._weights = GenerationWeights(model, autocast, copies)
        self._forget()

    @classmethod
    def for_run(cls, model: PreTrainedModel | PeftModel, settings: EngineSettings) -> HFEngine:
        """Make the engine of a run; it has no own limits on length or number of sequences."""
        return cls(model, **cls.run_options(settings))

    @staticmethod
    def run_options(settings: EngineSettings) -> dict[str, Any]:
        """Return the arguments, besides the model, of an engine of a run."""
        return {
            "pad_id": settings.pad_id,
            "autocast": torch.bfloat16 if settings.bf16 else None,
            "context": settings.context,
            "slots": settings.slots,
            "copies": settings.copy_weights,
        }

    @property
    def exact(self) -> bool:
        """Whether log-probabilities equal the training forward's; see ``GenerationEngine``."""
        return self._autocast is None and all(
            parameter.dtype == torch.float32 for parameter in self.model.parameters()
        )

    @property
    def running(self) -> int:
        """Number of requests in flight."""
        return len(self._waiting) + len(self._running)

    @property
    def _device(self) -> torch.device:
        """Device of the model's weights."""
        return next(self.model.parameters()).device

    def submit(self, requests: Sequence[Request], sampling: Sampling) -> None:
        """Submit requests; see ``GenerationEngine.submit``.

        Raises:
            NotSupported: The model's weights are sharded over processes.
        """
        if self._training is None:
            check_whole(self.model)
            self._forget_if_trained()
            self._training = self.model.training
            self.model.eval()
        self._waiting += [
            _Row(request, sampling, _Uniforms(request.seed), text=list(request.prompt))
            for request in requests
        ]

    def advance(self, timeout: float | None = None) -> list[tuple[int, Completion]]:
        """Sample a token for every row, and more where drafts are accepted."""
        completions: list[tuple[int, Completion]] = []
        if self.running:
            try:
                with torch.no_grad(), self._precision(), self._weights.in_use():
                    completions = self._step()
            except BaseException:
                self.abort()
                raise
        self._give_model_back()
        return completions

    def abort(self) -> None:
        """Drop all requests in flight, and the cache."""
        self._waiting.clear()
        self._running.clear()
        self._forget()
        self._give_model_back()

    def sync(self, named_params: Iterable[tuple[str, Tensor]], version: int) -> None:
        """Drop the cache: the weights it was computed with have changed in place.

        Raises:
            NotSupported: Requests are in flight.
        """
        require_idle(self)
        self._forget()
        self._weights.drop()
        self.version = version

    def rest(self) -> None:
        """Free merged and cast copies; the other weights are those being trained."""
        self._weights.drop()

    def close(self) -> None:
        """Free the cache."""
        self.abort()
        self._weights.drop()
        self._forward.close()

    # -- what is kept ----------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget all cached conversations, and the drafts learned from the old weights."""
        self._fed: dict[int, _Row] = {}
        self._anchors: deque[int] = deque(maxlen=ANCHORS)
        self._drafts = Drafts()
        self._forward.forget()

    def _forget_if_trained(self) -> None:
        """Forget them if a weight was modified since, even if ``sync`` was not called."""
        # torch counts in-place writes to a tensor, also those of an optimiser.
        stamp = sum(parameter._version for parameter in self.model.parameters())
        if stamp != self._stamp:
            self._forget()
            self._weights.drop()
        self._stamp = stamp

    def _give_model_back(self) -> None:
        """Restore the model's mode, once nothing is in flight."""
        if self._training is None or self.running:
            return
        self.model.train(self._training)
        self._training = None
        if not self._keep or not self._forward.joins:
            self._forget()

    def _precision(self) -> AbstractContextManager[object]:
        """The autocast context of the training forward."""
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self._device.type, self._autocast)

    # -- rows come and go ------------------------------------------------------------------------

    def _step(self) -> list[tuple[int, Completion]]:
        """Feed running and newly started rows; sample for all."""
        bundles = [[row] for row in self._running] + self._begun(self._due())
        guesses = [self._guess(bundle[0]) for bundle in bundles]
        logits = self._forward.feed(
            [_segment(bundle, guess) for bundle, guess in zip(bundles, guesses, strict=True)]
        )
        self._running = [row for bundle in bundles for row in bundle]
        self._fed.update((row.request.key, row) for row in self._running)
        row_guesses = [
            guess for bundle, guess in zip(bundles, guesses, strict=True) for _ in bundle
        ]
        if len(row_guesses) > len(bundles):
            logits = logits[_repeated(bundles, guesses)]
        return self._sample(row_guesses, logits)

    def _begun(self, due: Sequence[_Row]) -> list[list[_Row]]:
        """Find the cached tokens of each starting row; group rows with equal prompts."""
        bundles: dict[object, list[_Row]] = {}
        for row in due:
            row.n_cached = self._count_cached(row)
            # Equal prompts, those of a group, are fed once; `id` keeps all other rows apart.
            alike = self._forward.joins and not row.n_cached
            bundles.setdefault(tuple(row.text) if alike else id(row), []).append(row)
        if self._forward.joins:
            self._share_prefixes([row for row, *_ in bundles.values() if not row.n_cached])
        return list(bundles.values())

    def _share_prefixes(self, rows: Sequence[_Row]) -> None:
        """Copy prefixes that are already cached; feed prefixes that new prompts share first."""
        for row in rows:
            self._fed.pop(row.request.key, None)  # Its old cache is overwritten.
        for row in rows:
            sources = ((self._shared(row, key), key) for key in self._anchors)
            row.n_cached, source = max(sources, default=(0, 0))
            if row.n_cached:
                self._forward.copy(source, [row.request.key], row.n_cached)
            if len(row.text) - row.n_cached > LEAST:
                self._anchors.append(row.request.key)
        texts = [row.text for row in rows]
        while prefixes := shared_prefixes(texts, [row.n_cached for row in rows]):
            groups = [([rows[row] for row in prefix.prompts], prefix.length) for prefix in prefixes]
            self._forward.feed(
                [
                    Segment(first.request.key, first.n_cached, first.text[first.n_cached : length])
                    for (first, *_), length in groups
                ]
            )
            for (first, *repeats), length in groups:
                keys = [row.request.key for row in repeats]
                self._forward.copy(first.request.key, keys, length)
                for row in (first, *repeats):
                    row.n_cached = length

    def _shared(self, row: _Row, key: int) -> int:
        """Return the length of a prompt's common prefix with a cached row; 0: too short."""
        old = self._fed.get(key)
        if old is None or old.text[:LEAST] != row.text[:LEAST]:
            return 0
        shared = min(shared_length(old.text, row.text), old.n_cached, len(row.text) - 1)
        return shared if shared >= LEAST else 0

    def _due(self) -> list[_Row]:
        """Take the waiting rows that can start now: all with equal sampling settings, or none."""
        if not self._waiting:
            return []
        # One pass draws for all rows alike, so rows with other settings wait until these are done.
        sampling = self._waiting[0].sampling
        if self._running and not (self._forward.joins and self._running[0].sampling == sampling):
            return []
        due = [row for row in self._waiting if row.sampling == sampling]
        self._waiting = [row for row in self._waiting if row.sampling != sampling]
        return due

    def _count_cached(self, row: _Row) -> int:
        """Return how many tokens of a prompt are cached from the conversation's last turn."""
        old, prompt = self._fed.get(row.request.key), row.text
        if old is None or not self._forward.joins:
            return 0
        # The last token must be fed, for its logits.
        return min(shared_length(old.text, prompt), old.n_cached, len(prompt) - 1)

    def _guess(self, row: _Row) -> list[int]:
        """Draft the tokens after the next one."""
        limit = min(self._max_drafts, row.left - 1)
        return self._drafts.guess(row.text, limit) if limit > 0 else []

    def _sample(self, guesses: Sequence[list[int]], logits: Tensor) -> list[tuple[int, Completion]]:
        """Draw tokens for every row, as far as drafts are accepted.

        Returns:
            Key and completion of the finished rows.
        """
        rows = self._running
        sampling = rows[0].sampling
        logp = distribution(logits, sampling)  # (sum of 1 + guesses, V) float32, in nats
        if sampling.greedy:
            token = logp.argmax(-1)
        else:
            # Random numbers belong to a row's positions: neither drafts nor other rows change a
            # sample.
            numbers = [
                number
                for row, guess in zip(rows, guesses, strict=True)
                for number in row.uniforms.of(len(row.logprobs), 1 + len(guess))
            ]
            token = draw(logp, numbers)
        logprobs = logp.gather(-1, token[:, None])[:, 0].tolist()
        entropies = [0.0] * len(logprobs)
        if sampling.entropies:
            # `entr` is 0 at p = 0, where -p log p would be nan.
            entropies = torch.special.entr(logp.exp()).sum(-1).tolist()
        drawn = zip(token.tolist(), logprobs, entropies, strict=True)
        completions: list[tuple[int, Completion]] = []
        for row, guess in zip(rows, guesses, strict=True):
            samples = [next(drawn) for _ in range(1 + len(guess))]
            if (stopped := row.take(samples, guess, sampling.stop_ids)) or not row.left:
                self._drafts.learn(row.request.prompt, row.ids)
                row_entropies = row.entropies if sampling.entropies else []
                out = Completion(row.ids, row.logprobs, stopped, row_entropies)
                completions.append((row.request.key, out))
        if completions:
            keys = {key for key, _ in completions}
            self._running = [row for row in rows if row.request.key not in keys]
        return completions


def _segment(bundle: Sequence[_Row], guess: Sequence[int]) -> Segment:
    """Return the segment to feed for rows with equal prompts, usually one row."""
    first, *bundle_rows = bundle
    tokens = [*first.text[first.n_cached :], *guess]
    twins = [row.request.key for row in bundle_rows]
    return Segment(first.request.key, first.n_cached, tokens, 1 + len(guess), twins)


def _repeated(bundles: Sequence[Sequence[_Row]], guesses: Sequence[Sequence[int]]) -> list[int]:
    """Return the indices of each row's logits, in row order."""
    index: list[int] = []
    start = 0
    for bundle, guess in zip(bundles, guesses, strict=True):
        stop = start + 1 + len(guess)
        index += [*range(start, stop)] * len(bundle)
        start = stop
    return index
