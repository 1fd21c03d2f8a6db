"""The training forward: log-probabilities of tokens under the policy, or under its reference.

It equals the sampler's forward, without dropout and at the same positions: the trained policy must
be the policy that acted, otherwise ratios and gradients are wrong without any error. Only the
requested tokens are projected onto the vocabulary, in tiles. Prefixes that rows share are computed
once, where the model's attention allows it (:mod:`~trainers.rollouts.scoring.packed_rows`).
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from trl.kernels.chunked_logprob import TOKEN_CHUNK_SIZE
from trl.models.utils import disable_gradient_checkpointing
from trl.trainer import utils as trl_utils

from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.scoring.packed_rows import (
    PackedRows,
    computes_packed_rows,
    gathered_states,
    longest_row,
    pack,
    report_single_rows,
)
from trainers.rollouts.scoring.tensors import left_aligned, row_inputs, sampled_mask, trimmed

__all__ = [
    "Scores",
    "StateListener",
    "TokenForward",
    "adapters_in_fp32",
    "head_of_chosen_tokens",
    "turn_off_dropout",
]

logger = logging.getLogger(__name__)

MIB = 2**20
CPU_TILE = 4 * MIB
"""Bytes of a tile of logits on a CPU, whose cache it fits in: the head is twice as fast."""
StateListener = Callable[[Tensor, Tensor, Tensor], None]
"""Called for each pass with (n,) indices of the rows, (n, T') mask of their tokens, and (n, T', H)
hidden states."""


class Scores(NamedTuple):
    """A model's scores of the tokens of a batch, (B, T); 0 at tokens that were not requested."""

    logps: Tensor
    """(B, T) log-probabilities at the run's temperature, in nats."""
    entropies: Tensor
    """(B, T) entropies of the distributions that the tokens were drawn from, in nats."""
    router_loss: Tensor | None = None
    """() load-balancing loss of a mixture of experts."""
    states: Tensor | None = None
    """(B, T, H) final hidden states of those distributions; None: not requested."""


