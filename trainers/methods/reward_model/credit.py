"""The credit of a reward model: its reward for a turn (iStar, arXiv 2509.19199)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import Need
from trainers.algorithms.segments import sums
from trainers.algorithms.signals import Signal, aux_column

PRM = Need("prm", "a process reward model that fills aux['logp_prm']", "reward_model")


@dataclass(frozen=True)
class Implicit:
    """Implicit step reward of iStar (arXiv 2509.19199).

    ``r_it = beta * sum_{k in t} log(pi_prm(k) / pi_old(k))``, summed over the turn's action tokens;
    at trajectory level their sum, a learned return.
    """

    needs: ClassVar[tuple[Need, ...]] = (PRM,)
    """Requirements of a run."""
    beta: float = 0.05
    """Scale of the log-ratio."""
    name: str = "logp_prm"
    """Entry of ``Batch.aux``, (K,): the process reward model's log-probability of each token."""
    level: Literal["turn", "trajectory"] = "turn"
    """Level of the signal: each turn, or the whole trajectory."""

    def __call__(self, batch: Batch) -> Signal:
        """Return (M,) implicit rewards, or (N,) sums of them."""
        paid = self.beta * (aux_column(batch, self.name, "token") - batch.logp_old)
        if self.level == "trajectory":
            return Signal(sums(batch.token_traj, paid, batch.n_trajectories), self.level)
        return Signal(sums(batch.turn, paid, batch.n_turns), self.level)
