"""What a preset is: the parts of one method, and what it asks of a trainer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Literal, TypeGuard

from trainers.algorithms.advantage import Key, Term, Whiten
from trainers.algorithms.filters import Filter, TopVariance, ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.sampling import EntropyBrancher, PolicyPool
from trainers.algorithms.schedule import Stages
from trainers.algorithms.shaping import INVALID, FlagPenalty, Overlong, Shaper

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

NOT_CARRIED_OUT = ("sampler", "refill", "pool", "brancher")
"""Fields of `Preset` that describe a method, but that the bundled trainer does not carry out."""
_WITHIN_GROUPS: frozenset[Key] = frozenset({"group", "state", "turn_index", "turn_index_padded"})


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
    horizon: Stages | None = None
    """Turn budget over steps; None leaves it to the run."""
    group_size: int | None = None
    """Trajectories of a task instance; None leaves it to the run."""
    groups: int | None = None
    """Task instances of a batch; None leaves it to the run."""
    minibatches: int = 1
    """Parts of a batch that are one optimiser step each."""
    iterations: int = 1
    """Passes over a batch. With one part and one pass the ratio is always 1, so clips are inert."""
    sampler: Literal["uniform", "interleaved", "value", "informative"] = "uniform"
    """Task sampler of `sampling`."""
    refill: bool = False
    """Whether groups the filters drop are replaced by new ones until the batch is full."""
    pool: PolicyPool | None = None
    """Cross-policy sampling."""
    brancher: EntropyBrancher | None = None
    """Branching rollouts."""
    beyond: tuple[str, ...] = ()
    """What the paper adds that none of these parts expresses, in a few words each."""
    needs: tuple[str, ...] = ()
    """Keys of `NEEDS`."""
    note: str = ""
    """Where the preset departs from the paper, and where its numbers come from."""

    @property
    def ignored(self) -> tuple[str, ...]:
        """What belongs to the method, but is left out by the bundled trainer."""
        default = {item.name: item.default for item in fields(self)}
        parts = [name for name in NOT_CARRIED_OUT if getattr(self, name) != default[name]]
        return (*parts, *self.beyond)

    @property
    def compares_groups(self) -> bool:
        """Whether it compares trajectories of a task instance, so that one of each is too few."""
        drops = any(isinstance(part, ZeroVariance | TopVariance) for part in self.filters)
        return drops or any({term.center, term.scale} & _WITHIN_GROUPS for term in self.terms)

    @property
    def invalid_penalty(self) -> float | None:
        """What its reward corrections take from an invalid turn; None if they do not look at it."""
        amounts = [-part.amount for part in self.shapers if _charges_invalid(part)]
        return sum(amounts) if amounts else None

    def with_invalid_penalty(self, amount: float) -> Preset:
        """The same preset with another price of an invalid turn, if it has one at all.

        Args:
            amount: What is taken from the reward of an invalid turn.
        """
        if self.invalid_penalty is None:
            return self
        kept = tuple(part for part in self.shapers if not _charges_invalid(part))
        return replace(self, shapers=(*kept, FlagPenalty(INVALID, -amount)))

    def within(self, tokens: int) -> Preset:
        """The same preset with what depends on the token budget filled in.

        Args:
            tokens: The most action tokens that a trajectory may have.

        Returns:
            The preset with limits of `Overlong` and the divisor of the aggregation "const".
        """
        shapers = tuple(
            replace(part, limit=tokens)
            if isinstance(part, Overlong) and part.limit is None
            else part
            for part in self.shapers
        )
        loss = self.loss
        if loss.aggregation == "const" and loss.const is None:
            loss = replace(loss, const=float(tokens))
        return replace(self, shapers=shapers, loss=loss)

    def described(self) -> dict[str, str]:
        """The parts that decide the gradient, in words: to notice that a preset was changed."""
        return {
            name: repr(getattr(self, name))
            for name in ("terms", "post", "loss", "filters", "shapers")
        }

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


def _charges_invalid(part: Shaper) -> TypeGuard[FlagPenalty]:
    """Whether a reward correction is a price of invalid turns."""
    return isinstance(part, FlagPenalty) and part.name == INVALID
