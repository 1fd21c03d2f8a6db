"""One training step of multi-turn reinforcement learning, from the tasks to the optimiser.

The policy ``pi`` takes steps s = 1, 2, ... Each plays a batch of episodes and is updated on it:

1. Tasks. The task source chooses N / G tasks that fit the horizon h(s), the maximum number of
   turns.
2. Episodes. The behaviour policy ``mu``, an engine with the weights of ``pi``, plays each task G
   times: a group. In turn t it reads a context, samples the tokens a_tk of an action, and earns
   r_t. Task, horizon or token budget end the trajectory.
3. Rows. A trajectory is one sequence of tokens, or several if its history was rewritten. pi_old,
   and a reference policy if the preset has one, give each sampled token k its log-probability;
   parts of the preset's method add columns of their own.
4. Credit. Each sampled token gets an advantage A_k: a signal minus a baseline. By default the
   return-to-go R_it = sum_{u >= t} r_iu of its turn t in trajectory i, minus the mean of R_jt over
   the other members j of the group, 0 if they have ended. Filters select the trajectories that
   train.
5. Weights. Each token has a weight w_k of the aggregation (1 for the mean over the K' tokens that
   train) and an importance weight c_k, min(pi_old / mu, C) where mu is not exact, else 1.
6. Updates. For each of U minibatches, ``iterations`` times over, one optimiser step on

       L = U/K' sum_k w_k (-c_k min(rho_k A_k, clip(rho_k, 1 - low, 1 + high) A_k) + KL - entropy),

   where rho_k = pi / pi_old of the token, or its geometric mean over a turn or a trajectory.

A preset (``trainers.algorithms.presets``) names signal, baseline, filters, aggregation and clip.
The loss is one function, ``trainers.grpo.objective.token_losses``. TRL provides the optimiser loop,
PEFT, checkpoints, distribution and a fused head. What only some methods do is in
``parts`` (:mod:`~trainers.grpo.step_part`). It calls ``_generate_and_score_completions`` once
per batch (1 to 5) and ``compute_loss`` for every update (6, in the base class,
``trainers.grpo.policy_trainer``). These two are overridden, and only the interface is used that
test_trl_contract.py checks.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from torch import Tensor, nn
from transformers import PreTrainedModel
from trl import GRPOConfig

from agentgym.conversation import Prompt
from trainers.algorithms.needs import JUDGE
from trainers.algorithms.preset import Preset
from trainers.algorithms.presets import get_preset, served
from trainers.algorithms.schedule import Constant, Schedule
from trainers.grpo.advantages import Credit, assign_credit, check_sampled, loss_columns
from trainers.grpo.minibatches import MINIBATCH, minibatch_of_episodes, minibatch_of_rows
from trainers.grpo.policy_trainer import PolicyTrainer
from trainers.grpo.step_part import (
    MakeStepPart,
    PlayedStep,
    StepContext,
    StepRows,
    make_parts,
)
from trainers.rollouts.budget import TokenBudget
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.engines.base import GenerationEngine
from trainers.rollouts.engines.engine_weights import EngineWeights
from trainers.rollouts.engines.hf import HFEngine
from trainers.rollouts.engines.hf_copy import HFCopyEngine
from trainers.rollouts.episode_figures import episode_figures
from trainers.rollouts.rollout_event import RolloutEvent, tell_schedule
from trainers.rollouts.rollout_runner import RolloutRunner
from trainers.rollouts.scoring.forward import TokenForward, adapters_in_fp32, turn_off_dropout
from trainers.rollouts.scoring.step_tokens import StepTokens
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask
from trainers.rollouts.slot_envs import Envs
from trainers.rollouts.step_plan import StepPlan, plan_step
from trainers.rollouts.task_feed import LearningTaskSource, TaskSource
from trainers.rollouts.trajectory import Trajectory, to_rows

__all__ = ["MultiTurnTrainer"]

logger = logging.getLogger(__name__)

COLUMNS = {"logp_old": "old_per_token_logps", "logp_ref": "ref_per_token_logps"}
"""Inputs of credit assignment per token, and their columns in the batch; parts have more."""


ENGINES: tuple[Callable[..., GenerationEngine], ...] = (HFEngine, HFCopyEngine)
"""Default engines: with the weights that are trained, and with a copy of them."""


class MultiTurnTrainer(PolicyTrainer):
    """Train a policy on multi-turn episodes, by GRPO or one of its relatives.

    Attributes:
        runner: Plays the episodes with the engine of the behaviour policy.
        preset: Credit, filters and loss.
        group_size: Episodes per task.
        schedule: Turn budget by step.
        horizon: Turn budget of the current step; 0 before the first.
        full_horizon: Turn budget of ``play``.
        stage_switches: (step, horizon) of every change seen by this process.
        trajectories: Episodes of this process at the present step.
    """

    _plan: StepPlan

    def __init__(
        self,
        model: PreTrainedModel | PeftModel | str,
        args: GRPOConfig,
        *,
        envs: Envs,
        chat: TurnTokenizer,
        tasks: TaskSource,
        horizon: Schedule | int,
        preset: Preset | str = "default",
        budget: TokenBudget | None = None,
        full_horizon: int | None = None,
        group_size: int | None = None,
        make_engine: Callable[[nn.Module], GenerationEngine] | None = None,
        prompt: Prompt | Mapping[str, Prompt] | None = None,
        families: str | Sequence[str] = "",
        on_rollout: Callable[[RolloutEvent], None] | None = None,
        probe_every: int = 50,
        micro_tokens: int | None = None,
        logits_mib: int = 256,
        shared_prefixes: bool = True,
        parts: Mapping[str, MakeStepPart] | None = None,
        player: Callable[..., RolloutRunner] = RolloutRunner,
        **kwargs: Any,
    ) -> None:
        """Put a run together.

        Args:
            model: The policy: a causal LM or a path. Its dropout is turned off permanently: the
                trained policy must be the one that acted.
            args: From ``trainers.grpo.trl_arguments.grpo_arguments``.
            envs: A ``TextVectorEnv``; one slot per episode of a step is fastest.
            chat: Turn tokenizer of the policy.
            tasks: Chooses the tasks of each step; with ``state_dict`` and ``load_state_dict`` its
                state goes into checkpoints.
            horizon: Turn budget, a schedule of the step (from 1) or a constant. Tasks may override
                it with a ``"horizon"``, as those of ``MixedTasks`` do.
            preset: Credit, filters and loss, or the name of a preset; horizon, group size and
                updates per batch come from the other arguments.
            budget: Limits on tokens.
            full_horizon: Turn budget of ``play``; None leaves it to the environment.
            group_size: Episodes per task; None: ``args.num_generations``, which TRL requires to be
                at least 2 even for a preset that does not compare episodes of a task.
            make_engine: Makes the engine from the (PEFT-wrapped) model, see
                ``trainers.rollouts.engines``; None generates with the model itself.
            prompt: Layout of the policy's input; a mapping has one for each family. Default:
                observations and actions only.
            families: Name of the task family, or of the family of each slot.
            on_rollout: Called with every step's episodes.
            probe_every: Generations between two checks of the engine's log-probabilities against
                the model's; 0 turns them off.
            micro_tokens: Maximum tokens, including padding, of a forward and backward pass in a
                process; a longer row gets a separate pass. None: all rows of an update at once.
            logits_mib: Maximum memory for logits in a process, see ``TokenForward``.
            shared_prefixes: Compute prefixes that rows share once, if the model allows it.
            parts: What makes a part of the step, by the name of its method, see
                ``trainers.grpo.step_part.make_parts``. A method that the preset needs and that is
                left out has default settings.
            player: Makes the runner of episodes, from the arguments of ``RolloutRunner``.
            **kwargs: ``callbacks``, ``optimizers``, ``peft_config`` of ``trl.GRPOTrainer``.

        Raises:
            ConfigurationError: The settings would generate twice in a step, or use TRL's vLLM, or
                the preset is not supported by this trainer, or the engine cannot run ahead.
        """
        self.preset = get_preset(preset) if isinstance(preset, str) else preset
        # Whether there is a judge, only the run knows; makers bring what their methods serve.
        brought = [need for need in self.preset.needs if need.method in (parts or {})]
        self.preset.require((*served(self.preset), JUDGE, *brought))
        self.schedule = Constant(horizon) if isinstance(horizon, int) else horizon
        self.horizon = 0
        self.full_horizon, self.group_size = full_horizon, group_size or args.num_generations
        self.stage_switches: list[tuple[int, int]] = []
        self.trajectories: list[Trajectory] = []
        self._tasks, self._on_rollout, self._probe_every = tasks, on_rollout, probe_every
        self._generations = 0
        self._micro_tokens = micro_tokens
        super().__init__(model, args, chat, **kwargs)
        policy = self._policy
        turn_off_dropout(policy)
        adapters_in_fp32(policy)
        # With adapters of the trainer's own the reference is the model without them.
        own_adapters = kwargs.get("peft_config") is not None
        copied = self._needs_reference and not own_adapters
        self._forward = TokenForward(
            self.accelerator, policy, logits_mib=logits_mib, copies_policy=copied,
            shared_prefixes=shared_prefixes,
        )  # fmt: skip
        self.parts = make_parts(parts or {}, self._context(policy, chat, own_adapters))
        precision = torch.bfloat16 if args.bf16 else torch.float16 if args.fp16 else None
        kinds = next((part.engines for part in self.parts if part.engines), ENGINES)
        own_engine = partial(kinds[self._lag > 0], pad_id=chat.pad_id, autocast=precision)
        engine: GenerationEngine = (make_engine or own_engine)(policy)
        self.runner = player(envs, chat, engine, budget, prompt=prompt, families=families)
        # Looked up at each use, because the model is wrapped only when training begins.
        self._weights = EngineWeights(
            engine, lambda: self._policy, lambda: self.state.global_step, self.parts
        )
        if not self._lag:  # Else the engine may be playing with other weights than the policy's.
            self.runner.recovery = self._weights
        for part in self.parts:
            part.use_runner(self.runner, self._weights)
        # Only now: where no budget was given, the runner has the default one.
        self.preset = self.preset.within(self.runner.budget.action_tokens(full_horizon))

    def _context(self, policy: nn.Module, chat: TurnTokenizer, own_adapters: bool) -> StepContext:
        """Return what is lent to the parts of a step."""
        return StepContext(
            accelerator=self.accelerator,
            preset=self.preset,
            policy=policy,
            wrapped=lambda: self.model,
            unwrapped=lambda: self._policy,
            forward=self._forward,
            chat=chat,
            passes=self._passes,
            micro_tokens=self._micro_tokens,
            temperature=self.temperature,
            own_adapters=own_adapters,
            updates=self.updates,
            seed=lambda: self.args.seed,
            trained_steps=lambda: self.batches,
            gather=self._gather,
            last_step=lambda: self.state.max_steps // self.updates,  # TRL counts updates.
            tasks=self._tasks,
            times=self.times,
        )

    # -- a training step, in the order in which it happens ---------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, object]]) -> dict[str, Tensor]:
        """Make TRL's batch of a step: episodes as rows of tokens, with an advantage for each."""
        step, count = self.batches + 1, len(inputs)
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        # 1, 2: tasks and episodes. Credit compares those of all processes.
        self.trajectories = self.play_groups(step, count, rank, world)
        gathered = self._gather(self.trajectories, f"the end of the episodes of step {step}")
        # Places that no fork used stay among the gathered, whose shares are equally long.
        episodes = everyone = [episode for episode in gathered if not episode.unplayed]
        check_sampled(everyone)
        share = range(rank * count, (rank + 1) * count)
        # A part may choose other rows than those that were played.
        played = PlayedStep(step, self.args.seed, episodes, share, self.runner, self._sampling())
        with self.times.part("update"):
            choices = (part.choose_rows(played) for part in self.parts)
            row_choice = next((rows for rows in choices if rows is not None), None)
        if row_choice is not None:
            self.trajectories = row_choice.trajectories
            gathered = everyone = self._gather(self.trajectories)
        # 3: rows of tokens, with the log-probabilities of pi_old and of the reference.
        rows = self._rows(gathered, everyone, share)
        with self.times.part("logprobs"):
            self._add_logps(rows)
            figures = self._collect_figures(part.add_columns(rows) for part in self.parts)
        # 4, 5: advantages and weights of the tokens of all processes.
        credit = self._credit(rows, {} if row_choice is None else row_choice.aux)
        figures |= self._add_credit(rows, credit)
        with self.times.part("update"):
            figures |= self._collect_figures(part.learn(rows.batch) for part in self.parts)
        figures |= {} if row_choice is None else row_choice.figures
        self._report(step, episodes, credit, figures)
        # Only now: the probe of the report generates as well.
        self._weights.rest()
        return rows.batch

    def play_groups(self, step: int, count: int, rank: int = 0, world: int = 1) -> list[Trajectory]:
        """Choose the tasks of a step and play one process's share of its groups (1, 2).

        Args:
            step: Training step, from 1.
            count: Episodes of each process; groups may straddle processes.
            rank: Index of the process.
            world: Number of processes.

        Returns:
            ``count`` trajectories: those with numbers from ``rank * count`` in the step.

        Raises:
            ConfigurationError: The task source returned another number of tasks than asked for.
        """
        plans = partial(
            plan_step,
            schedule=self.schedule,
            tasks=self._tasks,
            group_size=self.group_size,
            count=count,
            rank=rank,
            world=world,
            seed=self.args.seed,
            sampling=self._sampling(),
            make_parts=lambda plan: [*chain(*(p.rollout_parts(plan) for p in self.parts))],
        )
        answers = (part.play(step, plans) for part in self.parts)
        result = next((answer for answer in answers if answer is not None), None)
        self._plan, episodes = result or self._play_now(plans(step))
        if self.horizon != self._plan.horizon:
            self.horizon = self._plan.horizon
            logger.info("step %d: horizon %d", step, self.horizon)
            self.stage_switches.append((step, self.horizon))
        return episodes

    def _play_now(self, plan: StepPlan) -> tuple[StepPlan, list[Trajectory]]:
        """2: play the episodes of a plan with the present policy."""
        self._weights.send()  # From here on mu has the weights of pi.
        stats = self.runner.stats
        engine, envs = stats.engine_seconds, stats.env_seconds
        answers = (part.play_together(plan) for part in self.parts)
        episodes = next((answer for answer in answers if answer is not None), None)
        if episodes is None:
            episodes = self.runner.run(**plan.arguments, parts=plan.parts)
        self.times.move("rest", "generation", stats.engine_seconds - engine)
        # Environments count as far as generation does not hide them.
        self.times.move("rest", "environments", stats.env_seconds - envs)
        return plan, episodes

    def _rows(
        self, gathered: Sequence[Trajectory], everyone: Sequence[Trajectory], share: range
    ) -> StepRows:
        """3: put the trajectories into rows of one width, as many in every process and update."""
        # Whether tokens that several episodes share since a fork are trained once.
        once = self.preset.branching is not None and self.preset.branching.trains_once
        rows = [to_rows([t], once) for t in self.trajectories]
        parts = self.args.steps_per_generation
        rank, device = self.accelerator.process_index, self.accelerator.device
        # Every process draws for all of them, alike, and takes its part: nothing has to be sent.
        count = len(rows) * self.accelerator.num_processes
        drawn = minibatch_of_episodes(count, parts, (self.args.seed, self.batches))
        own_parts = drawn[rank * len(rows) :][: len(rows)]
        numbers = minibatch_of_rows([*map(len, rows)], own_parts, parts, self._gather)
        batch = row_tensors([*chain(*rows)], self.runner.chat.pad_id, device, count=len(numbers))
        row_episodes = [t for t, own in zip(self.trajectories, rows, strict=True) for _ in own]
        tokens = StepTokens.of(
            sampled_mask(batch), gathered, slice(share.start, share.stop), once=once,
            gather=self._gather,
        )  # fmt: skip
        batch |= {MINIBATCH: torch.from_numpy(numbers).to(device)}
        return StepRows(batch, everyone, row_episodes, tokens, self._passes)

    def _credit(self, rows: StepRows, turn_scores: Mapping[str, Sequence[float]]) -> Credit:
        """4, 5: compute advantages and weights of the sampled tokens of all processes."""
        columns = dict(chain(COLUMNS.items(), *(part.columns.items() for part in self.parts)))
        packed = {
            name: rows.tokens.packed(rows.batch[column])
            for name, column in columns.items()
            if column in rows.batch
        }
        logp_old, values = packed.pop("logp_old", None), packed.pop("values", None)
        for name, scores in turn_scores.items():
            packed[name] = np.array(self._gather(list(scores)), dtype=np.float64)
        return assign_credit(
            rows.episodes,
            self.preset,
            aux=packed,
            logp_old=logp_old,
            values=values,
            correct=self._inexact,
        )

    def _add_credit(self, rows: StepRows, credit: Credit) -> dict[str, float]:
        """5: put this process's part of the credit into the columns that the loss reads."""
        batch, tokens, figures = rows.batch, rows.tokens, dict[str, float]()
        columns = loss_columns(credit, self.preset.loss, "old_per_token_logps" in batch)
        for part in self.parts:
            part_columns, part_figures = part.credit_columns(credit)
            columns |= part_columns
            figures |= part_figures
        train = credit.train
        if tokens.once is not None and self.preset.branching is not None:
            columns, train = self.preset.branching.merge(columns, train, tokens.once)
        for name, values in columns.items():
            batch[name] = tokens.column(values)
        # TRL trains the tokens whose tool mask is 1: the sampled ones, less those of episodes that
        # a filter left out.
        batch["tool_mask"] = batch["tool_mask"] * tokens.column(train)
        # Without anything to train all masks are 0, and so is the loss: 0 / 1.
        total = max(1, int(credit.train.sum()))
        batch["num_items_in_batch"] = torch.tensor(total, device=tokens.mask.device)
        return figures

    def _collect_figures(self, parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
        """Join the figures of the parts; without finite ones the step makes no update."""
        figures = {name: value for figures in parts for name, value in figures.items()}
        self.finite &= all(map(math.isfinite, figures.values()))
        return figures

    def _report(
        self,
        step: int,
        everyone: Sequence[Trajectory],
        credit: Credit,
        part_figures: Mapping[str, float],
    ) -> None:
        """Log figures, tell the schedule and the listener, and probe the engine now and then."""
        # What was played and replaced is told of, and learned from, like what trains.
        everyone = [*everyone, *self._plan.replaced]
        figures = {**episode_figures(everyone), **credit.metrics, **part_figures}
        for part in self.parts:
            figures |= part.figures(everyone)
        figures |= self._plan.figures
        figures["rollout/horizon"] = float(self.horizon)
        # The third generation is the first that shows a broken merge of adapters, which begin at 0.
        if self._probe_every and self._generations % self._probe_every in (0, 2):
            figures["sampling/probe_gap"] = self._probe(everyone)
        self._generations += 1
        tokens = sum(len(turn.context) + len(turn.ids) for t in everyone for turn in t.own_turns)
        self.state.num_input_tokens_seen += tokens
        returns = sum(trajectory.episode_return for trajectory in everyone) / len(everyone)
        trl = {"reward": returns, "num_tokens": self.state.num_input_tokens_seen}
        for name, value in {**figures, **trl}.items():
            self._metrics["train"][name].append(float(value))
        tell_schedule(self.schedule, step, everyone, self._lag)
        if isinstance(self._tasks, LearningTaskSource):
            self._tasks.learn(everyone)
        if self._on_rollout is not None:
            self._on_rollout(RolloutEvent(step, self.horizon, everyone, figures))

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train; see ``transformers.Trainer.train``."""
        try:
            return super().train(*args, **kwargs)
        finally:
            for part in self.parts:
                part.end_training()

    def _forget(self) -> None:
        """Send the engine all weights anew, and probe it as at the start of a process."""
        self._weights.forget()
        self._generations = 0

    # -- steps and policies ------------------------------------------------------------------------

    @property
    def _stateful(self) -> Mapping[str, object]:
        """The parts that may have a state of their own, by their names in a checkpoint."""
        tasks: object = self._tasks
        for part in self.parts:
            tasks = part.saved_tasks(tasks)
        return {"horizon": self.schedule, "tasks": tasks}
