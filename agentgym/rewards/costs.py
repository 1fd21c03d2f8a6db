"""Costs: reward hooks that count what an episode uses, with a limit and a cost per unit.

Usage is stored in ``info["costs"]``, in records and in reports, which say how many episodes
exceeded the limit. Every unit reduces the reward by its price. A limit does not end episodes; it is
for evaluation and training. ``agentgym train --rl.price-rate`` raises the price while the use
exceeds its limit, and lowers it otherwise (a Lagrange multiplier for each cost).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import ClassVar

from agentgym.core.hooks import TurnContext
from agentgym.rewards.terms import FROM_0, SuppliedHook

NO_LIMIT = -1.0
"""Value of ``limit`` that allows any amount."""


@dataclass
class CostHook(SuppliedHook):
    """Base class of costs, with a limit per episode and a price per unit.

    Raises:
        ConfigurationError: A number is not finite or out of range.
    """

    size = "limit"
    limits: ClassVar = {"limit": (NO_LIMIT, float("inf")), "price": FROM_0, "weight": FROM_0}
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = MappingProxyType({"action": str})
    """Text fields, and the functions that read them from a command line."""
    limit: float = NO_LIMIT
    """Maximum amount per episode; -1: any amount."""
    price: float = 0.0
    """Cost per unit, at least 0, subtracted from the reward."""
    weight: float = 1.0
    """Weight of the cost in the reward."""
    name: str = ""
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -price * amount."""
        return -self.price * self.amount(context)

    @abstractmethod
    def amount(self, context: TurnContext) -> float:
        """Return the amount that a turn uses, at least 0."""


@dataclass
class Calls(CostHook):
    """Number of valid actions, optionally of one kind."""

    reads_state = ()
    action: str = "*"
    """Which actions count: a pattern such as ``search*``, in the native grammar."""
    name: str = "calls"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such an action, else 0."""
        return float(context.valid and fnmatchcase(context.action, self.action))


@dataclass
class Forbidden(CostHook):
    """Number of forbidden actions, executed or not."""

    reads_state = ()
    limit: float = 0.0
    """Maximum number of forbidden actions per episode."""
    action: str = ""
    """Which actions are forbidden: a pattern such as ``*rm -rf*``, in the native grammar."""
    name: str = "forbidden"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such an action, else 0."""
        return float(fnmatchcase(context.action, self.action))


@dataclass
class Needless(CostHook):
    """Number of turns without effect: invalid actions, and actions that change nothing."""

    reads_state = ()
    name: str = "needless"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such a turn, else 0."""
        is_unchanged = context.before.state_key == context.after.state_key and not context.done
        return float(is_unchanged or not context.valid)


@dataclass
class Characters(CostHook):
    """Number of characters in the actions, without thinking."""

    reads_state = ()
    name: str = "characters"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return the length of the action in characters."""
        return float(len(context.action))
