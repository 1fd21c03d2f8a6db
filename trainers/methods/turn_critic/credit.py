"""The credit of critics of turns: an advantage of a turn, and a preference between two actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agentgym.errors import ConfigurationError
from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import REFERENCE, Need
from trainers.algorithms.preferences import Preference
from trainers.algorithms.signals import Signal, aux_column

TURN_CRITIC = Need(
    "turn_critic", "a critic of turns, which scores candidate actions of the policy", "turn_critic"
)


@dataclass(frozen=True)
class QMinusV:
    """Utterance-level advantage of a critic pair, ``Q(o, a) - V(o)`` (ArCHer, arXiv 2402.19446).

    The fields also state how the critic learns off-policy
    (``trainers.methods.turn_critic.off_policy_critic``); turn level.
    """

    needs: ClassVar[tuple[Need, ...]] = (TURN_CRITIC,)
    """Requirements of a run."""
    gamma: float = 0.95
    """Discount of a turn in the critic's targets."""
    tau: float = 0.1
    """Rate at which the target networks follow the critic after each update."""
    replay: int = 100_000
    """Capacity of the replay in turns; the oldest episodes are dropped first."""
    batch: int = 128
    """Turns per update of the critic, drawn from the replay."""
    q: str = "q"
    """Entry of ``Batch.aux``, (M,): action values."""
    v: str = "v"
    """Entry of ``Batch.aux``, (M,): state values."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) advantages."""
        return Signal(aux_column(batch, self.q, "turn") - aux_column(batch, self.v, "turn"), "turn")


@dataclass(frozen=True)
class TurnPreference(Preference):
    """DPO between two actions that were sampled in one state (SWEET-RL, arXiv 2503.15478).

    A critic that sees training-time information scores the actions
    (``trainers.methods.turn_critic.privileged_critic``). These settings also state how the critic
    learns and how actions are paired.
    """

    needs: ClassVar[tuple[Need, ...]] = (TURN_CRITIC, REFERENCE)
    """Requirements of a run."""
    critic_beta: float = 0.1
    """Inverse temperature of the critic's preference between episodes of a task."""
    candidates: int = 16
    """Actions that are sampled in a state."""
    pairs: int = 4
    """Pairs per state, each of an action from the better half and one from the worse half."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ConfigurationError: There is nothing to compare.
        """
        if self.candidates < 2 or self.pairs < 1:
            raise ConfigurationError(
                "expected candidates of at least 2 and pairs of at least 1, got "
                f"{self.candidates} and {self.pairs}"
            )
