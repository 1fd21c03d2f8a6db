"""The policy of a training: it plays, is scored, and is updated on the rows of a step.

:class:`~trainers.grpo.trainer.MultiTurnTrainer` makes the rows, and calls this in the order of a
step.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from accelerate.utils import DistributedType
from peft import PeftModel
from torch import Tensor, nn
from transformers import PreTrainedModel

from trainers.algorithms.loss import GAP_MEAN
from trainers.algorithms.preset import Preset
from trainers.grpo.advantages import GAP_MAX, behaviour_mode, trained_tokens
from trainers.grpo.batch_trainer import DROPPED, IDLE, BatchTrainer
from trainers.grpo.objective import averaged, late_weights, token_figures, token_losses
from trainers.grpo.step_part import StepRows
from trainers.rollouts.engines.base import Sampling
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.engines.failure import EngineFailure
from trainers.rollouts.engines.gap_probe import PROBE_TOKENS, probe_gap
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.scoring.drift import kl_behaviour
from trainers.rollouts.scoring.forward import TokenForward
from trainers.rollouts.scoring.micro_batches import (
    MicroBatch,
    accumulating,
    micro_batches,
    packed_micro_batches,
)
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask, trimmed
from trainers.rollouts.trajectory import Row, Trajectory

__all__ = ["KL_BEHAVIOUR", "LOST_TOKENS", "PolicyTrainer"]

logger = logging.getLogger(__name__)

KL_BEHAVIOUR = "sampling/kl_behaviour"
"""Name of the divergence from the policy that played to the one after the updates of a step."""
LOST_TOKENS = "updates/lost_tokens"
"""Name of the share of trained tokens left out because their loss is not finite."""
TOKENS = "tokens"
"""Name of the token count among summed metrics."""


class PolicyTrainer(BatchTrainer):
    """Let a policy play, score its tokens, and minimise a preset's loss on them.

    Attributes:
        runner: Plays the episodes with the engine of the behaviour policy.
        preset: Credit, filters and loss.
        full_horizon: Turn budget of ``play``.
        trajectories: Episodes of this process at the present step.
    """

    runner: RolloutRunner
    preset: Preset
    full_horizon: int | None
    trajectories: list[Trajectory]
    _forward: TokenForward
    _weights: EngineWeights
    _micro_tokens: int | None

    # -- playing -----------------------------------------------------------------------------------

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        *,
        greedy: bool = False,
        group_size: int = 1,
        seed: int = 0,
        first: int = 0,
        on_episode: Callable[[], None] = lambda: None,
    ) -> list[Trajectory]:
        """Play episodes with the current policy at the full horizon, without training on them.

        Args:
            tasks: Reset options, one per task.
            greedy: Take the most probable token instead of sampling.
            group_size: Episodes per task.
            seed: Seed of environments and sampling.
            first: Number of the first task, if this process plays part of a longer list.
            on_episode: Called for each episode as it ends.
        """
        with self.times.part("validation"):  # That is what it is between two steps.
            for part in self.parts:
                part.wait_for_envs()
            self._weights.send()
            return self.runner.run(
                tasks,
                horizon=self.full_horizon,
                group_size=group_size,
                groups=range(first, first + len(tasks)),
                first_episode=first * group_size,
                seed=seed,
                sampling=self._sampling(greedy=greedy),
                on_episode=on_episode,
            )

    def _sampling(self, **changes: Any) -> Sampling:
        """How the behaviour policy draws tokens."""
        return Sampling(temperature=self.temperature, top_p=self.top_p, **changes)

    def _probe(self, everyone: Sequence[Trajectory]) -> float:
        """Compare the engine's log-probabilities with those of training.

        Every process takes the same prompts: a forward pass of sharded weights is an act of all.
        """
        self._weights.send()  # An engine that plays a later step has this one's weights then.
        fp32 = self.runner.engine.exact and not (self.args.bf16 or self.args.fp16)
        sampling = self._sampling(max_tokens=PROBE_TOKENS)
        probe = partial(
            probe_gap, self.runner, self._policy, everyone, sampling, self._row_logps, fp32=fp32
        )
        try:
            return probe()
        except EngineFailure as error:
            self.runner.engine.abort()
            self._weights.recover(error)
            return probe()

    # -- log-probabilities -------------------------------------------------------------------------

    def _add_logps(self, rows: StepRows) -> None:
        """3: add log-probabilities of pi_old, where it is not simply mu, and of the reference."""
        batch, tokens = rows.batch, rows.tokens
        # After exact sampling the first update's pi, pi_old and mu are one policy.
        compared = any(part.compares_old for part in self.parts)
        recomputed = self._inexact or self.updates > 1 or compared
        recomputed = recomputed and not self._corrects_late
        # Then pi_old is mu by definition, and its log-probabilities are there.
        if recomputed and self.preset.loss.behave == "ratio":
            batch["old_per_token_logps"] = batch["sampling_per_token_logps"]
            recomputed = False
        listeners = [part.listener for part in self.parts if part.listener is not None]
        if not recomputed and not self._needs_reference and not listeners:
            return
        # Of all sampled tokens, if credit depends on this; else only of those that train.
        if self._credit_reads_policy:
            scored, passes = batch, rows.passes
        else:
            train = tokens.column(trained_tokens(rows.episodes, self.preset, tokens.once))
            scored = {**batch, "tool_mask": batch["tool_mask"] * train}
            passes = self._passes(scored)
        if recomputed or listeners:
            old_logps = self._forward.logps(self.model, scored, passes, listeners)
        if recomputed:
            logprobs = batch["sampling_per_token_logps"]
            batch["old_per_token_logps"] = torch.where(sampled_mask(scored), old_logps, logprobs)
        if self._needs_reference:
            batch["ref_per_token_logps"] = self._forward.reference_logps(self.model, batch, passes)

    def _micro_batches(self, batch: Mapping[str, Tensor]) -> list[MicroBatch]:
        """Divide rows by the budget of tokens, into as many parts in every process."""
        # The loss of a router is a mean over the tokens of rows, with those that they share.
        if not self.aux_loss_enabled and self._forward.packs(self.model):
            return packed_micro_batches(batch, self._micro_tokens, self.accelerator.gather)
        return micro_batches(batch, self._micro_tokens, self.accelerator.gather)

    def _passes(self, batch: Mapping[str, Tensor]) -> list[Tensor]:
        """The indices of the rows of each pass."""
        return [part.rows for part in self._micro_batches(batch)]

    def _row_logps(self, rows: Sequence[Row]) -> list[list[float]]:
        """Log-probabilities of sampled tokens, row by row, as training sees them: all padded."""
        batch = row_tensors(rows, self.runner.chat.pad_id, self.accelerator.device)
        logps, mask = self._forward.logps(self.model, batch), sampled_mask(batch)
        return [row[is_sampled].tolist() for row, is_sampled in zip(logps, mask, strict=True)]

    # -- the loss ----------------------------------------------------------------------------------

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], *_: object, **__: object
    ) -> Tensor:
        """Compute the loss of one update (6); its micro-batches add up to the gradient of all rows.

        TRL treats an update as one micro-batch, but their number depends on the rows. Gradients of
        all but the last are accumulated here; TRL handles the last one.
        """
        parts = self._micro_batches(inputs)
        if "ratio_segments" in inputs and len(parts) > 1:
            inputs = self._with_mean_ratios(model, inputs, [part.rows for part in parts])
        losses, sums = [], []
        for number, part in enumerate(parts, 1):
            last = number == len(parts)
            with nullcontext() if last else accumulating(self.accelerator, model):
                loss, part_sums = self._part_loss(model, trimmed(inputs, part.rows), part.share)
                losses.append(loss if last else self._backward(loss))
            sums.append(part_sums)
        gaps = [part_sums.pop(GAP_MAX) for part_sums in sums if GAP_MAX in part_sums]
        figures = self._means(sums)
        if gaps:
            figures[GAP_MAX] = float(self.accelerator.gather(torch.stack(gaps)).max())
        for name, value in figures.items():
            self._metrics["train"][name].append(value)
        if lost_tokens := figures.get(LOST_TOKENS):
            logger.warning(
                "step %d: %.3g of the tokens of an update are left out, because their loss is not "
                "finite", self.batches + 1, lost_tokens,
            )  # fmt: skip
        # All but the last are detached, their gradients are there: TRL's backward adds the last.
        return torch.stack(losses).sum()

    def _with_mean_ratios(
        self, model: nn.Module, inputs: dict[str, Tensor], parts: Sequence[Tensor]
    ) -> dict[str, Tensor]:
        """6: average the ratio before an update is divided, as a trajectory may straddle the parts.

        It takes one more forward pass.
        """
        logps = self._forward.logps(model, inputs, parts)  # (B, T)
        segments = inputs["ratio_segments"]
        means = averaged(logps - inputs["old_per_token_logps"], segments, sampled_mask(inputs))
        remaining = {name: value for name, value in inputs.items() if name != "ratio_segments"}
        return remaining | {"mean_log_ratios": means}

    def _part_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], share: float = 1.0
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """6: the preset's loss of one micro-batch, and sums of figures over its trained tokens.

        There may be no such token. Its forward pass is made all the same, and its figures count in
        the collective operations: distributed wrappers expect every weight to take part.
        """
        mask = sampled_mask(inputs)  # (B, T) of the tokens that train.
        parts = [part for part in self.parts if part.in_loss]
        scores = self._forward(
            model, inputs, mask, router_loss=self.aux_loss_enabled, states=bool(parts)
        )
        late = {}
        if self._corrects_late:
            mode = behaviour_mode(self.preset, self._inexact)
            weights, late = late_weights(self.preset.loss, mode, scores.logps, inputs, mask)
            inputs = {**inputs, "behaviour_weights": weights}
        terms = token_losses(self.preset.loss, scores, inputs, mask)
        figures = token_figures(self.preset.loss, scores, inputs, mask)
        for part in parts:
            part_terms, part_figures = part.loss_terms(scores, inputs)
            terms, figures = terms + part_terms, {**figures, **part_figures}
        # K' / U, and of that the share of a process, over which gradients are averaged.
        tokens = inputs["num_items_in_batch"] / self.accelerator.num_processes
        tokens = tokens / self.args.steps_per_generation
        # Selected, not multiplied by 0: a padded position may hold a value that is not finite, and
        # so may one token, such as one that the policy excludes; it is not to cost the others.
        finite = mask & terms.isfinite()
        loss = torch.where(finite, terms, 0.0).sum() / tokens
        figures |= {LOST_TOKENS: (mask & ~finite).float(), **late}
        if scores.router_loss is not None:
            # A mean over tokens, of which the micro-batch has a share; rows that fill up have none.
            weight = self.router_aux_loss_coef * share * bool(mask.any())
            loss = loss + weight * scores.router_loss
            figures["router_loss"] = scores.router_loss.detach().expand_as(terms)
        sums = {name: torch.where(mask, values, 0.0).sum() for name, values in figures.items()}
        if GAP_MEAN in late:
            sums[GAP_MAX] = late[GAP_MEAN].max()
        return loss, sums | {TOKENS: mask.sum()}

    def _means(self, sums: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
        """Mean figures of the tokens of several micro-batches in all processes, if there are any.

        Each holds sums over tokens, and their number under :data:`TOKENS`.
        """
        parts = [torch.stack([value.float() for value in figures.values()]) for figures in sums]
        totals = self.accelerator.reduce(torch.stack(parts).sum(0), reduction="sum")
        by_name = dict(zip(sums[0], totals, strict=True))
        count = by_name.pop(TOKENS)
        return {name: float(total / count) for name, total in by_name.items()} if count else {}

    def _backward(self, loss: Tensor) -> Tensor:
        """Add the gradient of a micro-batch to those of its update."""
        deepspeed = self.accelerator.distributed_type == DistributedType.DEEPSPEED
        # The losses are parts of a sum, so nothing must be divided by their number.
        self.accelerator.backward(loss, **({"scale_wrt_gas": False} if deepspeed else {}))
        return loss.detach()

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the drift of the step and its seconds by part to TRL's metrics."""
        if "loss" in logs:  # TRL logs once more at the end of all, without a loss.
            with self.times.part("rest"):
                drift = kl_behaviour(self.trajectories, self._row_logps, self._gather)
            logs[KL_BEHAVIOUR] = drift
            logs["finite"] = float(self.finite and math.isfinite(drift))
            logs[DROPPED], logs[IDLE] = float(self.dropped_updates), float(self.idle_updates)
            logs |= {f"time/{name}": value for name, value in self.times.take().items()}
        super().log(logs, start_time)

    # -- what scoring and loss depend on -----------------------------------------------------------

    @property
    def _policy(self) -> PreTrainedModel | PeftModel:
        """The model being trained, out of its wrappers; PEFT models as they are."""
        return self.accelerator.unwrap_model(self.model)

    @property
    def _lag(self) -> int:
        """Steps that are planned already when one trains."""
        return max((part.lag for part in self.parts), default=0)

    @property
    def _inexact(self) -> bool:
        """Whether sampled log-probabilities are not those of the trainer's policy."""
        rounded = self.args.bf16 or self.args.fp16 or not self.runner.engine.exact
        stale = any(part.plays for part in self.parts)
        return rounded or stale or self.top_p < 1.0

    @property
    def _corrects_late(self) -> bool:
        """Whether pi_old comes from the pass of a batch's only update, and with it c_k.

        Not if credit depends on pi_old, or c_k is that of a trajectory, which a pass may divide.
        """
        loss = self.preset.loss
        by_token = loss.behave_level == "token" and loss.behave != "ratio"
        alone = self._inexact and self.updates == 1
        return alone and by_token and not self._credit_reads_policy

    @property
    def _credit_reads_policy(self) -> bool:
        """Whether advantages depend on log-probabilities or values that the trainer computes."""
        return self._needs_reference or any(part.credit_scores for part in self.parts)

    @property
    def _needs_reference(self) -> bool:
        """Whether credit or loss compare the policy with the one that training began with."""
        return "reference" in self.preset.needs
