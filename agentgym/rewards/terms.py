"""The supplied reward hooks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from agentgym.core.hooks import (
    COSTLY,
    JudgedReward,
    TurnContext,
    TurnReward,
    TurnState,
    finite,
)
from agentgym.core.outcome import total
from agentgym.core.tries import TAKEN_BACK
from agentgym.errors import ConfigurationError

FROM_0 = (0.0, math.inf)
"""Range of sizes that cannot be negative."""
_SHARE = (0.0, 1.0)


def _check(value: float, name: str, limits: tuple[float, float]) -> None:
    low, high = limits
    if isinstance(value, bool) or not finite(value) or not low <= value <= high:
        raise ConfigurationError(
            f"expected {name} to be a finite number in [{low}, {high}], got {value!r:.80}"
        )


class SuppliedHook(ABC):
    """Base class of reward hooks that checks their numbers; subclasses implement :meth:`value`.

    Raises:
        ConfigurationError: A number is not finite or out of range.
    """

    size: ClassVar[str] = "weight"
    """The field that holds the size of the hook, as in ``turn_cost=0.01``."""
    limits: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Minimum and maximum of fields."""
    reads: ClassVar[tuple[str, ...]] = ()
    """Required keys of ``info["details"]``."""
    name: str
    weight: float

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of ``info["details"]`` that the environment must report at every step."""
        return self.reads

    @property
    def reads_state(self) -> Collection[str]:
        """Values of a state that the hook reads, among `agentgym.core.hooks.COSTLY`."""
        return COSTLY

    def __post_init__(self) -> None:
        """Check the numbers."""
        for entry, limits in self.limits.items():
            _check(getattr(self, entry), f"{entry} of the hook {self.name}", limits)

    def __call__(self, context: TurnContext) -> float | None:
        """Return the :meth:`value` of a turn."""
        return self.value(context)

    @abstractmethod
    def value(self, context: TurnContext) -> float | None:
        """Return the value of a turn before weighting; None if it is unknown."""

    def reset(self) -> None:
        """Clear the state of the previous episode; most hooks are stateless."""
        return


def family_potential(state: TurnState) -> float:
    """Return phi(s), the potential defined by the environment's family."""
    return state.potential


@dataclass
class Potential(SuppliedHook):
    """Potential-based shaping, F = gamma * phi(s') - phi(s), with phi = 0 after the episode.

    Discounted by the same gamma, the terms of an episode sum to -phi(s_0) for every policy, so the
    optimal policy is unchanged (Ng, Harada and Russell 1999). This requires phi = 0 at the end of
    every episode; truncation counts as an end (Grzes 2017).
    """

    limits: ClassVar = {"gamma": _SHARE}
    gamma: float = 1.0
    """Discount factor in [0, 1]; must equal the discount of the returns."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    phi: Callable[[TurnState], float] = family_potential
    """The potential of a state; must be picklable."""
    name: str = "potential"
    """Key in ``info["reward_terms"]``."""

    @property
    def reads_state(self) -> Collection[str]:
        """Both values, unless phi is the family's."""
        return ("potential",) if self.phi is family_potential else COSTLY

    def value(self, context: TurnContext) -> float:
        """Return gamma * phi(after) - phi(before)."""
        new_potential = 0.0 if context.done else float(self.phi(context.after))
        return self.gamma * new_potential - float(self.phi(context.before))


@dataclass
class InvalidAction(SuppliedHook):
    """A penalty for an action that was not parsed or not admissible."""

    size = "penalty"
    reads_state = ()
    limits: ClassVar = {"penalty": FROM_0, "weight": FROM_0}
    penalty: float = 0.1
    """Size of the penalty, at least 0: it is subtracted."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "invalid_action"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -penalty, or 0 for a valid action."""
        return 0.0 if context.valid else -self.penalty


@dataclass
class SuccessBonus(SuppliedHook):
    """A bonus on the turn that solves the task, for families that also reward partial success."""

    size = "bonus"
    reads_state = ()
    limits: ClassVar = {"bonus": FROM_0, "weight": FROM_0}
    bonus: float = 0.5
    """Size of the bonus, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "success_bonus"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return the bonus if the episode ended solved, else 0."""
        return self.bonus if context.done and context.success else 0.0


@dataclass
class ToolBonus(SuppliedHook):
    """A bonus for every tool call, given on the turn that solves the task.

    GRPO-TCR (arXiv 2510.11701) rewards a correct answer with 1 + .1 n after n calls. Every valid
    action before the last one is a call; calls of an earlier try (`agentgym.core.tries`) do not
    count.
    """

    size = "bonus"
    reads_state = ()
    limits: ClassVar = {"bonus": FROM_0, "weight": FROM_0}
    bonus: float = 0.1
    """Size of the bonus per call, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "tool_bonus"
    """Key in ``info["reward_terms"]``."""
    _calls: int = field(default=0, init=False, repr=False, compare=False)

    def value(self, context: TurnContext) -> float:
        """Return the bonus times the calls if the episode ended solved, else 0."""
        if context.done:
            return self.bonus * self._calls if context.success else 0.0
        self._calls = 0 if TAKEN_BACK in context.terms else self._calls + context.valid
        return 0.0

    def reset(self) -> None:
        """Clear the calls of the previous episode."""
        self._calls = 0


@dataclass
class TurnCost(SuppliedHook):
    """A cost for every turn, so that shorter solutions earn more."""

    size = "cost"
    reads_state = ()
    limits: ClassVar = {"cost": FROM_0, "weight": FROM_0}
    cost: float = 0.01
    """Cost of a turn, at least 0: it is subtracted."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "turn_cost"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -cost."""
        return -self.cost


