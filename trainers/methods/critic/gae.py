"""Generalised advantage estimation (arXiv 1506.02438): signals that read the values of a critic.

Steps are tokens, turns, or turns and then the tokens within each. Values are never bootstrapped
after the end of an episode: a limit on turns or tokens is part of the task, so the value after it
is 0, and at lambda = 1 every target is the Monte-Carlo return.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.segments import BoolArray, FloatArray, reverse_scan, sums
from trainers.algorithms.signals import Signal, aux_column

CRITIC = Need("critic", "a value model that fills Batch.values", "critic")


@runtime_checkable
class ValueSignal(Protocol):
    """A signal that reads a critic's values; value plus signal is the critic's target."""

    def __call__(self, batch: Batch) -> Signal:
        """Return advantages (M,) or (K,) from ``batch.values``."""
        ...

    def places(self, batch: Batch) -> BoolArray:
        """Return the (K,) mask of tokens whose values it reads; the critic learns these."""
        ...

    def monte_carlo(self) -> ValueSignal:
        """Return the signal with Monte-Carlo returns as targets."""
        ...


@dataclass(frozen=True)
class GAE:
    """Advantages token by token, over the packed action tokens of an episode; token level.

    ``delta_k = r_k + g_k V_{k+1} - V_k`` and ``A_k = delta_k + g_k l_k A_{k+1}``, where k + 1 is
    the next *action* token, so observations neither bootstrap nor break the chain, and (g, l) are
    the turn factors where k is the last token of its turn.
    """

    gamma: float = 1.0
    """Discount between two tokens of a turn."""
    lam: float = 1.0
    """Trace decay between two tokens of a turn."""
    gamma_turn: float | None = None
    """Discount between two turns; None means ``gamma``."""
    lam_turn: float | None = None
    """Trace decay between two turns; None means ``lam``."""
    kl: float = 0.0
    """Penalty for a nat of ``log pi_old - log pi_ref``, subtracted from the reward of each token,
    so that the critic learns it as well."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a run has to have."""
        return _needs(self.kl)

    def __call__(self, batch: Batch) -> Signal:
        """Return (K,) advantages."""
        values = _values(batch)
        gamma_turn = self.gamma if self.gamma_turn is None else self.gamma_turn
        lam_turn = self.lam if self.lam_turn is None else self.lam_turn
        # (K,); nothing follows the last token of a trajectory, so its chain ends there.
        last = batch.is_turn_end & batch.is_final_turn[batch.turn]
        gamma = np.where(batch.is_turn_end, gamma_turn, self.gamma) * ~last
        lam = np.where(batch.is_turn_end, lam_turn, self.lam)
        reward = batch.token_reward - _kl_price(batch, self.kl)
        delta = reward + gamma * np.append(values[1:], 0.0) - values
        return Signal(reverse_scan(delta, gamma * lam), "token")

    def places(self, batch: Batch) -> BoolArray:
        """Return all (K,) tokens."""
        return np.ones(batch.n_tokens, dtype=bool)

    def monte_carlo(self) -> GAE:
        """Return the same with lambda = 1."""
        return replace(self, lam=1.0, lam_turn=1.0)


