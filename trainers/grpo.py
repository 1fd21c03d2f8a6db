"""Multi-turn reinforcement learning on ``trl.GRPOTrainer``.

TRL provides the optimiser loop, the clipped losses, PEFT, the reference policy, checkpoints and
distribution. This subclass replaces what it does once per batch: episodes instead of completions
(``rollout_func``), and one advantage per sampled token instead of one per completion. It uses only
what tests/trainers/test_trl_contract.py guards.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from torch import Tensor
from transformers import PrinterCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR
from trl import GRPOTrainer

from trainers.algorithms import Preset, Schedule, get_preset
from trainers.algorithms.presets import SERVES
from trainers.arguments import check_arguments, check_preset
from trainers.batching import bucketed, trains, trimmed
from trainers.collector import Collector, RolloutEvent, TaskSource
from trainers.credit import Credit, assign, check_sampled
from trainers.metrics import rollout_metrics
from trainers.packing import (
    episode_return,
    gather_tokens,
    row_tensors,
    sampled_mask,
    scatter_tokens,
    trl_columns,
)
from trainers.rollouts.budget import Limits
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import GenerationEngine, Sampling
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.runner import Envs, Opening, RolloutRunner
from trainers.rollouts.trajectory import Row, Trajectory, to_rows

__all__ = ["MultiTurnTrainer", "RolloutEvent"]


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
            model: The policy: a causal LM or a path.
            args: From ``trainers.arguments.grpo_arguments``.
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
        mask = sampled_mask(output)
        credit = self._credit(output, everyone, mask)
        offset = sum(t.action_tokens for t in everyone[: rank * len(self._played)])
        local = slice(offset, offset + int(mask.sum()))
        output["advantages"] = scatter_tokens(credit.advantage[local], mask)
        train = scatter_tokens(credit.train[local], mask)
        output["tool_mask"] = output["tool_mask"] * train.to(output["tool_mask"].dtype)
        # Without anything to train all masks are 0, and so is the loss: 0 / 1.
        total = max(1, int(credit.train.sum()))
        output["num_items_in_batch"] = torch.tensor(total, device=mask.device)
        self._report(step, everyone, credit)
        return output

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        """Put rows of like length into the same micro-batch, within those that make an update."""
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        buffered = self._buffered_inputs
        if buffered is not None and buffered is not before:
            size = self.args.gradient_accumulation_steps
            parts = [buffered[at : at + size] for at in range(0, len(buffered), size)]
            self._buffered_inputs: Any = [batch for part in parts for batch in bucketed(part)]
            inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]
        return inputs

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """TRL's loss without the columns, and without the micro-batches, that train nothing.

        TRL's loss gathers figures over processes, so with several of them none may leave it out.
        """
        inputs = trimmed(inputs)
        trained = trains(inputs)
        if trained or self.accelerator.num_processes > 1:
            loss: Tensor = super()._compute_loss(model, inputs)
            return loss if trained else loss * 0.0
        # A forward all the same: distributed wrappers expect every weight to take part.
        return self._logps(inputs, model).sum() * 0.0

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Add the collector's state, before the file that marks a checkpoint as whole."""
        if self.args.should_save:
            folder = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
            self.collector.save(Path(self._get_output_dir(trial=trial)) / folder)
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        """Restore that state with the optimiser's."""
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.collector.load(Path(checkpoint))

    @property
    def _inexact(self) -> bool:
        """Whether sampled log-probabilities are not those of the trainer's policy."""
        return not self.runner.engine.exact or self.top_p < 1.0

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
        if "ref_per_token_logps" in output:
            rebuilt["ref_per_token_logps"] = self._score_reference(rebuilt)
        return rebuilt

    def _logps(self, output: dict[str, Any], model: Any) -> Tensor:
        """(B, T) log-probabilities of the completions under a model."""
        ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
        mask = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
        width = output["completion_ids"].size(1)
        size = self.args.per_device_train_batch_size
        logps: Tensor = self._get_per_token_logps_and_entropies(model, ids, mask, width, size)[0]
        return logps

    @torch.no_grad()
    def _score(self, output: dict[str, Any], model: Any) -> Tensor:
        """``_logps`` without gradients."""
        return self._logps(output, model)

    def _score_reference(self, output: dict[str, Any]) -> Tensor:
        """Log-probabilities under the reference policy: a copy, or the model without adapters."""
        if self.ref_model is not None:
            return self._score(output, self.ref_model)
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            return self._score(output, self.model)

    def _report(self, step: int, everyone: Sequence[Trajectory], credit: Credit) -> None:
        """Log figures, tell the schedule and the listener, and probe the engine now and then."""
        horizon = self.collector.horizon
        metrics = {**rollout_metrics(everyone), **credit.metrics, "rollout/horizon": float(horizon)}
        # The third generation is the first that shows a broken merge of adapters, which begin at 0.
        due = self._probe_every and self._generations % self._probe_every in (0, 2)
        if due:
            exact = self.runner.engine.exact and not (self.args.bf16 or self.args.fp16)
            metrics["sampling/probe_gap"] = self.collector.probe(self._played, exact)
        self._generations += 1
        for name, value in metrics.items():
            self._metrics["train"][name].append(float(value))
        self.collector.observe(step, metrics["rollout/success"])
        if self._on_rollout is not None:
            self._on_rollout(RolloutEvent(step, horizon, self._played, metrics))