@dataclass
class Repeat(SuppliedHook):
    """A penalty for an action already taken in the same state of the same episode."""

    size = "penalty"
    reads_state = ()
    limits: ClassVar = {"penalty": FROM_0, "weight": FROM_0}
    penalty: float = 0.05
    """Size of the penalty, at least 0: it is subtracted."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "repeat"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -penalty for a repeated (state, action), else 0."""
        return -self.penalty if context.repeats else 0.0


@dataclass(frozen=True)
class LinearAlpha:
    """A linear schedule of alpha for `Progressive`."""

    start: float = 0.0
    """Alpha at training step 0."""
    end: float = 1.0
    """Alpha from training step ``steps`` on."""
    steps: int = 100
    """Training steps between the two."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self.start, "start of the schedule of alpha", _SHARE)
        _check(self.end, "end of the schedule of alpha", _SHARE)
        _check(self.steps, "steps of the schedule of alpha", (1, math.inf))

    def __call__(self, training_step: int) -> float:
        """Return alpha at a training step, counted from 0."""
        share = min(1.0, max(0.0, training_step / self.steps))
        return self.start + (self.end - self.start) * share


@dataclass(frozen=True)
class StagedAlpha:
    """A schedule of alpha for `Progressive` in three stages, from step rewards to outcome only.

    The defaults are the outcome weights published with progressive reward shaping: .3, .7 and 1.
    """

    first: float = 0.3
    """Alpha of the first stage."""
    second: float = 0.7
    """Alpha of the second stage."""
    third: float = 1.0
    """Alpha of the third and last stage."""
    every: int = 100
    """Training steps of the first stage and of the second stage, each."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("first", "second", "third"):
            _check(getattr(self, name), f"{name} alpha of the schedule", _SHARE)
        _check(self.every, "steps of a stage of alpha", (1, math.inf))

    def __call__(self, training_step: int) -> float:
        """Return alpha at a training step, counted from 1; step 0 is of the first stage, too."""
        stages = (self.first, self.second, self.third)
        return stages[min(max(training_step - 1, 0) // self.every, 2)]


def potential_gain(context: TurnContext) -> float:
    """Return how much a turn raised the family's potential, the default step reward."""
    return context.after.potential - context.before.potential


@dataclass
class Progressive(SuppliedHook):
    """Mix of outcome and step rewards, R = alpha * outcome + (1 - alpha) * mean_t step_t.

    If alpha grows during training, early training follows the step rewards and late training the
    outcome (progressive reward shaping, arXiv:2512.07478). The outcome is the sum of the terms
    before this hook, so put it first in the list and leave its weight at 1. Each turn earns the
    change of the running mean, so that the terms of an episode sum exactly to R for any length.
    """

    size = "alpha"
    limits: ClassVar = {"weight": FROM_0, "gate": _SHARE}
    alpha: float | Callable[[int], float] = 0.5
    """Share of the outcome in [0, 1], or a picklable function of the training step."""
    step: Callable[[TurnContext], float] = potential_gain
    """The step reward of a turn; must be picklable. A hook is reset with this one."""
    forfeit: bool = False
    """Subtract the step part again if the episode ends unsolved, so that failures earn nothing."""
    gate: float = 0.0
    """Minimum share of valid actions in an episode, in [0, 1]; below it, the outcome is subtracted
    at the end. The policy first learns to write valid actions, then to solve the task."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "progressive"
    """Key in ``info["reward_terms"]``."""
    _turns: int = field(default=0, init=False, repr=False, compare=False)
    _mean: float = field(default=0.0, init=False, repr=False, compare=False)
    _valid: int = field(default=0, init=False, repr=False, compare=False)
    _outcome: float = field(default=0.0, init=False, repr=False, compare=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of ``info["details"]`` that the step reward needs."""
        return tuple(getattr(self.step, "needs", ()))

    @property
    def reads_state(self) -> Collection[str]:
        """Values that the step reward reads: both, if it does not declare them."""
        if self.step is potential_gain:
            return ("potential",)
        reads: Collection[str] = getattr(self.step, "reads_state", COSTLY)
        return reads

    def __post_init__(self) -> None:
        """Check the numbers; a schedule's alpha is checked when it is used."""
        super().__post_init__()
        if isinstance(self.step, JudgedReward):
            raise ConfigurationError(
                f"expected a step reward of {self.name} that depends only on the environment, got "
                f"{self.step!r:.80}: pass a judge as a separate hook"
            )
        if not callable(self.alpha):
            _check(self.alpha, "alpha", _SHARE)

    def value(self, context: TurnContext) -> float:
        """Return (alpha - 1) * outcome_t + (1 - alpha) * (mean_t - mean_{t-1}).

        If too few actions were valid, the last turn also subtracts the outcome.

        Raises:
            ConfigurationError: A scheduled alpha is outside of [0, 1].
        """
        alpha = self.alpha(context.training_step) if callable(self.alpha) else self.alpha
        _check(alpha, f"alpha at training step {context.training_step}", _SHARE)
        old_mean = self._mean
        self._turns += 1
        self._mean += (float(self.step(context)) - self._mean) / self._turns
        if self.forfeit and context.done and not context.success:
            self._mean = 0.0
        outcome = total(context.terms.values())
        self._outcome += outcome
        self._valid += context.valid
        shut = context.done and self._valid < self.gate * self._turns
        taken_back = alpha * self._outcome if shut else 0.0
        return (alpha - 1.0) * outcome + (1.0 - alpha) * (self._mean - old_mean) - taken_back

    def reset(self) -> None:
        """Clear the state of the previous episode."""
        self._turns, self._mean, self._valid, self._outcome = 0, 0.0, 0, 0.0
        if isinstance(self.step, TurnReward):
            self.step.reset()
