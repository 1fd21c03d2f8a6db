"""Costs: reward hooks that count what an episode uses, with a limit and a price.

What a turn used stands in ``info["costs"]``, in records and in reports, which say how many episodes
were above the limit. The reward loses the price of each unit. A limit is no end: it is for whoever
evaluates or trains. ``agentgym train --rl.price-rate`` raises the price of what is used above its
limit, and lowers it below (a Lagrange multiplier for each cost).
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
"""In the place of a limit: any amount may be used."""


@dataclass
class CostHook(SuppliedHook):
    """What all costs have: a limit an episode, and a price.

    Raises:
        ConfigurationError: A number is not finite or out of range.
    """

    size = "limit"
    limits: ClassVar = {"limit": (NO_LIMIT, float("inf")), "price": FROM_0, "weight": FROM_0}
    texts: ClassVar[Mapping[str, Callable[[str], str]]] = MappingProxyType({"action": str})
    """Fields that hold text, and what reads them from a command line."""
    limit: float = NO_LIMIT
    """How much an episode may use; -1: any amount."""
    price: float = 0.0
    """What a unit costs, at least 0: it is subtracted from the reward."""
    weight: float = 1.0
    """Factor of the price in the reward."""
    name: str = ""
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -price * amount."""
        return -self.price * self.amount(context)

    @abstractmethod
    def amount(self, context: TurnContext) -> float:
        """Return how much a turn uses, at least 0."""


@dataclass
class Calls(CostHook):
    """Valid actions: all of them, or those of a kind."""

    action: str = "*"
    """Which actions count: a pattern such as ``search*``, in the native grammar."""
    name: str = "calls"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such an action, else 0."""
        return float(context.valid and fnmatchcase(context.action, self.action))


@dataclass
class Forbidden(CostHook):
    """Actions that are not to be taken, whether they are carried out or not."""

    limit: float = 0.0
    """How many an episode may take."""
    action: str = ""
    """Which actions are forbidden: a pattern such as ``*rm -rf*``, in the native grammar."""
    name: str = "forbidden"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such an action, else 0."""
        return float(fnmatchcase(context.action, self.action))


@dataclass
class Needless(CostHook):
    """Turns that change nothing: invalid actions, and those after which the state is the same."""

    name: str = "needless"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return 1 for such a turn, else 0."""
        same = context.before.state_key == context.after.state_key and not context.done
        return float(same or not context.valid)


@dataclass
class Characters(CostHook):
    """Characters of the actions: how much a policy writes, thinking left out."""

    name: str = "characters"
    """Key in ``info["costs"]`` and ``info["reward_terms"]``."""

    def amount(self, context: TurnContext) -> float:
        """Return how many characters an action has."""
        return float(len(context.action))
