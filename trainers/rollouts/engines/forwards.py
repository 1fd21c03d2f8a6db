"""Forward passes of a transformers model over several sequences, with a key-value cache.

``PackedForward`` is for models whose attention function can be replaced, nearly all with full
attention: cache rows stay in place and tokens are packed. ``PaddedForward`` is for the rest, such
as models with sliding windows, whose caches have no separate rows: sequences begin and end
together.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from agentgym.errors import ConfigurationError, NotSupported
from agentgym.support.text_lines import error_line
from trainers.rollouts.engines.kv_rows import KVRows
from trainers.rollouts.engines.policy_weights import base_model, check_whole
from trainers.rollouts.engines.row_attention import ROW_ATTENTION, Fed, RowLayout

if TYPE_CHECKING:
    from transformers import PretrainedConfig

__all__ = [
    "Forward",
    "PackedForward",
    "PaddedForward",
    "Segment",
    "cache_argument",
    "forward_of",
]


CACHE_ARGUMENTS = ("cache", "past_key_values")
"""Names of the cache argument of transformers' forward methods; some versions accept both."""
CLOSE = 0.05
"""Tolerated difference of two forward passes, as a share of the largest logit, in any dtype."""
EXACT = 1e-3
"""The same in float32, where a lost history shows even in a model of random weights."""

logger = logging.getLogger(__name__)


class Segment(NamedTuple):
    """The next tokens of a sequence."""

    key: int
    """Key of the sequence."""
    n_cached: int
    """Cached tokens to keep; later ones are dropped."""
    tokens: Sequence[int]
    """New tokens to feed, at least one."""
    n_logits: int = 1
    """Number of last tokens whose logits are needed."""
    twins: Sequence[int] = ()
    """Other sequences with the same tokens, to which the cache is copied."""


