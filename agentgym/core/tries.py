"""Tries: an episode in which a policy that failed begins the same task anew.

With ``tries=N`` the world of a try that ended unsolved, or used its share of the horizon, is set
back to its beginning, and the policy goes on with what it has read and noted. Its return is that
of its last try alone: what an earlier one paid is taken back when the next begins. Of reward hooks
those that remember a try begin anew; penalties and costs are those of the whole episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentgym.core.extension import Extension, Turn
from agentgym.core.hooks import TASK_TERM
from agentgym.core.options import integer
from agentgym.core.outcome import OBSERVATION_LENGTH, Outcome, bounded, total

TAKEN_BACK = "earlier_try"
"""Key in ``info["reward_terms"]`` of what is taken back."""
MOST = 100
"""Most tries of an episode."""
SHORTEST = 1000
"""Characters of the last answer of a try that are shown in any case."""


class Tries(Extension):
    """Which try of an episode is played.

    Args:
        most: How many there may be, at least 2.

    Raises:
        ConfigurationError: It is no whole number from 2 to 100.
    """

    argument = "tries"
    remembers = ("now", "last", "turns_left", "share", "paid")

    def __init__(self, most: int) -> None:
        self.most = integer(most, "tries (1: no further one)", 2, MOST)
        self.begin("", "", self.most)

    @property
    def info(self) -> Mapping[str, Any]:
        """Which try it is, from 1."""
        return {"try": self._now}

    def begin(self, goal: str, observation: str, horizon: int) -> None:
        """Begin the first try; each has an equal share of the turns, the last one the rest."""
        self._now, self._paid = 1, 0.0
        self._last = min(self.most, horizon)  # none begins where no turn is left
        self._share = self._turns_left = horizon // self._last

    def horizon(self, turns: int) -> int:
        """Return the turn budget of all tries."""
        return turns * self.most

    def play(self, native: str, turn: Turn) -> Outcome:
        """Take one turn; begin the next try if that ends this one unsolved."""
        outcome = turn.act()
        self._turns_left -= 1
        terms = outcome.terms or {TASK_TERM: outcome.reward}
        self._paid += total(terms.values())
        over = outcome.terminated or self._turns_left <= 0
        if not over or outcome.success or self._now == self._last:
            return outcome
        anew = (
            f"\n\ntry {self._now} of {self._last} ended unsolved . it begins anew .\n\n"
            f"{turn.restart()}"
        )
        # Whoever begins anew has to read the whole beginning.
        room = max(SHORTEST, OBSERVATION_LENGTH - len(anew))
        said = bounded(outcome.observation, room) + anew
        terms = {**terms, TAKEN_BACK: -self._paid}
        self._now, self._turns_left, self._paid = self._now + 1, self._share, 0.0
        return replace(outcome, observation=said, terms=terms, terminated=False, score=0.0)

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return the state with the number of the try."""
        return f"{state}\ntry {self._now}", plan
