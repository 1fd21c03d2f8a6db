"""Multi-turn reinforcement learning on ``trl.GRPOTrainer``.

TRL provides the optimiser loop, the clipped losses, PEFT, checkpoints and distribution. This
subclass replaces what it does once per batch: episodes instead of completions (``rollout_func``),
and one advantage per sampled token instead of one per completion; ``trainers.grpo.objective`` adds
the terms of the loss that TRL does not have. It uses only what test_trl_contract.py guards.
"""

from __future__ import annotations

import copy
import inspect
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer

from trainers.algorithms import Preset, Schedule, get_preset
from trainers.algorithms.loss import ratio_segments
from trainers.algorithms.presets import SERVES
from trainers.grpo.advantages import Credit, assign, check_sampled
from trainers.grpo.arguments import check_arguments, check_preset
from trainers.grpo.batching import bucketed, trains, trimmed
from trainers.grpo.objective import kl_divergence, regulariser, with_averaged_ratio
from trainers.grpo.tensors import (
    episode_return,
    gather_tokens,
    row_tensors,
    sampled_mask,
    scatter_tokens,
    trl_columns,
)
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.collector import Collector, RolloutEvent, TaskSource
from trainers.rollouts.engines.base import Completion, GenerationEngine, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.metrics import rollout_metrics
from trainers.rollouts.runner import Envs, Opening, RolloutRunner
from trainers.rollouts.trajectory import Row, Trajectory, Turn, to_rows

__all__ = ["MultiTurnTrainer", "RolloutEvent"]

logger = logging.getLogger(__name__)

BATCH_FILE = "multi_turn_batch_{}.pt"
"""Where a checkpoint keeps the batch a process was in the middle of, by rank."""