class Forward(Protocol):
    """Feeds sequences to a model and caches their keys and values.

    Attributes:
        joins: Whether sequences can join and leave a running batch, and drop tokens.
    """

    joins: bool

    def feed(self, segments: Sequence[Segment]) -> Tensor:
        """Feed tokens; return the requested logits, (sum of ``n_logits``, V), in segment order."""
        ...

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Copy the first ``count`` cached tokens of a sequence to others, if they can join."""
        ...

    def forget(self) -> None:
        """Forget all sequences."""
        ...

    def close(self) -> None:
        """Forget them, and free their memory."""
        ...


def forward_of(
    model: torch.nn.Module,
    *,
    pad: int,
    dtype: torch.dtype | None = None,
    room: tuple[int, int] = (0, 0),
) -> Forward:
    """Return the better kind of forward that a model allows, tested on a few tokens.

    Args:
        model: A causal language model, possibly with PEFT adapters.
        pad: Any valid token id.
        dtype: Type of keys and values; None: that of the model's keys.
        room: Maximum sequences, and tokens of one, for allocation in advance; 0: unknown.

    Raises:
        ConfigurationError: With either of them the model loses its history.
    """
    base = base_model(model)
    layers = DynamicCache(config=base.config).layers
    has_plain_layers = all(type(layer) is DynamicLayer for layer in layers)
    if has_plain_layers and getattr(base, "_supports_attention_backend", False):
        packed = PackedForward(model, len(layers), dtype, room)
        if _attends_to_rows(model, packed):
            return packed
    padded = PaddedForward(model, pad)
    _check_history(model, padded)
    return padded


@torch.no_grad()
def _attends_to_rows(model: torch.nn.Module, packed: PackedForward) -> bool:
    """Whether a model gives equal logits with row attention; some ignore the attention function."""
    training, texts = model.training, [[0, 1, 2, 1], [2, 0, 1]]
    model.eval()
    try:
        check_whole(model)
        logits = packed.feed([Segment(key, 0, text) for key, text in enumerate(texts)])
    except Exception:  # models fail in many ways with a foreign cache or attention function
        logger.debug("no packed forwards of %s", type(base_model(model)).__name__, exc_info=True)
        return False
    else:
        device = logits.device
        expected = [model(input_ids=torch.tensor([t], device=device)).logits[0, -1] for t in texts]
        return bool((logits - torch.stack(expected)).abs().max() < CLOSE * logits.abs().max())
    finally:
        model.train(training)
        packed.close()


@torch.no_grad()
def _check_history(model: torch.nn.Module, padded: PaddedForward) -> None:
    """Check that a model has the same logits after a cached text as after the whole text.

    A model with a recurrent state may accept the cache argument and ignore it.

    Raises:
        ConfigurationError: It does not.
    """
    # The first ids are often special tokens, such as padding.
    training, texts, later = model.training, [[3, 4, 5, 4], [5, 3, 4]], [4, 5, 3]
    model.eval()
    try:
        check_whole(model)
        logits = padded.feed(_segments(texts))
        for token in later:
            texts = [[*text, token] for text in texts]
            logits = padded.feed(_segments(texts, new=1))
        expected = torch.stack(
            [
                model(input_ids=torch.tensor([text], device=logits.device)).logits[0, -1]
                for text in texts
            ]
        )
        close = EXACT if logits.dtype == torch.float32 else CLOSE
        if bool((logits - expected).abs().max() > close * expected.abs().max()):
            raise _refuse_lost_history(
                type(base_model(model)), "it has other logits than for the whole text"
            )
    except NotSupported:
        return  # Sharded weights cannot be checked, and are never used for generation.
    except ConfigurationError:
        raise
    except Exception as error:  # models fail in many ways with a foreign cache
        reason = f"transformers says: {error_line(error)}"
        raise _refuse_lost_history(type(base_model(model)), reason) from error
    finally:
        model.train(training)
        padded.close()


def cache_argument(model_class: type) -> str:
    """Return the name of the cache argument of a model class's forward method.

    Raises:
        ConfigurationError: It has none: its history is cached differently, or not at all.
    """
    forward: Any = model_class.forward  # type: ignore[attr-defined]
    parameters = inspect.signature(forward).parameters
    for name in CACHE_ARGUMENTS:
        if name in parameters:
            return name
    raise _refuse_lost_history(
        model_class, f"its forward takes no {' and no '.join(CACHE_ARGUMENTS)}"
    )


def _refuse_lost_history(model_class: type, reason: str) -> ConfigurationError:
    """Return the error for a model that loses its history."""
    return ConfigurationError(
        "expected a model that goes on from a cache of transformers exactly as from the whole "
        f"text, got {model_class.__name__}, which keeps its history otherwise ({reason}): use a "
        "model with attention, or --engine vllm if vLLM serves this one"
    )


def _segments(texts: Sequence[Sequence[int]], new: int = 0) -> list[Segment]:
    """Return texts as segments whose last ``new`` tokens are fed; 0: all."""
    return [
        Segment(key, len(text) - new if new else 0, text[-new:] if new else text)
        for key, text in enumerate(texts)
    ]


class PackedForward:
    """Packed tokens, with cache rows in place; see ``row_attention``."""

    joins = True

    def __init__(
        self,
        model: torch.nn.Module,
        layers: int,
        dtype: torch.dtype | None,
        room: tuple[int, int],
    ) -> None:
        """Start without sequences; see :func:`forward_of`."""
        self._model, self._layers, self._dtype, self._capacity = model, layers, dtype, room
        self._configs = _configs(model)
        self._takes_indices = "logits_to_keep" in _parameters(model)
        self._cache_argument = cache_argument(type(base_model(model)))
        self.close()

    def close(self) -> None:
        """Forget all sequences, and free their memory."""
        self._rows = KVRows(self._layers, self._dtype, *self._capacity)
        self._sound = True

    def forget(self) -> None:
        """Forget all sequences; their memory is kept unless it may contain NaN.

        Masks hide old contents, but a hidden NaN would spread.
        """
        if self._sound:
            self._rows.forget()
        else:
            self.close()

    def feed(self, segments: Sequence[Segment]) -> Tensor:
        """Feed tokens to their rows; see :class:`Forward`."""
        places = [self._rows.place(segment.key) for segment in segments]
        twins = [[self._rows.place(key) for key in segment.twins] for segment in segments]
        feds = [
            Fed(place, segment.n_cached, len(segment.tokens))
            for place, segment in zip(places, segments, strict=True)
        ]
        order = sorted(range(len(feds)), key=lambda index: (feds[index].kind, feds[index].place))
        feds = [feds[index] for index in order]
        device = next(self._model.parameters()).device
        self._rows.reserve(feds, device)
        ids = [token for i in order for token in segments[i].tokens]
        position = [n_cached + offset for _, n_cached, size in feds for offset in range(size)]
        ends, end = [0] * len(segments), 0
        for i, fed in zip(order, feds, strict=True):
            end += fed.size
            ends[i] = end
        last = [
            offset
            for segment, end in zip(segments, ends, strict=True)
            for offset in range(end - segment.n_logits, end)
        ]
        last_index = torch.tensor(last, device=device)
        extra = {"logits_to_keep": last_index} if self._takes_indices else {}
        with self._in_rows():
            out = self._model(
                input_ids=torch.tensor([ids], device=device),
                position_ids=torch.tensor([position], device=device),
                use_cache=True,
                layout=RowLayout(feds, device),
                **extra,
                **{self._cache_argument: self._rows.cache},
            )
        for segment, place, twin_places in zip(segments, places, twins, strict=True):
            if twin_places:
                self._rows.copy(place, twin_places, segment.n_cached + len(segment.tokens))
        logits: Tensor = out.logits[0]
        self._sound = self._sound and not bool(logits.sum().isnan())  # A sum keeps a NaN.
        return logits if self._takes_indices else logits[last_index]

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Copy keys and values of the first tokens of a sequence; see :class:`Forward`."""
        place, *places = (self._rows.place(key) for key in (source, *targets))
        self._rows.copy(place, places, count)

    @contextlib.contextmanager
    def _in_rows(self) -> Iterator[None]:
        """Use row attention within the block."""
        implementations = [config._attn_implementation for config in self._configs]
        try:
            for config in self._configs:
                config._attn_implementation = ROW_ATTENTION
            yield
        finally:
            for config, name in zip(self._configs, implementations, strict=True):
                config._attn_implementation = name


