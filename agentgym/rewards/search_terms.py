"""The supplied reward hooks for environments that report searches, answers and evidence.

They read ``info["details"]``; an environment that does not report the required keys rejects them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from agentgym.core.hooks import TurnContext
from agentgym.core.tries import TAKEN_BACK
from agentgym.rewards.terms import FROM_0, SuppliedHook, potential_gain


@dataclass
class Format(SuppliedHook):
    """A bonus for an episode that ends with an answer and contains only valid actions.

    It is given once, so that longer episodes earn no more (the structural reward of Search-R1, Jin
    et al., 2025, arXiv:2503.09516). With several tries (`agentgym.core.tries`), the last one
    counts.
    """

    size = "bonus"
    reads: ClassVar = ("format_ok", "answered")
    reads_state = ()
    limits: ClassVar = {"bonus": FROM_0, "weight": FROM_0}
    bonus: float = 0.2
    """Size of the bonus, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "format"
    """Key in ``info["reward_terms"]``."""
    _broken: bool = field(default=False, init=False, repr=False, compare=False)

    def value(self, context: TurnContext) -> float:
        """Return the bonus on the last turn of a well-formed episode, else 0."""
        self._broken = self._broken or not context.details["format_ok"]
        earned = context.done and context.details["answered"] and not self._broken
        self._broken = self._broken and TAKEN_BACK not in context.terms
        return self.bonus if earned else 0.0

    def reset(self) -> None:
        """Clear the turns of the previous episode."""
        self._broken = False


@dataclass
class RetrievalHit(SuppliedHook):
    """A bonus on the first turn whose evidence contains a gold answer.

    It is given once per episode, in any of its tries (`agentgym.core.tries`). Search-R1 uses a
    bonus of 0.1, MT-GRPO (Zeng et al., 2025, arXiv:2505.11821) one of 0.5.
    """

    size = "bonus"
    reads: ClassVar = ("answer_new",)
    reads_state = ()
    limits: ClassVar = {"bonus": FROM_0, "weight": FROM_0}
    bonus: float = 0.1
    """Size of the bonus, at least 0."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "retrieval_hit"
    """Key in ``info["reward_terms"]``."""
    _paid: bool = field(default=False, init=False, repr=False, compare=False)

    def value(self, context: TurnContext) -> float:
        """Return the bonus if the answer was shown for the first time, else 0."""
        first = bool(context.details["answer_new"]) and not self._paid
        self._paid = self._paid or first
        return self.bonus if first else 0.0

    def reset(self) -> None:
        """Clear the state of the previous episode."""
        self._paid = False


@dataclass
class GoldEvidence(SuppliedHook):
    """The share of gold evidence that a turn adds: phi(s') - phi(s).

    phi is the share shown so far, which never falls. The terms of an episode therefore sum to the
    share at its end minus the share at its beginning, regardless of repeated searches. Unlike
    :class:`~agentgym.rewards.terms.Potential`, nothing is subtracted at the end.
    """

    reads: ClassVar = ("gold_recall",)
    reads_state = ("potential",)
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "gold_evidence"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return phi(after) - phi(before)."""
        return potential_gain(context)


@dataclass
class SearchCost(SuppliedHook):
    """A cost for every search, including repeated ones."""

    size = "cost"
    reads: ClassVar = ("searched",)
    reads_state = ()
    limits: ClassVar = {"cost": FROM_0, "weight": FROM_0}
    cost: float = 0.01
    """Cost of a search, at least 0: it is subtracted."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "search_cost"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -cost for a turn that searched, else 0."""
        return -self.cost if context.details["searched"] else 0.0


@dataclass
class NoSearchPenalty(SuppliedHook):
    """A penalty for an answer without any earlier search by the policy."""

    size = "penalty"
    reads: ClassVar = ("answered", "n_search")
    reads_state = ()
    limits: ClassVar = {"penalty": FROM_0, "weight": FROM_0}
    penalty: float = 0.1
    """Size of the penalty, at least 0: it is subtracted."""
    weight: float = 1.0
    """Factor of the value in the reward."""
    name: str = "no_search_penalty"
    """Key in ``info["reward_terms"]``."""

    def value(self, context: TurnContext) -> float:
        """Return -penalty if the episode ends with an answer and without a search, else 0."""
        guessed = context.done and context.details["answered"] and not context.details["n_search"]
        return -self.penalty if guessed else 0.0
