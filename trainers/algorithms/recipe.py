"""What a preset is: the parts of one method, and what it asks of a trainer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from trainers.algorithms.credit import Term, Whiten
from trainers.algorithms.filters import Filter
from trainers.algorithms.loss import Loss
from trainers.algorithms.sampling import EntropyBrancher, PolicyPool
from trainers.algorithms.schedule import Schedule
from trainers.algorithms.shaping import Shaper

NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "critic": "a value model that fills Batch.values",
        "reference": "a frozen reference policy that fills aux['logp_ref']",
        "prm": "a process reward model that fills aux['logp_prm']",
        "policy_pool": "an engine that can also generate with stale weights",
        "branching": "environments with snapshots, to fork a rollout mid-way",
    }
)
"""What a preset may need beyond a policy, and what that is."""


@dataclass(frozen=True)
class Preset:
    """One method as a combination of parts."""

    name: str
    """Name on the command line."""
    title: str
    """Method and paper."""
    arxiv: str | None
    """arXiv id of the paper; None for the house recipe."""
    terms: tuple[Term, ...]
    """Credit: the addends of the advantage."""
    post: Whiten | None = None
    """Credit: second normalisation over tokens."""
    loss: Loss = field(default_factory=Loss)
    """Loss."""
    filters: tuple[Filter, ...] = ()
    """Filters, applied from left to right."""
    shapers: tuple[Shaper, ...] = ()
    """Reward corrections made on the packed batch."""
    horizon: Schedule | None = None
    """Turn budget over steps; None leaves it to the run."""
    sampler: Literal["uniform", "interleaved", "value", "informative"] = "uniform"
    """Task sampler of `sampling`; the bundled trainer's tasks come from its task source."""
    refill: bool = False
    """Whether groups the filters drop are replaced by new ones until the batch is full; the
    bundled trainer trains on what is left."""
    pool: PolicyPool | None = None
    """Cross-policy sampling."""
    brancher: EntropyBrancher | None = None
    """Branching rollouts."""
    group_size: int = 8
    """Trajectories of a task instance."""
    needs: tuple[str, ...] = ()
    """Keys of `NEEDS`."""
    note: str = ""
    """Where the preset departs from the paper, or what the paper adds outside these parts."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """Parts that describe the method, but that the bundled trainer does not carry out."""
        parts = {"refill": self.refill, "sampler": self.sampler != "uniform"}
        return tuple(name for name, present in parts.items() if present)

    def missing(self, available: Collection[str]) -> tuple[str, ...]:
        """Needs that are not met.

        Args:
            available: Keys of `NEEDS` the trainer can serve.
        """
        return tuple(need for need in self.needs if need not in available)

    def require(self, available: Collection[str]) -> None:
        """Checks that a trainer has what the preset needs.

        Args:
            available: Keys of `NEEDS` the trainer can serve.

        Raises:
            ValueError: Something is missing.
        """
        missing = [f"{need} ({NEEDS[need]})" for need in self.missing(available)]
        if missing:
            raise ValueError(
                f"preset {self.name!r} needs {' and '.join(missing)}, which this trainer does not "
                "have; configure it or choose another preset"
            )
