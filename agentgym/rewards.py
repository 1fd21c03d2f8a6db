"""Turn-level rewards: hooks that map a turn to a number, and a wrapper that adds them to any env.

Pass hooks to ``gymnasium.make(id, reward_hooks=[...])`` or wrap an environment in `ShapedReward`.
Each hook's weighted value stands in ``info["reward_terms"]`` under its name, and the terms sum to
the reward. Hooks are deterministic, picklable and deep-copyable; an environment copies them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from agentgym.errors import ConfigurationError
from agentgym.hooks import HookRunner, TurnContext, TurnReward, TurnState

__all__ = [
    "InvalidAction",
    "LinearAlpha",
    "Potential",
    "Progressive",
    "Repeat",
    "ShapedReward",
    "TurnContext",
    "TurnCost",
    "TurnReward",
    "TurnState",
]


def _check(value: float, what: str, low: float, high: float = math.inf) -> None:
    if not (isinstance(value, int | float) and low <= value <= high and math.isfinite(value)):
        raise ConfigurationError(
            f"{what} must be a finite number in [{low}, {high}], got {value!r}"
        )


def family_potential(state: TurnState) -> float:
    """Return the potential that the environment family supplies.

    Args:
        state: An environment between two turns.

    Returns:
        phi(s).
    """
    return state.potential


@dataclass
class Potential:
    r"""Potential-based shaping, F = gamma * phi(s') - phi(s), with phi = 0 once the episode is over.

    Discounted by the same gamma the terms of an episode sum to -phi(s_0) whatever the policy does,
    so the optimal policy is that of the unshaped task (Ng, Harada and Russell 1999). That needs
    phi = 0 at the end of every episode, and here truncation is an end (Grzes 2017).
    """

    gamma: float = 1.0
    """Discount; must be the one used for returns, in [0, 1]."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    phi: Callable[[TurnState], float] = family_potential
    """The potential of a state; must be picklable."""
    name: str = "potential"
    """Key in ``info["reward_terms"]``."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: If gamma is not in [0, 1].
        """
        _check(self.gamma, "gamma", 0.0, 1.0)

    def __call__(self, context: TurnContext) -> float:
        """Value one turn.

        Args:
            context: The turn.

        Returns:
            gamma * phi(after) - phi(before).
        """
        after = 0.0 if context.done else float(self.phi(context.after))
        return self.gamma * after - float(self.phi(context.before))

    def reset(self) -> None:
        """Do nothing: the hook has no memory."""


@dataclass
class InvalidAction:
    """A penalty for an action that was not parsed or not admissible."""

    penalty: float = 0.1
    """Size of the penalty, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "invalid_action"
    """Key in ``info["reward_terms"]``."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: If the penalty is negative or not finite.
        """
        _check(self.penalty, "penalty (it is subtracted)", 0.0)

    def __call__(self, context: TurnContext) -> float:
        """Value one turn.

        Args:
            context: The turn.

        Returns:
            -penalty, or 0 for a valid action.
        """
        return 0.0 if context.valid else -self.penalty

    def reset(self) -> None:
        """Do nothing: the hook has no memory."""


@dataclass
class TurnCost:
    """A cost of every turn, so that shorter solutions pay more."""

    cost: float = 0.01
    """Cost of a turn, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "turn_cost"
    """Key in ``info["reward_terms"]``."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: If the cost is negative or not finite.
        """
        _check(self.cost, "cost (it is subtracted)", 0.0)

    def __call__(self, context: TurnContext) -> float:
        """Value one turn.

        Args:
            context: The turn.

        Returns:
            -cost.
        """
        return -self.cost

    def reset(self) -> None:
        """Do nothing: the hook has no memory."""


@dataclass
class Repeat:
    """A penalty for an action already taken in the same state of the same episode."""

    penalty: float = 0.05
    """Size of the penalty, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "repeat"
    """Key in ``info["reward_terms"]``."""

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: If the penalty is negative or not finite.
        """
        _check(self.penalty, "penalty (it is subtracted)", 0.0)

    def __call__(self, context: TurnContext) -> float:
        """Value one turn.

        Args:
            context: The turn.

        Returns:
            -penalty for a repeated (state, action), else 0.
        """
        return -self.penalty if context.repeats else 0.0

    def reset(self) -> None:
        """Do nothing: the environment counts repeats."""


@dataclass(frozen=True)
class LinearAlpha:
    """A schedule for `Progressive`: alpha goes from start to end in a straight line."""

    start: float = 0.0
    """Alpha at training step 0."""
    end: float = 1.0
    """Alpha from training step ``steps`` on."""
    steps: int = 100
    """Training steps between the two."""

    def __call__(self, training_step: int) -> float:
        """Evaluate the schedule.

        Args:
            training_step: Step of the trainer, from 0.

        Returns:
            Alpha in [min(start, end), max(start, end)].
        """
        share = min(1.0, max(0.0, training_step / max(1, self.steps)))
        return self.start + (self.end - self.start) * share


def potential_gain(context: TurnContext) -> float:
    """Return how much a turn raised the family's potential, the default step reward.

    Args:
        context: The turn.

    Returns:
        phi(after) - phi(before).
    """
    return context.after.potential - context.before.potential


@dataclass
class Progressive:
    """Mix of outcome and step rewards, R = alpha * outcome + (1 - alpha) * mean_t step_t.

    With an alpha that grows in training, early learning follows the steps and late learning the
    outcome (progressive reward shaping, arXiv:2512.07478). The outcome is the sum of the terms
    before this hook, so put it first in the list and leave its weight at 1. Each turn pays the
    change of the running mean, so that the terms of an episode sum to R exactly at any length.
    """

    alpha: float | Callable[[int], float] = 0.5
    """Share of the outcome in [0, 1], or a picklable function of the training step."""
    step: Callable[[TurnContext], float] = potential_gain
    """The step reward of a turn; must be picklable and without memory."""
    forfeit: bool = False
    """Take the step part back when the episode ends unsolved: a lost game never pays."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "progressive"
    """Key in ``info["reward_terms"]``."""
    _turns: int = field(default=0, init=False, repr=False, compare=False)
    _mean: float = field(default=0.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Validate.

        Raises:
            ConfigurationError: If alpha is a number outside of [0, 1].
        """
        if not callable(self.alpha):
            _check(self.alpha, "alpha", 0.0, 1.0)

    def __call__(self, context: TurnContext) -> float:
        """Value one turn.

        Args:
            context: The turn.

        Returns:
            (alpha - 1) * outcome_t + (1 - alpha) * (mean_t - mean_{t-1}).

        Raises:
            ConfigurationError: If a scheduled alpha is outside of [0, 1].
        """
        alpha = self.alpha(context.training_step) if callable(self.alpha) else self.alpha
        _check(alpha, f"alpha at training step {context.training_step}", 0.0, 1.0)
        before = self._mean
        self._turns += 1
        self._mean += (float(self.step(context)) - self._mean) / self._turns
        if self.forfeit and context.done and not context.success:
            self._mean = 0.0
        outcome = sum(context.terms.values())
        return (alpha - 1.0) * outcome + (1.0 - alpha) * (self._mean - before)

    def reset(self) -> None:
        """Forget the running mean."""
        self._turns, self._mean = 0, 0.0


class ShapedReward(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Adds turn-level rewards to a text environment.

    The wrapper's terms join ``info["reward_terms"]``. For episodes that are forked with
    ``snapshot()`` use the environment's own ``reward_hooks=`` instead: a snapshot does not hold the
    state of wrappers.
    """

    def __init__(self, env: gymnasium.Env[str, str], hooks: Sequence[TurnReward]) -> None:
        """Wrap an environment.

        Args:
            env: A text environment, wrapped or not.
            hooks: The hooks, run in order; copied.

        Raises:
            ConfigurationError: If the innermost environment is no `TextEnv`, an entry is no hook or
                two share a name.
        """
        RecordConstructorArgs.__init__(self, hooks=list(hooks))
        gymnasium.Wrapper.__init__(self, env)
        if not hasattr(env.unwrapped, "action_specs"):
            raise ConfigurationError(
                f"expected an agentgym TextEnv, got {env.unwrapped!r}: ShapedReward reads its state"
            )
        self._names = [hook.name for hook in hooks]
        self._runner = HookRunner(hooks)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: As in the wrapped environment.
            options: As in the wrapped environment; ``"training_step"`` is read by scheduled hooks.

        Returns:
            Observation and info; every hook's term is 0.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        training_step = int((options or {}).get("training_step", 0))
        self._runner.reset(self._state(observation, info), training_step)
        info = {**info, "reward_terms": {**info["reward_terms"], **dict.fromkeys(self._names, 0.0)}}
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one turn.

        Args:
            action: As in the wrapped environment.

        Returns:
            Observation, the reward with the hooks' terms added, terminated, truncated, info.

        Raises:
            ConfigurationError: If an inner hook already uses the name of one of these hooks.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        total = float(reward)
        inner = info["reward_terms"]
        if clash := [name for name in self._names if name in inner]:
            raise ConfigurationError(
                f"expected hook names that the environment does not use, got {clash}: "
                "give the wrapper's hooks other names"
            )
        terms = self._runner.terms(
            getattr(self.env.unwrapped, "_last_action", None) or action,
            self._state(observation, info),
            inner,
            valid=info["action_valid"],
            done=terminated or truncated,
            success=info["success"],
        )
        for name in self._names:
            total += terms[name]
        return observation, total, terminated, truncated, {**info, "reward_terms": terms}

    def _state(self, observation: str, info: dict[str, Any]) -> TurnState:
        potential = float(self.env.unwrapped._potential())  # type: ignore[attr-defined]
        return TurnState(
            observation,
            info["turn"],
            info["score"],
            potential,
            info["state_key"],
            info["oracle_turns"],
        )
