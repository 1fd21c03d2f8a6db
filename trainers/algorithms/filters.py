"""Filters: select the trajectories that train and those that only enter the baseline.

A filter takes the batch and the masks so far and returns narrower masks; ``apply_filters`` folds a
list of them. Nothing is removed from the batch, so rows stay aligned with the trainer's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from agentgym.core.outcome import StopReason
from agentgym.errors import ConfigurationError
from trainers.algorithms.advantage import Term, advantage
from trainers.algorithms.batch import Batch
from trainers.algorithms.needs import JUDGE, Need
from trainers.algorithms.segments import (
    BoolArray,
    FloatArray,
    Segments,
    dense,
    spread,
    sums,
)
from trainers.algorithms.signals import RewardToGo, aux_column


class Masks(NamedTuple):
    """Two masks over trajectories."""

    train: BoolArray
    """(N,) trajectories in the loss."""
    baseline: BoolArray
    """(N,) trajectories in the means and deviations of their group."""


Filter = Callable[[Batch, Masks], Masks]
JUDGE_REJECT = "judge_reject"
"""Flag of the turns of an episode that, by a judge's verdict, the environment ruined."""


@dataclass(frozen=True)
class ZeroVariance:
    """Leave groups without a learning signal out of the loss (DAPO, arXiv 2503.14476).

    Level "outcome" drops groups whose returns are all equal. That is free for estimators that
    compare returns, whose advantage is then exactly 0. It *biases* turn-level credit, where members
    of equal return still differ turn by turn; level "turn" drops only groups whose return-to-go,
    zero-padded after the end, is equal at every turn index, and is always free.
    """

    level: Literal["outcome", "turn"] = "outcome"
    """What must be equal within the group."""
    tolerance: float = 1e-8
    """Deviations up to this count as equal, in units of reward."""

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop the groups from ``train``; the baseline is unchanged."""
        if self.level == "outcome":
            varied = _outcome_spread(batch, masks) > self.tolerance
            return Masks(masks.train & varied, masks.baseline)
        term = Term(RewardToGo(), center="turn_index_padded")
        credit = np.abs(advantage(batch, [term], baseline=masks.baseline))  # (K,)
        group = dense(batch.group)
        informative = (credit > self.tolerance) & masks.train[batch.token_traj]
        # A group is live by the tokens that may train, not by those that only serve as a baseline.
        live = sums(group[batch.token_traj], informative, int(group.max()) + 1) > 0
        return Masks(masks.train & live[group], masks.baseline)


@dataclass(frozen=True)
class TopVariance:
    """Train the floor(p * G) groups of largest return deviation (StarPO-S, arXiv 2504.20073)."""

    fraction: float = 0.25
    """Share p of the groups that trains, in (0, 1]; at least one group does."""

    def __post_init__(self) -> None:
        """Check the fraction."""
        if not 0.0 < self.fraction <= 1.0:
            raise ConfigurationError(
                f"expected a fraction in (0, 1], got {self.fraction}; try 0.25"
            )

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop the other groups from ``train``; equal deviations rank by group id."""
        group = dense(batch.group)
        n_groups = int(group.max()) + 1
        deviation = np.full(n_groups, -1.0)  # (S,); groups without a trained member rank last.
        deviation[group[masks.train]] = _outcome_spread(batch, masks)[masks.train]
        # 0.29 * 100 is 28.999...: a product that is whole must not lose one to rounding.
        n_kept = max(1, math.floor(self.fraction * n_groups + 1e-9))
        group_mask = np.zeros(n_groups, dtype=bool)
        group_mask[np.argsort(-deviation, kind="stable")[:n_kept]] = True
        return Masks(masks.train & group_mask[group], masks.baseline)


@dataclass(frozen=True)
class HarnessEndings:
    """Leave episodes that the harness ended out of the loss (compact filtering: DeepSWE, SkyRL).

    Their reward is valid, so they stay in the baseline. The reward of a failed environment is not,
    so such episodes leave the baseline too.
    """

    masked: tuple[StopReason, ...] = (StopReason.HORIZON, StopReason.TOKEN_LIMIT)
    """Endings that leave the loss and stay in the baseline."""
    excluded: tuple[StopReason, ...] = (StopReason.ERROR,)
    """Endings that leave both."""

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop the endings."""
        excluded, masked = (
            np.isin(batch.stop_reason, [reason.value for reason in reasons])
            for reasons in (self.excluded, self.masked)
        )
        return Masks(masks.train & ~(masked | excluded), masks.baseline & ~excluded)


@dataclass(frozen=True)
class FlaggedTurns:
    """Leave trajectories with a flagged turn out of the loss.

    The default is SimpleTIR's void-turn filter (arXiv 2509.02479): a turn with neither an action
    nor an answer. With another name it filters by a judge's verdict, as in AutoForge (arXiv
    2512.22857).
    """

    name: str = "void_turn"
    """Entry of ``Batch.aux``, (M,): non-zero for a flagged turn."""
    in_baseline: bool = True
    """Whether flagged trajectories stay in the baseline."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """What a run must provide."""
        return (JUDGE,) if self.name == JUDGE_REJECT else ()

    def __call__(self, batch: Batch, masks: Masks) -> Masks:
        """Drop the trajectories."""
        flags = aux_column(batch, self.name, "turn") != 0
        clean = sums(batch.traj, flags, batch.n_trajectories) == 0
        baseline = masks.baseline if self.in_baseline else masks.baseline & clean
        return Masks(masks.train & clean, baseline)


def apply_filters(batch: Batch, filters: Sequence[Filter]) -> Masks:
    """Apply filters from left to right; each receives the masks of the previous one.

    Put filters on endings before those on variance, so that deviations are over valid members.
    Trajectories without a turn never train.
    """
    masks = Masks(batch.turn_count > 0, np.ones(batch.n_trajectories, dtype=bool))
    for part in filters:
        masks = part(batch, masks)
    return masks


_UNKNOWN = (
    HarnessEndings(masked=(), excluded=(StopReason.ERROR,)),
    FlaggedTurns(JUDGE_REJECT, in_baseline=False),
    FlaggedTurns("unjudged", in_baseline=False),
)
"""Filters that leave out episodes with rewards that do not reflect the policy."""


def keep_known(batch: Batch, filters: Sequence[Filter] = ()) -> Masks:
    """Apply filters to trajectories with an outcome that reflects the policy.

    Filters look at what the environment paid, before reward corrections, as DAPO's at accuracy: two
    episodes that differ in their length alone are no signal.
    """
    return apply_filters(batch, (*_UNKNOWN, *filters))


def _outcome_spread(batch: Batch, masks: Masks) -> FloatArray:
    """(N,) deviation of the returns of each trajectory's group, over its baseline members."""
    group = dense(batch.group)
    weight = masks.baseline.astype(np.float64)
    return spread(batch.returns, Segments(group, weight, np.zeros(int(group.max()) + 1)))