class PaddedForward:
    """Left-padded segments; padding stays in the cache, hidden by a mask."""

    joins = False

    def __init__(self, model: torch.nn.Module, pad: int) -> None:
        """Start without sequences."""
        self._model, self._pad = model, pad
        self._cache_argument = cache_argument(type(base_model(model)))
        self._extra = {"logits_to_keep": 1} if "logits_to_keep" in _parameters(model) else {}
        self.forget()

    def forget(self) -> None:
        """Forget all sequences."""
        self._keys: list[int] = []
        self._cache = DynamicCache()

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Always raise: there are no rows to copy.

        Raises:
            NotSupported: Always.
        """
        raise NotSupported("expected a forward whose sequences can join others: feed them whole")

    def close(self) -> None:
        """Forget the sequences; no other memory is held."""
        self.forget()

    def feed(self, segments: Sequence[Segment]) -> Tensor:
        """Start over with all sequences, or feed one token to some of them."""
        device = next(self._model.parameters()).device
        if not segments[0].n_cached:
            self._keys = [segment.key for segment in segments]
            self._cache = DynamicCache(config=base_model(self._model).config)
            self._n_cached = torch.zeros((len(segments), 1), dtype=torch.long, device=device)
            self._mask = torch.zeros((len(segments), 0), dtype=torch.long, device=device)
        tokens = {segment.key: list(segment.tokens) for segment in segments}
        width = max(map(len, tokens.values()))
        # Finished sequences are still fed, but into masked positions.
        fed = [tokens.get(key, []) for key in self._keys]
        ids = torch.tensor([[self._pad] * (width - len(t)) + t for t in fed], device=device)
        begins = torch.tensor([[width - len(t)] for t in fed], device=device)
        columns = (torch.arange(width, device=device)[None] >= begins).long()  # (B, L)
        self._mask = torch.cat([self._mask, columns], 1)
        # Position ids count tokens only: without them the model would count padding, too.
        position = (self._n_cached + columns.cumsum(1) - 1).clamp(min=0)
        self._n_cached = self._n_cached + columns.sum(1, keepdim=True)
        out = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            position_ids=position,
            use_cache=True,
            **self._extra,
            **{self._cache_argument: self._cache},
        )
        places = {key: place for place, key in enumerate(self._keys)}
        logits: Tensor = out.logits[:, -1]
        return logits[[places[segment.key] for segment in segments]]


def _parameters(model: torch.nn.Module) -> Sequence[str]:
    """Names of the parameters of a model's forward method."""
    return list(inspect.signature(base_model(model).forward).parameters)


def _configs(model: torch.nn.Module) -> list[PretrainedConfig]:
    """Every configuration that decides the attention of a model's layers."""
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return [config for config in configs.values() if hasattr(config, "_attn_implementation")]
