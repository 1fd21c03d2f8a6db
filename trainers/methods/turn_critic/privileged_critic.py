"""SWEET-RL's critic (arXiv 2503.15478): an advantage of turns that sees training-time information.

It is a language model phi, initialised as a copy of the policy. Before the policy's input it reads
c, which the policy never sees: the plan of the environment's expert. With the initial policy as the
reference, the advantage of an action of L tokens is

    A(o, a, c) = 1/L sum_l log(phi(a_l | c, o) / pi_ref(a_l | c, o)).

It learns from the episodes of each task by pairs of unequal return (Bradley-Terry): the preferred
episode should have the higher sum of advantages over its turns. Then the policy samples N actions
in each of some states. Pairs of an action from the better half by A and one from the worse half
train the policy by DPO (``trainers.algorithms.preferences``). N actions in one state share o and c:
no value is needed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from agentgym.errors import ConfigurationError
from agentgym.support.random_stream import Stream
from trainers.algorithms.preferences import bradley_terry, ranked
from trainers.algorithms.segments import FloatArray
from trainers.grpo.step_part import ChosenRows, StepContext
from trainers.methods.expert_plans import ExpertPlans
from trainers.methods.turn_critic.credit import TurnPreference
from trainers.methods.turn_critic.turn_critic import Act, TurnCritic, TurnCriticSettings, imagined
from trainers.methods.turn_critic.turn_replay import PlayedEpisode, tells_of_the_policy
from trainers.rollouts.engines.base import Completion
from trainers.rollouts.scoring.micro_batches import micro_batches
from trainers.rollouts.scoring.tensors import row_tensors, sampled_mask, scatter_tokens, trimmed
from trainers.rollouts.trajectory import Row, Trajectory, to_rows
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["PLAN", "PLAN_TOKENS", "PrivilegedCritic"]

PLAN = "The solution is:\n{}\n"
"""Text that the critic reads before the policy's input."""
PLAN_TOKENS = 256
"""Maximum number of its tokens; longer text is cut at the end."""


@dataclass(frozen=True)
class _Texts:
    """Rows to score, with the owners of their tokens."""

    batch: Mapping[str, Tensor]
    """Rows under TRL's names, with ``turn_shares`` (B, T): 1 / L of the turn of each token."""
    owners: Tensor
    """(B,) place of each row's text among those that are scored."""
    reference: Tensor
    """(B, T) log-probabilities of the reference."""


