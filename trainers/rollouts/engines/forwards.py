"""Forwards of a transformers model over several sequences, with their keys and values kept.

``PackedForward`` is for models whose attention can be exchanged, which is nearly all that have full
attention: rows stay in place and tokens are packed. ``PaddedForward`` is for the rest, such as
those with sliding windows, whose caches have no rows to give: sequences begin and end together.
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
"""Names under which forwards of transformers take a cache; some versions take both."""
CLOSE = 0.05
"""Share of the largest logit by which two forwards may differ, in bfloat16, too."""
EXACT = 1e-3
"""The same in float32, where a lost history shows even in a model of random weights."""

logger = logging.getLogger(__name__)


class Segment(NamedTuple):
    """The next tokens of a sequence."""

    key: int
    """Names the sequence."""
    n_cached: int
    """Tokens of it that are kept; what was fed behind them is given up."""
    tokens: Sequence[int]
    """At least one, to be fed behind those."""
    n_logits: int = 1
    """Last tokens whose logits are wanted."""
    twins: Sequence[int] = ()
    """Other sequences that begin with all of it, to which it is copied."""


class Forward(Protocol):
    """Feeds sequences to a model and keeps their keys and values.

    Attributes:
        joins: Whether sequences can join others, leave them, and give tokens up.
    """

    joins: bool

    def feed(self, segments: Sequence[Segment]) -> Tensor:
        """Feed tokens; returns (sum of wanted, V) logits, in the order of the segments."""
        ...

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Let sequences begin with the first ``count`` tokens of another, if they can join."""
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
    most: tuple[int, int] = (0, 0),
) -> Forward:
    """Return the better of the two that a model allows, of which a few tokens tell.

    Args:
        model: A causal language model, possibly with PEFT adapters.
        pad: Any valid token id.
        dtype: Type of keys and values; None: that of the model's keys.
        most: Sequences, and tokens of one, beyond which no memory is put by; 0: unknown.

    Raises:
        ConfigurationError: With either of them the model loses what it has read.
    """
    base = base_model(model)
    layers = DynamicCache(config=base.config).layers
    plain = all(type(layer) is DynamicLayer for layer in layers)
    if plain and getattr(base, "_supports_attention_backend", False):
        packed = PackedForward(model, len(layers), dtype, most)
        if _attends_to_rows(model, packed):
            return packed
    padded = PaddedForward(model, pad)
    _check_history(model, padded)
    return padded


@torch.no_grad()
def _attends_to_rows(model: torch.nn.Module, packed: PackedForward) -> bool:
    """Whether a model attends to rows as to a batch; some have an attention of their own."""
    training, texts = model.training, [[0, 1, 2, 1], [2, 0, 1]]
    model.eval()
    try:
        check_whole(model)
        logits = packed.feed([Segment(key, 0, text) for key, text in enumerate(texts)])
    except Exception:  # whatever a model says to a cache or an attention that is not its own
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

    A model with a state instead of keys and values may take the cache, and ignore it.

    Raises:
        ConfigurationError: It does not.
    """
    # The first ids are often special ones, such as that of padding.
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
        return  # Sharded weights cannot be checked, and nothing generates with them.
    except ConfigurationError:
        raise
    except Exception as error:  # whatever a model says to a cache that is not its own
        reason = f"transformers says: {error_line(error)}"
        raise _refuse_lost_history(type(base_model(model)), reason) from error
    finally:
        model.train(training)
        padded.close()


def cache_argument(model_class: type) -> str:
    """Return the name under which the forward of a class of models takes a cache.

    Raises:
        ConfigurationError: It takes none: its history is kept otherwise, or not at all.
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
    """Return the refusal of a model whose history is lost."""
    return ConfigurationError(
        "expected a model that goes on from a cache of transformers exactly as from the whole "
        f"text, got {model_class.__name__}, which keeps its history otherwise ({reason}): use a "
        "model with attention, or --engine vllm if vLLM serves this one"
    )


def _segments(texts: Sequence[Sequence[int]], new: int = 0) -> list[Segment]:
    """Return texts as segments, of which the last tokens are new; 0: all."""
    return [
        Segment(key, len(text) - new if new else 0, text[-new:] if new else text)
        for key, text in enumerate(texts)
    ]


