"""ArCHer's critic (arXiv 2402.19446): values of turns, learned off-policy from a replay buffer.

Two heads each for the action value Q(s, a) and the state value V(s), on a model initialised as a
copy of the policy. s is the policy's input and a its output: V is read where the state ends and Q
where the action ends. With target networks, marked ', an update on turns (s, a, r, s') of the
replay, each with an action b that the current policy samples in s, minimises, for each of the two
heads,

    (Q(s, a) - r - gamma V'(s'))^2 + (V(s) - Q'(s, b))^2,

where the value after the last turn of an episode is 0, whatever ended it. The policy trains on
states of the replay and on its own actions there, with the advantage ``min Q(s, b) - min V(s)``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agentgym.errors import DataError
from agentgym.support.random_stream import Stream
from trainers.grpo.step_part import ChosenRows, StepContext
from trainers.methods.turn_critic.credit import QMinusV
from trainers.methods.turn_critic.turn_critic import Act, TurnCritic, TurnCriticSettings, imagined
from trainers.methods.turn_critic.turn_replay import (
    PlayedEpisode,
    PlayedTurn,
    TurnReplay,
    tells_of_the_policy,
)
from trainers.rollouts.engines.policy_weights import base_model
from trainers.rollouts.scoring.micro_batches import divided
from trainers.rollouts.trajectory import Trajectory
from trainers.rollouts.turn_seeds import turn_seed

__all__ = ["REPLAY_FILE", "DoubleHeads", "OffPolicyCritic"]

REPLAY_FILE = "replay.pt"
"""File of a checkpoint with target networks and replay."""
HEADS = ("q", "v")
CRITIC_SEED = 19_446
"""Seed of the weights of the heads, independent of the run's seed."""