class TokenForward:
    """Score the tokens of a batch.

    Attributes:
        reference: The initial policy, if it has to be a copy; else None.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        policy: nn.Module,
        *,
        logits_mib: int,
        copies_policy: bool = False,
        shared_prefixes: bool = True,
    ) -> None:
        """Prepare the forward of a model that TRL has given its fused head.

        Args:
            accelerator: The trainer's accelerator, which determines the precision.
            policy: The model that is trained, wrapped by PEFT or not.
            logits_mib: Maximum memory for logits: they are computed in tiles of this size, once
                forward and once backward.
            copies_policy: Keep a copy of the policy as the reference.
            shared_prefixes: Compute prefixes that rows share once, if the model allows it.
        """
        self._accelerator = accelerator
        self._logits_bytes = logits_mib * MIB
        self._vocabulary = int(base_model(policy).config.get_text_config().vocab_size)
        self._longest = longest_row(policy)
        self._packs: bool | None = None if shared_prefixes else False  # None: not known yet.
        # Copied now, while the weights are those that training starts from.
        self.reference = (
            copy.deepcopy(policy).eval().requires_grad_(False) if copies_policy else None
        )

    def __call__(
        self,
        model: nn.Module,
        batch: Mapping[str, Tensor],
        scored: Tensor,
        *,
        router_loss: bool = False,
        states: bool = False,
    ) -> Scores:
        """Score the tokens of the completions (B, T) where ``scored`` is true.

        Args:
            model: The policy, in the wrappers of distributed training or not, or its reference.
            batch: Prompts, completions and their masks, under TRL's names.
            scored: (B, T) mask.
            router_loss: Also compute the load-balancing loss of a mixture of experts.
            states: Also return the hidden states.
        """
        ids, mask, labels, columns = left_aligned(batch, scored)
        fits = ids.shape[1] <= self._longest
        if self._packs is not False and (router_loss or not fits):
            report_single_rows(
                "a router's loss is a mean over the tokens of rows"
                if router_loss
                else f"a layer attends to {self._longest:,} tokens at most"
            )
        elif self.packs(model):
            packed = pack(row_inputs(ids, labels), labels)
            if packed is not None:
                return self._packed_scores(model, packed, scored, states)
        # Causality hides padding on the right, and the fastest attention takes no mask.
        extra: dict[str, Tensor | bool] = {}
        if router_loss:  # It must count tokens, not padding.
            extra = {"output_router_logits": True, "attention_mask": mask}
        final_states: list[Tensor] = []
        collecting = _final_states(model, final_states) if states else nullcontext()
        with self._accelerator.autocast(), self._head(labels.numel()), collecting:
            out = model(input_ids=ids, labels=labels, fused_lm_head=True, **extra)
        aux = out.aux_loss if router_loss else None
        # What is said about a token stands at the one before it. Columns beyond those that the head
        # has, W - 1, are padding.
        places = (columns - 1).clamp(max=ids.shape[1] - 2)
        logps, entropies = (
            torch.where(scored, values.gather(1, places), 0.0)
            for values in (out.log_probs, out.entropy)
        )
        if not states:
            return Scores(logps, entropies, aux)
        hidden = places[..., None].expand(-1, -1, final_states[-1].shape[-1])
        return Scores(logps, entropies, aux, final_states[-1].gather(1, hidden))

    def packs(self, model: nn.Module) -> bool:
        """Whether shared prefixes are computed once; tested on a few tokens at the first call.

        All processes must call it at the same point, because a pass with sharded weights is
        collective.
        """
        if self._packs is None:
            # Checkpointing would warn that there is no gradient.
            with disable_gradient_checkpointing(model), self._accelerator.autocast():
                self._packs = computes_packed_rows(model, fused_head=True)
        return self._packs

    def _packed_scores(
        self, model: nn.Module, packed: PackedRows, scored: Tensor, states: bool
    ) -> Scores:
        """Score tokens (B, T) where ``scored`` is true, of rows that share prefixes."""
        with (
            self._accelerator.autocast(),
            self._head(len(packed.labels)),
            gathered_states(model, packed.sources) as gathered,
        ):
            out = model(**packed.inputs(), shift_labels=packed.labels[None], fused_lm_head=True)

        def column(values: Tensor) -> Tensor:
            """Scatter values (P,) of the scored pairs to their tokens, (B, T)."""
            spread = torch.zeros(scored.shape, dtype=values.dtype, device=values.device)
            # Both run row by row: the k-th true entry is the k-th scored token.
            return spread.masked_scatter(scored, values[packed.pairs])

        logps, entropies = column(out.log_probs[0]), column(out.entropy[0])
        if not states:
            return Scores(logps, entropies)
        hidden = gathered[-1][packed.pairs]  # (K, H)
        spread = torch.zeros((*scored.shape, hidden.shape[-1]), dtype=hidden.dtype)
        spread = spread.to(hidden.device).masked_scatter(scored[..., None], hidden)
        return Scores(logps, entropies, states=spread)

    @torch.no_grad()
    def logps(
        self,
        model: nn.Module,
        batch: Mapping[str, Tensor],
        parts: Sequence[Tensor] | None = None,
        listeners: Sequence[StateListener] = (),
    ) -> Tensor:
        """Compute the log-probabilities (B, T) of sampled tokens without gradients.

        Args:
            model: The policy, or its reference.
            batch: Rows under TRL's names.
            parts: Indices of the rows of each pass; the other rows are left out. None: all rows in
                one pass, with all of their padding.
            listeners: Receive the hidden states of each pass.
        """
        shape, device = batch["completion_ids"].shape, batch["completion_ids"].device
        out = torch.zeros(shape, device=device)  # (B, T)
        # Checkpointing would warn that there is no gradient.
        with disable_gradient_checkpointing(model):
            for rows in parts or [torch.arange(shape[0], device=device)]:
                part = trimmed(batch, rows) if parts else batch
                mask = sampled_mask(part)
                scores = self(model, part, mask, states=bool(listeners))
                out[rows, : scores.logps.shape[1]] = scores.logps.float()
                for hear in listeners if scores.states is not None else ():
                    hear(rows, mask, scores.states)
        return out

    def reference_logps(
        self,
        policy: nn.Module,
        batch: Mapping[str, Tensor],
        parts: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """Compute log-probabilities of the reference: the copy, or the policy without adapters."""
        if self.reference is not None:
            return self.logps(self.reference, batch, parts)
        with self._accelerator.unwrap_model(policy).disable_adapter():
            return self.logps(policy, batch, parts)

    def _head(self, tokens: int) -> AbstractContextManager[None]:
        """Let the head process tiles of chosen tokens."""
        return head_of_chosen_tokens(
            self._accelerator, tokens, self._vocabulary, self._logits_bytes
        )


@contextmanager
def head_of_chosen_tokens(
    accelerator: Accelerator, tokens: int, vocabulary: int, limit: int = 256 * MIB
) -> Iterator[None]:
    """Let TRL's fused head take tiles of at most the stated size, of chosen tokens alone.

    Its width is a constant, made for one size of GPU, and without Triton it scores every position.
    Both are read at each call; test_trl_contract.py guards their names.

    Args:
        accelerator: Determines precision and device.
        tokens: Number of tokens that may be chosen.
        vocabulary: Number of logits of a token.
        limit: Maximum bytes of logits.
    """
    size = 2 if accelerator.mixed_precision in ("bf16", "fp16") else 4
    if accelerator.device.type == "cpu":
        limit = min(limit, CPU_TILE)
    columns = limit // (size * max(1, min(tokens, TOKEN_CHUNK_SIZE)))
    width = max(1, min(columns, vocabulary))
    replacements = {"_CHUNKED_LOGPROB_CHUNK_SIZE": width, "_use_triton": lambda device: True}
    originals = {name: getattr(trl_utils, name) for name in replacements}
    vars(trl_utils).update(replacements)
    try:
        yield
    finally:
        vars(trl_utils).update(originals)


@contextmanager
def _final_states(model: nn.Module, states: list[Tensor]) -> Iterator[None]:
    """Collect the final hidden states of a model's backbone in the passes of a block."""
    handle = base_model(model).base_model.register_forward_hook(
        lambda module, inputs, output: states.append(output.last_hidden_state)
    )
    try:
        yield
    finally:
        handle.remove()


def turn_off_dropout(model: nn.Module) -> None:
    """Set every dropout rate of a model to 0; some attention keeps its rate as a plain number."""
    rates = [
        (module, name)
        for module in model.modules()
        for name, value in vars(module).items()
        if isinstance(value, float)
        and value > 0.0
        and ("drop" in name or _is_dropout(module, name))
    ]
    for module, name in rates:
        setattr(module, name, 0.0)
    if rates:
        logger.warning("dropout is turned off: the trained policy must be the one that acts")


def adapters_in_fp32(model: nn.Module) -> None:
    """Make adapters over a quantised base float32 again, which TRL has made bfloat16."""
    quantized = any(getattr(model, f"is_loaded_in_{bits}bit", False) for bits in (4, 8))
    for parameter in model.parameters():
        if quantized and parameter.requires_grad:
            parameter.data = parameter.data.float()


def _is_dropout(module: nn.Module, name: str) -> bool:
    """Whether an attribute is the rate of a dropout layer."""
    return name == "p" and isinstance(module, torch.nn.modules.dropout._DropoutNd)