class PackedForward:
    """Tokens one behind the other, rows in place; see ``row_attention``."""

    joins = True

    def __init__(
        self,
        model: torch.nn.Module,
        layers: int,
        dtype: torch.dtype | None,
        most: tuple[int, int],
    ) -> None:
        """Begin without sequences; see :func:`forward_of`."""
        self._model, self._layers, self._dtype, self._most = model, layers, dtype, most
        self._configs = _configs(model)
        self._takes_indices = "logits_to_keep" in _parameters(model)
        self._cache_argument = cache_argument(type(base_model(model)))
        self.close()

    def close(self) -> None:
        """Forget all sequences, and free their memory."""
        self._rows = KVRows(self._layers, self._dtype, *self._most)
        self._sound = True

    def forget(self) -> None:
        """Forget all sequences; their memory is kept, unless it may hold what is no number.

        Masks hide what others have left behind, but a hidden NaN would spread.
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
        order = sorted(range(len(feds)), key=lambda at: (feds[at].kind, feds[at].place))
        feds = [feds[at] for at in order]
        device = next(self._model.parameters()).device
        self._rows.reserve(feds, device)
        ids = [token for i in order for token in segments[i].tokens]
        position = [n_cached + at for _, n_cached, size in feds for at in range(size)]
        ends, end = [0] * len(segments), 0
        for i, fed in zip(order, feds, strict=True):
            end += fed.size
            ends[i] = end
        last = [
            at
            for segment, end in zip(segments, ends, strict=True)
            for at in range(end - segment.n_logits, end)
        ]
        where = torch.tensor(last, device=device)
        extra = {"logits_to_keep": where} if self._takes_indices else {}
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
        self._sound = self._sound and not bool(logits.isnan().any())
        return logits if self._takes_indices else logits[where]

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Copy keys and values of the first tokens of a sequence; see :class:`Forward`."""
        place, *places = (self._rows.place(key) for key in (source, *targets))
        self._rows.copy(place, places, count)

    @contextlib.contextmanager
    def _in_rows(self) -> Iterator[None]:
        """Let the model attend to rows, and afterwards as before."""
        before = [config._attn_implementation for config in self._configs]
        try:
            for config in self._configs:
                config._attn_implementation = ROW_ATTENTION
            yield
        finally:
            for config, name in zip(self._configs, before, strict=True):
                config._attn_implementation = name


class PaddedForward:
    """Segments left-padded to one width; padding stays in the cache as holes that a mask hides."""

    joins = False

    def __init__(self, model: torch.nn.Module, pad: int) -> None:
        """Begin without sequences."""
        self._model, self._pad = model, pad
        self._cache_argument = cache_argument(type(base_model(model)))
        self._extra = {"logits_to_keep": 1} if "logits_to_keep" in _parameters(model) else {}
        self.forget()

    def forget(self) -> None:
        """Forget all sequences."""
        self._keys: list[int] = []
        self._cache = DynamicCache()

    def copy(self, source: int, targets: Sequence[int], count: int) -> None:
        """Refuse: there are no rows.

        Raises:
            NotSupported: Always.
        """
        raise NotSupported("expected a forward whose sequences can join others: feed them whole")

    def close(self) -> None:
        """Forget them: nothing is put by."""
        self.forget()

    def feed(self, segments: Sequence[Segment]) -> Tensor:
        """Begin with all sequences anew, or feed one token to some of them."""
        device = next(self._model.parameters()).device
        if not segments[0].n_cached:
            self._keys = [segment.key for segment in segments]
            self._cache = DynamicCache(config=base_model(self._model).config)
            self._n_cached = torch.zeros((len(segments), 1), dtype=torch.long, device=device)
            self._mask = torch.zeros((len(segments), 0), dtype=torch.long, device=device)
        tokens = {segment.key: list(segment.tokens) for segment in segments}
        width = max(map(len, tokens.values()))
        # Sequences that have ended are fed on, but into holes.
        fed = [tokens.get(key, []) for key in self._keys]
        ids = torch.tensor([[self._pad] * (width - len(t)) + t for t in fed], device=device)
        begins = torch.tensor([[width - len(t)] for t in fed], device=device)
        columns = (torch.arange(width, device=device)[None] >= begins).long()  # (B, L)
        self._mask = torch.cat([self._mask, columns], 1)
        # Position ids count tokens alone: without them the model would count the holes, too.
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
        at = {key: place for place, key in enumerate(self._keys)}
        logits: Tensor = out.logits[:, -1]
        return logits[[at[segment.key] for segment in segments]]


def _parameters(model: torch.nn.Module) -> Sequence[str]:
    """Names of what a model's forward takes."""
    return list(inspect.signature(base_model(model).forward).parameters)


def _configs(model: torch.nn.Module) -> list[PretrainedConfig]:
    """Every configuration from which a layer of a model reads how it attends."""
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}
    return [config for config in configs.values() if hasattr(config, "_attn_implementation")]
