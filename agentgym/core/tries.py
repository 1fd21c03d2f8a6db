"""Tries: episodes in which a policy can repeat a task after a failure.

With ``tries=N``, when a try ends unsolved or uses up its share of the horizon, the world is reset
and the policy continues with its history and notes. The return of the episode is the return of its
last try: the family's rewards of a try are subtracted when the next one begins. Reward hooks with
state for a try are reset. Penalties and costs count for the whole episode. A bonus for a discovery
is given once per episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentgym.core.extension import Extension, TurnAnswers
from agentgym.core.hooks import TASK_TERM
from agentgym.core.options import integer
from agentgym.core.outcome import OBSERVATION_LENGTH, Outcome, bounded, total

TAKEN_BACK = "earlier_try"
"""Key of the subtracted rewards in ``info["reward_terms"]``."""
MOST = 100
"""Maximum number of tries per episode."""
SHORTEST = 1000
"""Minimum number of characters shown of a try's last observation."""


class Tries(Extension):
    """The extension that repeats a task after a failed try.

    Args:
        max_tries: Maximum number of tries, at least 2.

    Raises:
        ConfigurationError: ``max_tries`` is not an integer from 2 to 100.
    """

    argument = "tries"
    remembers = ("now", "last", "share", "left", "end", "paid")

    def __init__(self, max_tries: int) -> None:
        self.most = integer(max_tries, "tries (1: no further one)", 2, MOST)
        self.begin("", self.most)

    @property
    def info(self) -> Mapping[str, Any]:
        """Number of the current try, from 1."""
        return {"try": self._now}

    def begin(self, goal: str, horizon: int) -> None:
        """Begin the first try; each has an equal share of the turns, the last one the rest."""
        self._last = min(self.most, horizon)  # every try needs at least one turn
        self._share, self._left = horizon // self._last, horizon
        self._count(1)

    def _count(self, number: int) -> None:
        """Count the turns and the rewards of a try."""
        self._now, self._paid = number, 0.0
        # The try ends when this many turns of the episode are left.
        self._end = 0 if number == self._last else self._left - self._share

    def turns_left(self, turns: int) -> int:
        """Return the number of turns left in this try."""
        return self._left - self._end

    def horizon(self, turns: int) -> int:
        """Return the turn budget of all tries."""
        return turns * self.most

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Take one turn; begin the next try if that ends this one unsolved."""
        outcome = turn.act()
        self._left -= 1
        terms = outcome.terms or {TASK_TERM: outcome.reward}
        self._paid += total(terms.values())
        over = outcome.terminated or outcome.truncated or self._left <= self._end
        if not over or outcome.success or self._now == self._last:
            return outcome
        ended, terms = self._now, {**terms, TAKEN_BACK: -self._paid}
        self._count(ended + 1)
        anew = (
            f"\n\ntry {ended} of {self._last} ended unsolved . it begins anew .\n\n{turn.restart()}"
        )
        # Cut the old observation, not the new one: the policy needs all of the next try's start.
        room = max(SHORTEST, OBSERVATION_LENGTH - len(anew))
        observation = bounded(outcome.observation, room) + anew
        return replace(
            outcome,
            observation=observation,
            terms=terms,
            terminated=False,
            truncated=False,
            score=0.0,
        )

    def state(self, state: str) -> str:
        """Return the state, extended by the number of the try."""
        return f"{state}\ntry {self._now}"