class DoubleHeads(nn.Module):
    """Two heads for Q and two for V: three layers each, as in the released code.

    Their outputs start at 0; their inner layers differ, so that they diverge.
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(CRITIC_SEED)
        self.q, self.v = (nn.ModuleList(_head(hidden, random) for _ in range(2)) for _ in HEADS)

    def forward(self, states: Tensor, head_name: str) -> Tensor:
        """Return the values (n, 2) of hidden states (n, H), in single precision."""
        with torch.autocast(states.device.type, enabled=False):
            heads: nn.ModuleList = getattr(self, head_name)
            return torch.cat([head(states.float()) for head in heads], dim=-1)


class OffPolicyCritic(TurnCritic):
    """Q and V of turns, with their replay.

    Args:
        context: Parts of the trainer that it uses.
        settings: How it learns.
        signal: Discount, rate of the target networks, and sizes.
    """

    def __init__(self, context: StepContext, settings: TurnCriticSettings, signal: QMinusV) -> None:
        base, device = base_model(context.policy), context.accelerator.device
        heads = DoubleHeads(base.config.get_text_config().hidden_size)
        super().__init__(context, settings, heads.to(device))
        self._signal, self.replay = signal, TurnReplay(signal.replay)
        self._trunk: Any = copy.deepcopy(base.base_model).to(device)
        named = self._trunk.named_parameters()
        self._train(
            {f"trunk.{name}": parameter for name, parameter in named if parameter.requires_grad}
        )
        self._slow_trunk, self._slow_head = (
            copy.deepcopy(module).requires_grad_(False) for module in (self._trunk, self._head)
        )
        slow = {
            **{
                f"trunk.{name}": parameter
                for name, parameter in self._slow_trunk.named_parameters()
            },
            **{f"head.{name}": parameter for name, parameter in self._slow_head.named_parameters()},
        }
        self._slow = {name: slow[name] for name in self._trained}

    def study(
        self, step: int, seed: int, gathered: Sequence[Trajectory], share: range, act: Act
    ) -> ChosenRows:
        """Store the episodes, learn from the replay, and score actions in its states."""
        episodes = [
            PlayedEpisode.of(episode) for episode in gathered if tells_of_the_policy(episode)
        ]
        foreseen = self._foreseen(episodes)
        self.replay.add(episodes)
        if not len(self.replay):
            raise DataError(
                "expected an episode that a critic can learn from, but every environment failed or "
                "no judge gave a verdict; see the errors in episodes.jsonl"
            )
        error = self._learn(step, seed, act)
        turns = self.replay.draw(share.stop, Stream("actor", seed, step))[share.start :]
        actions = act(
            [turn.state for turn in turns],
            [turn_seed(seed, number, step, "actor") for number in share],
        )
        states = [turn.state for turn in turns]
        with torch.no_grad():
            texts = [[*state, *action.ids] for state, action in zip(states, actions, strict=True)]
            q = self._values(texts, "q").min(-1).values.tolist()
            v = self._values(states, "v").min(-1).values.tolist()
        judged = zip(share, states, actions, q, v, strict=True)
        return ChosenRows(
            [imagined(number, state, action, q - v) for number, state, action, q, v in judged],
            {self._signal.q: q, self._signal.v: v},
            {
                "critic/explained_variance": foreseen,
                "critic/value_loss": error,
                "critic/replay": float(len(self.replay)),
            },
        )

    def _learn(self, step: int, seed: int, act: Act) -> float:
        """Update on turns of the replay; return the mean loss before the last update."""
        updates, size = self.settings.updates, self._signal.batch
        stream = Stream("critic", seed, step)
        drawn = [self.replay.draw(size, stream) for _ in range(updates)]
        numbers = list(self._share_of(size))
        minibatches = [[turns[number] for number in numbers] for turns in drawn]
        # The policy does not change meanwhile: all actions of the step are sampled at once.
        seeds = [
            turn_seed(seed, update * size + number, step, "critic")
            for update in range(updates)
            for number in numbers
        ]
        completions = iter(act([turn.state for turns in minibatches for turn in turns], seeds))
        error = 0.0
        for turns in minibatches:
            error = self._update(turns, [next(completions).ids for _ in turns], size)
        return error

    def _update(
        self, turns: Sequence[PlayedTurn], policy_actions: Sequence[Sequence[int]], size: int
    ) -> float:
        """Make one update on this process's part of ``size`` turns; return the loss before it."""
        worth = self._targets(turns, policy_actions)  # (n, 2) of Q and of V
        texts = [[*turn.state, *turn.action] for turn in turns]
        begins = [len(turn.state) for turn in turns]
        total = torch.zeros((), device=self._accelerator.device)
        self._trunk.train()
        for part in self._passes(texts):
            hidden = self._hidden(self._trunk, [texts[index] for index in part])
            rows = torch.arange(len(part), device=hidden.device)
            ends = torch.tensor([len(texts[index]) for index in part], device=hidden.device)
            starts = torch.tensor([begins[index] for index in part], device=hidden.device)
            loss = sum(
                (
                    (self._head(hidden[rows, places - 1], head_name) - worth[head_name][part]) ** 2
                ).sum()
                for head_name, places in (("q", ends), ("v", starts))
            )
            assert isinstance(loss, Tensor)
            # Gradients are averaged over processes, of which each has a part of the turns.
            (loss * self._accelerator.num_processes / size).backward()
            total += loss.detach() / size
        self.step()
        with torch.no_grad():
            for name, slow in self._slow.items():
                slow.lerp_(self._trained[name], self._signal.tau)
        return self._mean(total)

    @torch.no_grad()
    def _targets(
        self, turns: Sequence[PlayedTurn], policy_actions: Sequence[Sequence[int]]
    ) -> Mapping[str, Tensor]:
        """Return the targets of both heads (n, 2) of Q and of V, from the slow copies."""
        device = self._accelerator.device
        rewards = torch.tensor([turn.reward for turn in turns], device=device)[:, None]
        q = rewards.expand(-1, 2).clone()
        later = [index for index, turn in enumerate(turns) if turn.after is not None]
        if later:
            states = [turns[index].after or [] for index in later]
            q[later] += self._signal.gamma * self._values(states, "v", slow=True)
        texts = [[*turn.state, *ids] for turn, ids in zip(turns, policy_actions, strict=True)]
        return {"q": q, "v": self._values(texts, "q", slow=True)}

    def _values(self, texts: Sequence[Sequence[int]], head_name: str, slow: bool = False) -> Tensor:
        """Return both values (n, 2) at the ends of some texts, without gradients."""
        return self._values_at(texts, [[len(text) - 1] for text in texts], head_name, slow)

    def _values_at(
        self,
        texts: Sequence[Sequence[int]],
        places: Sequence[Sequence[int]],
        head_name: str,
        slow: bool = False,
    ) -> Tensor:
        """Return both values (n, 2) at the places of each text, text by text."""
        trunk, head = (self._slow_trunk, self._slow_head) if slow else (self._trunk, self._head)
        trunk.eval()  # There, activations are not checkpointed.
        first = list(accumulate(map(len, places), initial=0))
        values = torch.zeros(first[-1], 2, device=self._accelerator.device)
        for part in self._passes(texts):
            hidden = self._hidden(trunk, [texts[index] for index in part])
            rows = [row for row, index in enumerate(part) for _ in places[index]]
            columns = [place for index in part for place in places[index]]
            numbers = [number for index in part for number in range(first[index], first[index + 1])]
            values[numbers] = head(hidden[rows, columns], head_name)
        return values

    def _hidden(self, trunk: Any, texts: Sequence[Sequence[int]]) -> Tensor:
        """Return the hidden states (n, L, H) of texts, padded behind."""
        width = max(map(len, texts))
        ids = [[*text, *[self._pad] * (width - len(text))] for text in texts]
        with self._accelerator.autocast():
            # Causality alone hides padding that stands behind.
            states: Tensor = trunk(
                input_ids=torch.tensor(ids, device=self._accelerator.device)
            ).last_hidden_state
        return states

    def _passes(self, texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Divide texts into passes that memory allows, the longest first."""
        if not texts:
            return []
        order = sorted(range(len(texts)), key=lambda index: (-len(texts[index]), index))
        parts = divided([(0, len(texts[index])) for index in order], self._micro_tokens)
        return [order[part] for part in parts]

    @torch.no_grad()
    def _foreseen(self, episodes: Sequence[PlayedEpisode]) -> float:
        """Return the share of the variance of the discounted returns that V foresaw."""
        returns = [discounted for episode in episodes for discounted in self._returns(episode)]
        first = list(accumulate((len(episode.spans) for episode in episodes), initial=0))
        numbered = [(index, episodes[index]) for index in self._share_of(len(episodes))]
        numbers = [
            number for index, _ in numbered for number in range(first[index], first[index + 1])
        ]
        rows = [row for _, episode in numbered for row in episode.rows]
        places = [
            [begin - 1 for row, begin, _ in episode.spans if row == number]
            for _, episode in numbered
            for number in range(len(episode.rows))
        ]
        values = self._values_at(rows, places, "v").min(-1).values.tolist()
        own_values = dict(zip(numbers, values, strict=True))
        foreseen = np.array(self._everyones(own_values, len(returns)))
        spread = float(np.var(returns)) if returns else 0.0
        return 1.0 - float((np.array(returns) - foreseen).var()) / spread if spread else 0.0

    def _returns(self, episode: PlayedEpisode) -> list[float]:
        """Return the discounted return from each turn on."""
        later = accumulate(
            reversed(episode.rewards), lambda value, reward: reward + self._signal.gamma * value
        )
        return list(later)[::-1]

    def save(self, folder: Path) -> None:
        """Write weights, optimiser, target networks and replay."""
        super().save(folder)
        state = {"slow": self._slow, "replay": self.replay.state_dict()}
        torch.save(state, folder / REPLAY_FILE)

    def load(self, folder: Path) -> None:
        """Read them, in every process."""
        super().load(folder)
        device = self._accelerator.device
        state = torch.load(folder / REPLAY_FILE, map_location=device, weights_only=True)
        with torch.no_grad():
            for name, slow in self._slow.items():
                slow.copy_(state["slow"][name])
        self.replay.load_state_dict(state["replay"])


def _head(hidden: int, random: torch.Generator) -> nn.Sequential:
    """Return three layers, whose last one is 0; the others are drawn as torch would."""
    layers = [nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)]
    bound = 1.0 / math.sqrt(hidden)
    for layer in layers:
        for weight in (layer.weight, layer.bias):
            nn.init.uniform_(weight, -bound, bound, generator=random)
    for weight in (layers[-1].weight, layers[-1].bias):
        nn.init.zeros_(weight)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
