"""The type of a preset: the parts of one published method, as data.

A preset holds parts, not code; change one with ``dataclasses.replace``. Learning rates and models
belong to the trainer's configuration; horizon, group size and number of updates are the paper's if
it states them; the command line overrides them. The presets themselves are in
:mod:`~trainers.algorithms.presets`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any, Literal, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Key, Term, Whiten
from trainers.algorithms.batch import Batch
from trainers.algorithms.filters import Filter, TopVariance, ZeroVariance
from trainers.algorithms.loss import Loss
from trainers.algorithms.needs import REFILL, Need, needs_of
from trainers.algorithms.policy_pool import PolicyPool
from trainers.algorithms.preferences import Preference
from trainers.algorithms.schedule import Stages
from trainers.algorithms.segments import BoolArray, FloatArray, IntArray
from trainers.algorithms.shaping import INVALID, FlagPenalty, Overlong, Shaper

Column = npt.NDArray[np.generic]
"""Values of the tokens of a batch, as the loss reads them."""
_PACKAGE = __name__.partition(".")[0]
PARTS = ("terms", "post", "loss", "filters", "shapers", "pool", "branching")
"""Fields of ``Preset`` that decide the gradient."""
_WITHIN_GROUPS: frozenset[Key] = frozenset(
    {"group", "tree", "state", "turn_index", "turn_index_padded"}
)


class SharedTurns(Protocol):
    """How episodes of a group come to share turns, and how these are trained."""

    @property
    def trains_once(self) -> bool:
        """Whether tokens that episodes share are trained once."""
        ...

    def weigh(self, batch: Batch, train: BoolArray) -> FloatArray:
        """Return the (N,) weights of trajectories, of which those in (N,) ``train`` train."""
        ...

    def merge(
        self, columns: Mapping[str, Column], train: BoolArray, once: IntArray
    ) -> tuple[dict[str, Column], BoolArray]:
        """Return columns and mask (K,) of the loss with each shared token once, (U,).

        ``once`` has the (K,) index of each token among the U distinct ones.
        """
        ...


@dataclass(frozen=True)
class Preset:
    """One method as a combination of parts."""

    name: str
    """Name on the command line."""
    title: str
    """Method and paper."""
    arxiv: str | None
    """arXiv id of the paper; None for agentgym's own recipes."""
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
    num_generations: int | None = None
    """Trajectories of a task instance; None leaves it to the run."""
    groups: int | None = None
    """Task instances of a batch; None leaves it to the run."""
    minibatches: int = 1
    """Parts of a batch that are one optimiser step each."""
    num_iterations: int = 1
    """Passes over a batch. With one part and one pass the ratio is always 1 and clipping has no
    effect, unless the ratio is taken to the behaviour policy (``Loss.behave``)."""
    sampler: str = "uniform"
    """Task sampler: a name of ``sampling.SAMPLERS``, or ``MODULE:NAME``."""
    refill: int = 0
    """Maximum number of groups played in a step per group of the batch: groups that the filters
    drop are replaced until enough train. 0: none is replaced."""
    reward_hooks: tuple[str, ...] = ()
    """Turn-level rewards that belong to the method, as ``agentgym.rewards.parse_hooks`` reads them;
    a hook of the same name in a run's settings replaces it."""
    worker_turns: int = 0
    """Turns of a worker to whom the policy delegates (`agentgym.core.delegation`): passed to
    environments as ``worker_turns`` unless ``--env-kwargs worker_turns=N`` is given; 0: no
    workers."""
    steps: int | None = None
    """Steps of each stage; None leaves it to the run."""
    pool: PolicyPool | None = None
    """Cross-policy sampling: which policy plays a turn."""
    branching: SharedTurns | None = None
    """Where episodes are forked."""
    beyond: tuple[str, ...] = ()
    """Elements of the paper that none of these parts expresses, in a few words each."""
    omits: str = ""
    """Elements of the paper that are left out although the preset runs, because they have no
    counterpart here or are optional in the paper."""
    note: str = ""
    """Differences from the paper, and sources of the numbers."""
    instead: str = ""
    """If parts are missing: how to use the others."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What its parts read besides the policy's episodes."""
        signals = [term.signal for term in self.terms]
        needs = needs_of([*signals, self.loss, *self.filters, self.pool, self.branching])
        return (*needs, REFILL) if self.refill else needs

    @property
    def left_out(self) -> tuple[str, ...]:
        """Elements of the method that the bundled trainer lacks, in words."""
        return self.beyond

    @property
    def compares_groups(self) -> bool:
        """Whether it compares trajectories of a task instance and so needs at least two of each."""
        drops = any(isinstance(part, ZeroVariance | TopVariance) for part in self.filters)
        keys = [{term.center, term.scale} & _WITHIN_GROUPS for term in self.terms]
        return drops or self.prefers or any(keys)

    @property
    def prefers(self) -> bool:
        """Whether its credit is a preference between two members of a group."""
        return any(isinstance(term.signal, Preference) for term in self.terms)

    @property
    def invalid_penalty(self) -> float | None:
        """Penalty of an invalid turn in its reward corrections; None if they have none."""
        amounts = [-part.amount for part in self.shapers if _charges_invalid(part)]
        return sum(amounts) if amounts else None

    def with_invalid_penalty(self, amount: float) -> Preset:
        """Return the preset with another penalty for invalid turns, if it has one."""
        if self.invalid_penalty is None:
            return self
        shapers = tuple(part for part in self.shapers if not _charges_invalid(part))
        return replace(self, shapers=(*shapers, FlagPenalty(INVALID, -amount)))

    def normalized(self, over: Literal["none", "batch", "family"]) -> Preset:
        """Return the preset with another normalisation of advantages over tokens, or with none."""
        return replace(self, post=None if over == "none" else Whiten(over, over))

    def within(self, tokens: int) -> Preset:
        """Return the preset with the values that depend on the token budget.

        The limit of ``Overlong`` and the divisor of the aggregation "const" both become the maximum
        number of action tokens of a trajectory.
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

    def described(self) -> dict[str, Any]:
        """Return the parts that determine the gradient as plain values, to detect changes."""
        return {name: _plain_part(getattr(self, name)) for name in PARTS}

    def missing(self, available: Collection[str]) -> tuple[Need, ...]:
        """Return the needs that are not among ``available``."""
        return tuple(need for need in self.needs if need not in available)

    def require(self, available: Collection[str]) -> None:
        """Check that a trainer provides what the preset needs and implements all of its parts.

        Raises:
            ConfigurationError: Something is missing from ``available``, or a part is left out, so
                the training would not be the named method.
        """
        missing = [f"{need} ({need.description})" for need in self.missing(available)]
        if missing:
            raise ConfigurationError(
                f"preset {self.name!r} needs {' and '.join(missing)}, which this run does not "
                "have; choose another preset"
            )
        if self.left_out:
            raise ConfigurationError(
                f"expected a preset that this trainer implements in full, got {self.name!r}, which "
                f"also needs {', '.join(self.left_out)}; "
                f"{self.instead or 'choose another preset'}"
            )


def _plain_part(part: Any) -> Any:
    """Return a part of a preset as values that YAML holds: its class by name, and its fields."""
    if is_dataclass(part) and not isinstance(part, type):
        cls = type(part)
        in_package = cls.__module__.partition(".")[0] == _PACKAGE
        name = cls.__name__ if in_package else part_path(cls)
        return {"part": name, **{i.name: _plain_part(getattr(part, i.name)) for i in fields(cls)}}
    if isinstance(part, tuple | list):
        return [_plain_part(member) for member in part]
    if isinstance(part, Enum):
        return part.value
    if part is None or isinstance(part, str | int | float):
        return part
    return part_path(part if hasattr(part, "__qualname__") else type(part))  # a user's own class


def part_path(part: Any) -> str:
    """Return the name ``MODULE:NAME`` of a custom class or function."""
    return f"{part.__module__}:{part.__qualname__}"


def _charges_invalid(part: Shaper) -> TypeGuard[FlagPenalty]:
    """Whether a reward correction penalises invalid turns."""
    return isinstance(part, FlagPenalty) and part.name == INVALID