class MultiTurnTrainer(GRPOTrainer):
    """GRPO and its relatives over multi-turn episodes.

    Attributes:
        collector: Tasks, horizon and episodes of each step.
        runner: Plays the episodes; its engine is the policy's.
        preset: Credit, filters and loss.
        group_size: Episodes per task.
        full_horizon: Turn budget of ``play``.
    """

    def __init__(
        self,
        model: Any,
        args: Any,
        *,
        envs: Envs,
        chat: TurnTokenizer,
        tasks: TaskSource,
        horizon: Schedule | int,
        preset: Preset | str = "default",
        limits: Limits | None = None,
        full_horizon: int | None = None,
        group_size: int | None = None,
        engine: GenerationEngine | Callable[[Any], GenerationEngine] | None = None,
        opening: Opening | None = None,
        family: str = "",
        on_rollout: Callable[[RolloutEvent], None] | None = None,
        probe_every: int = 50,
        **kwargs: Any,
    ) -> None:
        """Put a run together.

        Args:
            model: The policy: a causal LM or a path. Its dropout is turned off for good: what is
                trained must be the policy that acted.
            args: From ``trainers.grpo.arguments.grpo_arguments``.
            envs: A ``TextVectorEnv``; as many slots as episodes per step is fastest.
            chat: Turn tokenizer of the policy.
            tasks: Chooses the tasks of each step.
            horizon: Turn budget, a schedule of the step (from 1) or a constant.
            preset: Credit, filters and loss, or the name of a preset. Its ``ignored`` parts are
                left out, with a warning; horizon, group size and updates per batch come from the
                other arguments.
            limits: Token budgets.
            full_horizon: Turn budget of ``play``; None leaves it to the environment.
            group_size: Episodes per task; None: ``args.num_generations``, which TRL wants to be at
                least 2 even for a preset that compares no episodes of a task.
            engine: What generates, or a function that makes it from the (PEFT-wrapped) model;
                None generates with the model itself.
            opening: Makes the first messages of an episode.
            family: Name of the task family.
            on_rollout: Told about every step's episodes.
            probe_every: Generations between two checks of the engine's log-probabilities against
                the model's; 0 turns them off.
            **kwargs: ``callbacks``, ``optimizers``, ``peft_config`` of ``trl.GRPOTrainer``.

        Raises:
            ConfigurationError: The settings would generate twice in a step, or use TRL's vLLM.
            ValueError: The preset needs something this trainer lacks.
        """
        self.preset = get_preset(preset) if isinstance(preset, str) else preset
        check_preset(self.preset, SERVES)
        check_arguments(args)
        self.full_horizon, self.group_size = full_horizon, group_size or args.num_generations
        self._shared: Any = None
        self._on_rollout, self._probe_every = on_rollout, probe_every
        self._played: list[Trajectory] = []
        self._generations = 0
        prompts = max(1, args.generation_batch_size // args.num_generations)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*'rollout_func'.*")
            super().__init__(
                model=model,
                args=args,
                reward_funcs=[episode_return],
                rollout_func=lambda _, self: trl_columns(self._played, chat.pad_id),
                train_dataset=Dataset.from_dict({"prompt": [""] * prompts}),
                processing_class=chat.tokenizer,
                **kwargs,
            )
        self.remove_callback(PrinterCallback)
        policy = self.accelerator.unwrap_model(self.model)
        _turn_off_dropout(policy)
        base = policy.get_base_model() if hasattr(policy, "get_base_model") else policy
        self._takes_positions = "position_ids" in inspect.signature(base.forward).parameters
        # With adapters of the trainer's own the reference is the model without them.
        copied = self._needs_reference and kwargs.get("peft_config") is None
        self._reference = copy.deepcopy(policy).eval().requires_grad_(False) if copied else None
        if engine is None:
            precision = torch.bfloat16 if args.bf16 else torch.float16 if args.fp16 else None
            engine = HFEngine(policy, chat.pad_id, args.seed, autocast=precision)
        elif not isinstance(engine, GenerationEngine):
            engine = engine(policy)
        self.runner = RolloutRunner(envs, chat, engine, limits, opening=opening, family=family)
        self.preset = self.preset.within(self._most_tokens())
        sampling = Sampling(temperature=args.temperature, top_p=args.top_p)
        self.collector = Collector(
            self.runner, policy, tasks, horizon, seed=args.seed, sampling=sampling
        )

    @property
    def updates(self) -> int:
        """Optimiser steps on each batch of episodes."""
        passes = self.args.steps_per_generation * self.args.num_iterations
        return max(1, passes // self.args.gradient_accumulation_steps)

    @property
    def batches(self) -> int:
        """Batches of episodes whose last optimiser step is done."""
        return self.state.global_step // self.updates

    def play(
        self,
        tasks: Sequence[Mapping[str, Any]],
        *,
        greedy: bool = False,
        group_size: int = 1,
        seed: int = 0,
    ) -> list[Trajectory]:
        """Play episodes with the present policy at the full horizon, without learning from them.

        Args:
            tasks: Reset options, one per task.
            greedy: Take the likeliest token instead of sampling.
            group_size: Episodes per task.
            seed: Seed of environments and sampling.

        Returns:
            The trajectories.
        """
        self.collector.sync(self.state.global_step)
        sampling = Sampling(temperature=self.temperature, top_p=self.top_p, greedy=greedy)
        return self.runner.run(
            tasks, horizon=self.full_horizon, group_size=group_size, seed=seed, sampling=sampling
        )

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> Any:
        """Warm up from a share of the rate: at 0, as in transformers, a step trains nothing."""
        made: Any = self.lr_scheduler
        if made is None and self.args.lr_scheduler_type == "constant_with_warmup":
            warmup = max(1, self.args.get_warmup_steps(num_training_steps))
            self.lr_scheduler: Any = LambdaLR(
                optimizer or self.optimizer, lambda step: min(1.0, (step + 1) / warmup)
            )
            self._created_lr_scheduler = True
        return super().create_scheduler(num_training_steps, optimizer)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Play episodes and replace the advantages by one per sampled token, (B, T)."""
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        step = self.batches + 1
        self._played = self.collector.collect(
            step, len(inputs), self.group_size, rank, world, version=self.state.global_step
        )
        everyone = self._gather(self._played)
        check_sampled(everyone)
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        rows = to_rows(self._played)
        uneven = [row.trajectory for row in rows] != list(range(len(self._played)))
        if any(self._gather([uneven])):
            output = self._repack(output, rows)
        if self._inexact and "old_per_token_logps" not in output:
            output["old_per_token_logps"] = self._score(output, self.model)
        if self._needs_reference:
            output["ref_per_token_logps"] = self._score_reference(output)
        mask = sampled_mask(output)
        credit = self._credit(output, everyone, mask)
        before = sum(t.action_tokens for t in everyone[: rank * len(self._played)])
        mine = slice(before, before + sum(t.action_tokens for t in self._played))
        for name, values in self._columns(credit, "old_per_token_logps" in output).items():
            output[name] = scatter_tokens(values[mine], mask)
        output["tool_mask"] = output["tool_mask"] * scatter_tokens(credit.train[mine], mask)
        # Without anything to train all masks are 0, and so is the loss: 0 / 1.
        total = max(1, int(credit.train.sum()))
        output["num_items_in_batch"] = torch.tensor(total, device=mask.device)
        self._report(step, everyone, credit)
        return output

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """Put rows of like length into the same micro-batch, among those of one update."""
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        batches = self._buffered_inputs
        if batches is not None and batches is not before:
            window = self.args.gradient_accumulation_steps
            parts = [bucketed(batches[at : at + window]) for at in range(0, len(batches), window)]
            self._buffered_inputs: Any = [batch for part in parts for batch in part]
            inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]
        return inputs

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """The preset's loss, without the columns, and the micro-batches, that train nothing.

        TRL's loss gathers figures over processes, so with several of them none may leave it out.
        """
        inputs = trimmed(inputs)
        trained = trains(inputs)
        # A forward in any case: distributed wrappers expect every weight to take part.
        forward = self._forward(
            model, inputs, compute_entropy=True, compute_aux_loss=self.aux_loss_enabled
        )
        logps, entropies, _ = forward
        if not trained and self.accelerator.num_processes == 1:
            return logps.sum() * 0.0
        mask = sampled_mask(inputs)
        self._shared = forward
        try:
            loss: Tensor = super()._compute_loss(model, with_averaged_ratio(inputs, logps, mask))
        finally:
            self._shared = None
        if "ref_per_token_logps" in inputs:
            kind = self.preset.loss.kl
            gap = kl_divergence(logps.detach(), inputs["ref_per_token_logps"], kind)
            self._metrics["train"]["kl"].append(self._mean(gap, mask))
        if "token_weights" in inputs:
            extra = regulariser(self.preset.loss, inputs, logps, entropies, mask)
            # TRL's own normaliser: the share of the batch's tokens that falls to one update.
            share = self.current_gradient_accumulation_steps / self.args.steps_per_generation
            tokens = inputs["num_items_in_batch"] * share / self.accelerator.num_processes
            loss = loss + extra / tokens
        return loss if trained else loss * 0.0

    def _mean(self, values: Tensor, mask: Tensor) -> float:
        """Mean of (B, T) values over the true entries of a mask in all processes."""
        sums = torch.stack([values[mask].sum(), mask.sum().to(values.dtype)])
        total, count = self.accelerator.reduce(sums, reduction="sum").tolist()
        return float(total / max(1.0, count))

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        """TRL's forward pass at explicit positions; within a loss, the one its terms share.

        TRL leaves positions to the model. Those that are learned would count the padding.
        """
        if self._shared is not None:
            return self._shared
        if not self._takes_positions:
            return super()._get_per_token_logps_and_entropies(model, *args, **kwargs)

        def forward(**inputs: Any) -> Any:
            positions = (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)
            return model(**inputs, position_ids=positions)

        return super()._get_per_token_logps_and_entropies(forward, *args, **kwargs)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write none: TRL's knows neither the environment nor a model that has no name."""

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Add the collector's state, before the file that marks a checkpoint as whole.

        A batch that makes several updates is added, too, while some of them are still to come.
        """
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        folder = Path(self._get_output_dir(trial=trial)) / name
        if self.args.should_save:
            self.collector.save(folder)
        if self._step % (self.args.steps_per_generation * self.num_iterations):
            folder.mkdir(parents=True, exist_ok=True)
            kept = {"step": self._step, "batches": self._buffered_inputs}
            torch.save(kept, folder / BATCH_FILE.format(self.accelerator.process_index))
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore that state with the optimiser's."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        self.collector.load(Path(checkpoint))
        path = Path(checkpoint) / BATCH_FILE.format(self.accelerator.process_index)
        if path.exists():
            kept = torch.load(path, map_location=self.accelerator.device, weights_only=True)
            self._step, self._buffered_inputs = kept["step"], kept["batches"]

    @property
    def _inexact(self) -> bool:
        """Whether sampled log-probabilities are not those of the trainer's policy."""
        return not self.runner.engine.exact or self.top_p < 1.0

    @property
    def _needs_reference(self) -> bool:
        """Whether credit or loss compare the policy with the one that training began with."""
        return "reference" in self.preset.needs or self.preset.loss.kl_beta > 0

    def _columns(self, credit: Credit, several_updates: bool) -> dict[str, Any]:
        """Packed columns (K,) that the loss needs, by their names in TRL's batch."""
        loss = self.preset.loss
        columns: dict[str, Any] = {"advantages": credit.advantage}
        if loss.kl_beta or loss.entropy:
            columns["token_weights"] = credit.weight
        segments = ratio_segments(credit.batch, loss.ratio)
        if segments is not None and several_updates:
            columns["ratio_segments"] = segments
        return columns

    def _credit(
        self, output: dict[str, Any], everyone: Sequence[Trajectory], mask: Tensor
    ) -> Credit:
        """Credit of the sampled tokens of all processes."""
        packed = {}
        for name in ("old_per_token_logps", "ref_per_token_logps"):
            if name in output:
                local = gather_tokens(output[name], mask).tolist()
                packed[name] = torch.tensor(self._gather(local)).double().numpy()
        reference = packed.get("ref_per_token_logps")
        return assign(
            everyone,
            self.preset,
            aux=None if reference is None else {"logp_ref": reference},
            logp_old=packed.get("old_per_token_logps"),
            correct=self._inexact,
        )

    def _most_tokens(self) -> int:
        """The most action tokens that an episode may have."""
        limits, turns = self.runner.limits, self.full_horizon
        episode = limits.episode_tokens
        return min(limits.turn_tokens * turns, episode) if turns else episode

    def _gather(self, items: list[Any]) -> list[Any]:
        """The items of all processes, in rank order."""
        return gather_object(items) if self.accelerator.num_processes > 1 else items

    def _repack(self, output: dict[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
        """Rebuild a batch with no row or several for a trajectory; as large in all processes."""
        parts, pad = self.args.steps_per_generation, self.runner.chat.pad_id
        least = max(1, *self._gather([len(rows)]))
        rebuilt = {**output, **row_tensors(rows, pad, self.accelerator.device, parts, least)}
        if "old_per_token_logps" in output:
            rebuilt["old_per_token_logps"] = self._score(rebuilt, self.model)
        return rebuilt

    def _forward(self, model: Any, output: dict[str, Any], **options: Any) -> Any:
        """Log-probabilities and entropies (B, T) of the completions, and MoE's auxiliary loss."""
        ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
        mask = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
        width = output["completion_ids"].size(1)
        return self._get_per_token_logps_and_entropies(model, ids, mask, width, **options)

    @torch.no_grad()
    def _score(self, output: dict[str, Any], model: Any) -> Tensor:
        """(B, T) log-probabilities of the completions under a model, without gradients."""
        size = self.args.per_device_train_batch_size
        logps: Tensor = self._forward(model, output, batch_size=size)[0]
        return logps

    def _score_reference(self, output: dict[str, Any]) -> Tensor:
        """Log-probabilities under the reference policy: a copy, or the model without adapters."""
        if self._reference is not None:
            return self._score(output, self._reference)
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            return self._score(output, self.model)

    def _training_logps(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Completion]
    ) -> list[list[float]]:
        """Log-probabilities of completions as training sees them: in one padded batch."""
        turns = [
            Turn(list(prompt), completion.ids, completion.logprobs, fresh=True)
            for prompt, completion in zip(prompts, completions, strict=True)
        ]
        rows = to_rows([Trajectory(turns=[turn]) for turn in turns])
        batch = row_tensors(rows, self.runner.chat.pad_id, self.accelerator.device)
        logps = self._score(batch, self.model)
        return [row[held].tolist() for row, held in zip(logps, sampled_mask(batch), strict=True)]

    def _report(self, step: int, everyone: Sequence[Trajectory], credit: Credit) -> None:
        """Log figures, tell the schedule and the listener, and probe the engine now and then."""
        horizon = self.collector.horizon
        metrics = {**rollout_metrics(everyone), **credit.metrics, "rollout/horizon": float(horizon)}
        # The third generation is the first that shows a broken merge of adapters, which begin at 0.
        due = self._probe_every and self._generations % self._probe_every in (0, 2)
        if due:
            exact = self.runner.engine.exact and not (self.args.bf16 or self.args.fp16)
            metrics["sampling/probe_gap"] = self.collector.probe(
                self._played, exact, self._training_logps
            )
        self._generations += 1
        for name, value in metrics.items():
            self._metrics["train"][name].append(float(value))
        self.collector.observe(step, metrics["rollout/success"])
        if self._on_rollout is not None:
            self._on_rollout(RolloutEvent(step, horizon, self._played, metrics))


def _turn_off_dropout(model: torch.nn.Module) -> None:
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
        logger.warning(
            "dropout is turned off: the policy that is trained must be the one that acts"
        )


def _is_dropout(module: torch.nn.Module, name: str) -> bool:
    """Whether an attribute is the rate of a dropout layer."""
    return name == "p" and isinstance(module, torch.nn.modules.dropout._DropoutNd)
