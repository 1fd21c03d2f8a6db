"""Cross-policy sampling (AgentRL, arXiv 2510.04206): the policy or a stale copy plays a turn.

An episode in which two policies take turns reaches states that neither would reach alone. The stale
copy is the policy of some steps ago; it is never trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agentgym.errors import ConfigurationError
from trainers.algorithms.needs import Need

POLICY_POOL = Need(
    "policy_pool", "an engine that can also generate with stale weights", "cross_policy"
)


@dataclass(frozen=True)
class PolicyPool:
    """The policy and its stale copy, one of which is drawn to play each turn.

    The paper draws from any set of policies and trains with these two; the defaults are taken from
    its code.
    """

    needs: ClassVar[tuple[Need, ...]] = (POLICY_POOL,)
    """What a run must provide."""
    stale_share: float = 0.25
    """Probability that a turn is played by the stale policy."""
    refresh_every: int = 25
    """Steps between two updates of the stale policy to the current weights."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not 0.0 < self.stale_share <= 1.0 or self.refresh_every < 1:
            raise ConfigurationError(
                "expected 0 < stale_share <= 1 and refresh_every >= 1, got "
                f"stale_share={self.stale_share}, refresh_every={self.refresh_every}"
            )

    def plays_stale(self, drawn: float) -> bool:
        """Decide which policy plays a turn.

        Args:
            drawn: Random number in [0, 1) for the turn.

        Returns:
            Whether it is the stale policy.
        """
        return drawn < self.stale_share

    def stale_steps(self, trained: int) -> int:
        """Return after how many steps the stale policy was copied, once ``trained`` are done."""
        return trained // self.refresh_every * self.refresh_every