class PrivilegedCritic(TurnCritic):
    """Advantages of turns by a critic that sees the expert's plan.

    Args:
        context: Parts of the trainer that it uses.
        settings: How it learns.
        signal: How pairs are made, and the temperature of the critic's own.
        plan: Returns the expert's plan for the task of an episode.

    Raises:
        ConfigurationError: No plans are available.
    """

    def __init__(
        self,
        context: StepContext,
        settings: TurnCriticSettings,
        signal: TurnPreference,
        plan: Callable[[Trajectory], str] | None,
    ) -> None:
        if plan is None:
            raise ConfigurationError(
                "expected the expert's plan of an episode for a critic that sees it, got None; "
                "pass parts={'turn_critic': partial(make_turn_critic, plan=...)} to "
                "MultiTurnTrainer"
            )
        policy = context.policy
        super().__init__(context, settings, copy.deepcopy(policy).to(context.accelerator.device))
        self._reference = copy.deepcopy(policy).eval().requires_grad_(False)
        self._signal, self._forward = signal, context.forward
        self._tokenizer, self._plan = context.chat.tokenizer, plan

    def study(
        self, step: int, seed: int, gathered: Sequence[Trajectory], share: range, act: Act
    ) -> ChosenRows:
        """Learn from pairs of episodes, and pair actions in states of the step.

        Raises:
            ConfigurationError: A process trains an odd number of trajectories.
        """
        if len(share) % 2:
            raise ConfigurationError(
                "expected an even number of episodes of a step in each process, because they make "
                f"room for pairs, got {len(share)}; change --rl.groups or --rl.num-generations"
            )
        figures = self._learn([episode for episode in gathered if tells_of_the_policy(episode)])
        pairs = range(share.start // 2, share.stop // 2)
        numbers = sorted({pair // self._signal.pairs for pair in pairs})
        places = [
            (number, turn)
            for number, episode in enumerate(gathered)
            for turn in range(len(episode.turns))
        ]
        stream = Stream("states", seed, step)
        drawn = [stream.choice(places) for _ in range(numbers[-1] + 1)]
        episodes = [gathered[drawn[number][0]] for number in numbers]
        turns = [drawn[number][1] for number in numbers]
        states = [
            PlayedEpisode.of(episode).state(turn)
            for episode, turn in zip(episodes, turns, strict=True)
        ]
        count = self._signal.candidates
        seeds = [turn_seed(seed, number, step, f"candidate {n}") for number in numbers
                 for n in range(count)]  # fmt: skip
        completions = act([state for state in states for _ in range(count)], seeds)
        judged = self._judged(episodes, states, completions)
        trajectories = []
        for pair in pairs:
            index = numbers.index(pair // self._signal.pairs)
            candidates = slice(index * count, (index + 1) * count)
            for choice in _drawn_pair(judged[candidates], Stream("pair", seed, step, pair)):
                action, worth = completions[candidates][choice], float(judged[candidates][choice])
                trajectories.append(imagined(pair, states[index], action, worth))
        return ChosenRows(trajectories, {}, figures)

    def _learn(self, episodes: Sequence[Trajectory]) -> dict[str, float]:
        """Update on the pairs of a step; say how it ranked them before."""
        returns = [episode.episode_return for episode in episodes]
        pairs = ranked(returns, [episode.group for episode in episodes])
        figures = {"critic/pairs": float(len(pairs))}
        if not len(pairs):
            return figures
        numbers = self._share_of(len(episodes))
        texts = self._texts([self._rows_of(episodes[number]) for number in numbers])
        loss = accuracy = 0.0
        for update in range(self.settings.updates):
            own_scores = dict(zip(numbers, self._scores(texts, len(numbers)).tolist(), strict=True))
            scores = self._everyones(own_scores, len(episodes))
            fit = bradley_terry(np.array(scores), pairs, self._signal.critic_beta)
            loss, accuracy = fit.loss, fit.right if update == 0 else accuracy
            self._descend(texts, fit.slope[list(numbers)])
            self.step()
        return {**figures, "critic/value_loss": loss, "critic/pairs_right": accuracy}

    def _descend(self, texts: _Texts | None, slope: FloatArray) -> None:
        """Add the gradient of a loss whose slope by the score of each text (n,) is known."""
        if texts is None:
            return
        self._head.train()
        by_text = torch.tensor(slope, dtype=torch.float32, device=self._accelerator.device)
        for rows in (part.rows for part in micro_batches(texts.batch, self._micro_tokens)):
            part = trimmed(texts.batch, rows)
            logps = self._forward(self._head, part, sampled_mask(part)).logps
            weight = by_text[texts.owners[rows]][:, None] * part["turn_shares"]
            # Gradients are averaged over processes, of which each has a part of the texts.
            ((weight * logps).sum() * self._accelerator.num_processes).backward()

    @torch.no_grad()
    def _scores(self, texts: _Texts | None, count: int) -> Tensor:
        """Return the sum of the advantages of the turns of each text (n,)."""
        total = torch.zeros(count, dtype=torch.float64, device=self._accelerator.device)
        if texts is not None:
            ratio = self._logps(self._head, texts.batch) - texts.reference
            shares = (ratio * texts.batch["turn_shares"]).sum(1).double()
            total.index_add_(0, texts.owners, shares)
        return total

    def _judged(
        self,
        episodes: Sequence[Trajectory],
        states: Sequence[Sequence[int]],
        completions: Sequence[Completion],
    ) -> FloatArray:
        """Return the advantage of each action (n,); those of a state stand together."""
        n_actions = len(completions) // len(states)
        texts = []
        for index, action in enumerate(completions):
            prompt = [*self._plan_of(episodes[index // n_actions]), *states[index // n_actions]]
            ids, size = [*prompt, *action.ids], len(action.ids)
            mask = [0] * len(prompt) + [1] * size
            texts.append(([Row(ids, mask, [0.0] * len(ids), len(prompt))], [size]))
        scores: FloatArray = self._scores(self._texts(texts), len(texts)).cpu().numpy()
        return scores

    def close(self) -> None:
        """Close the environments of the plans."""
        if isinstance(self._plan, ExpertPlans):
            self._plan.close()

    # -- texts -------------------------------------------------------------------------------------

    def _rows_of(self, episode: Trajectory) -> tuple[list[Row], list[int]]:
        """Return the rows of an episode behind the plan, and the lengths of its actions."""
        plan = self._plan_of(episode)
        rows = [
            Row(
                [*plan, *row.ids], [*[0] * len(plan), *row.mask],
                [0.0] * (len(plan) + len(row.ids)), len(plan) + row.prompt_length,
            )
            for row in to_rows([episode])
        ]  # fmt: skip
        return rows, [len(turn.ids) for turn in episode.turns]

    def _plan_of(self, episode: Trajectory) -> list[int]:
        """Return the tokens of the text for the critic alone."""
        text = PLAN.format(self._plan(episode))
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids[:PLAN_TOKENS]

    def _texts(self, texts: Sequence[tuple[list[Row], list[int]]]) -> _Texts | None:
        """Put the rows of texts together; None without any."""
        rows = [row for episode_rows, _ in texts for row in episode_rows]
        if not rows:
            return None
        device = self._accelerator.device
        batch = row_tensors(rows, self._pad, device)
        shares = [1.0 / size for _, sizes in texts for size in sizes for _ in range(size)]
        batch["turn_shares"] = scatter_tokens(np.array(shares), sampled_mask(batch))
        owners = [index for index, (episode_rows, _) in enumerate(texts) for _ in episode_rows]
        reference = self._logps(self._reference, batch)
        return _Texts(batch, torch.tensor(owners, device=device), reference)

    def _logps(self, model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
        """Return log-probabilities (B, T) of the sampled tokens, without gradients."""
        model.eval()
        parts = [part.rows for part in micro_batches(batch, self._micro_tokens)]
        return self._forward.logps(model, batch, parts)


def _drawn_pair(advantages: FloatArray, stream: Stream) -> tuple[int, int]:
    """Draw one action of the better half and one of the other."""
    order = np.argsort(-advantages, kind="stable")
    half = len(order) // 2
    return int(order[stream.below(half)]), int(order[half + stream.below(len(order) - half)])