@dataclass(frozen=True)
class TurnGAE:
    """Advantages turn by turn; turn level.

    ``delta_t = r_t + g V_{t+1} - V_t`` and ``A_t = delta_t + g l A_{t+1}``, where V_t is the value
    before the first token of turn t, the value of the state that the turn acts on. With V = 0 and l
    = 1 it is the return-to-go.
    """

    gamma_turn: float = 1.0
    """Discount between two turns, g."""
    lam_turn: float = 1.0
    """Trace decay between two turns, l."""
    kl: float = 0.0
    """Penalty for a nat of ``log pi_old - log pi_ref``, subtracted from the reward of the turn."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a run has to have."""
        return _needs(self.kl)

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) advantages."""
        values = _values(batch)[batch.is_turn_start]
        gamma = np.where(batch.is_final_turn, 0.0, self.gamma_turn)
        delta = _turn_rewards(batch, self.kl) + gamma * np.append(values[1:], 0.0) - values
        return Signal(reverse_scan(delta, gamma * self.lam_turn), "turn")

    def places(self, batch: Batch) -> BoolArray:
        """Return the (K,) tokens that begin a turn."""
        return batch.is_turn_start

    def monte_carlo(self) -> TurnGAE:
        """Return the same with lambda = 1."""
        return replace(self, lam_turn=1.0)


@dataclass(frozen=True)
class BiLevelGAE:
    """RAGEN's bi-level estimate (arXiv 2504.20073): over turns, then within each; token level.

    With V_t the value before the last token of turn t, ``A_t = r_t + g_turn V_{t+1} - V_t + g_turn
    l_turn A_{t+1}``. Then GAE runs over the tokens of the turn; its last token has the reward ``A_t
    + V_t`` and no successor, so its advantage is A_t. A turn ends with its tokens; the released
    code detects it by a non-zero reward and misses turns without one.
    """

    gamma: float = 1.0
    """Discount between two tokens of a turn."""
    lam: float = 1.0
    """Trace decay between two tokens of a turn."""
    gamma_turn: float = 1.0
    """Discount between two turns."""
    lam_turn: float = 1.0
    """Trace decay between two turns."""
    kl: float = 0.0
    """Penalty for a nat of ``log pi_old - log pi_ref``, subtracted from the reward of the turn."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a run has to have."""
        return _needs(self.kl)

    def __call__(self, batch: Batch) -> Signal:
        """Return (K,) advantages."""
        values, end = _values(batch), batch.is_turn_end
        # Over the turns: (M,).
        turn_values = values[end]
        gamma_turn = np.where(batch.is_final_turn, 0.0, self.gamma_turn)
        delta = (
            _turn_rewards(batch, self.kl)
            + gamma_turn * np.append(turn_values[1:], 0.0)
            - turn_values
        )
        turns = reverse_scan(delta, gamma_turn * self.lam_turn)
        # Within each: (K,).
        paid = np.where(end, (turns + turn_values)[batch.turn], 0.0)
        gamma = np.where(end, 0.0, self.gamma)
        delta = paid + gamma * np.append(values[1:], 0.0) - values
        return Signal(reverse_scan(delta, gamma * self.lam), "token")

    def places(self, batch: Batch) -> BoolArray:
        """Return all (K,) tokens."""
        return np.ones(batch.n_tokens, dtype=bool)

    def monte_carlo(self) -> BiLevelGAE:
        """Return the same with lambda = 1."""
        return replace(self, lam=1.0, lam_turn=1.0)


def value_targets(batch: Batch, signal: ValueSignal) -> FloatArray:
    """Return the critic's targets (K,): values plus advantages.

    Only the entries at the signal's places are meaningful.
    """
    advantage = signal(batch)
    return batch.to_tokens(advantage.values, advantage.level) + _values(batch)


def explained_variance(batch: Batch, signal: ValueSignal, learnt: BoolArray) -> float:
    """Explained variance of the Monte-Carlo returns by the critic's values.

    1 is perfect, 0 is no better than a constant, and below 0 is worse than a constant.

    Args:
        batch: Episodes that the critic has not learnt from.
        signal: Selects the returns that the values estimate.
        learnt: (K,) tokens that count.
    """
    returns = value_targets(batch, signal.monte_carlo())[learnt]
    spread = float(returns.var()) if returns.size else 0.0
    if not spread:
        return 0.0
    return 1.0 - float((returns - _values(batch)[learnt]).var()) / spread


def _needs(kl: float) -> tuple[Need, ...]:
    """Return what an estimate needs with a price of the divergence from the reference policy."""
    return (CRITIC, REFERENCE) if kl > 0 else (CRITIC,)


def _turn_rewards(batch: Batch, kl: float) -> FloatArray:
    """(M,) rewards of turns, less the price of the divergence of their tokens."""
    return batch.reward - sums(batch.turn, _kl_price(batch, kl), batch.n_turns)


def _kl_price(batch: Batch, kl: float) -> FloatArray:
    """(K,) price of each token's divergence from the reference policy."""
    if not kl:
        return np.zeros(batch.n_tokens)
    return kl * (batch.logp_old - aux_column(batch, "logp_ref", "token"))


def _values(batch: Batch) -> FloatArray:
    """Return the critic's values (K,)."""
    if batch.values is None:
        raise ConfigurationError(
            "expected critic values in Batch.values for GAE, got None; "
            "train with a critic or choose a preset that needs none"
        )
    return batch.values
