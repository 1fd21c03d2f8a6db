"""Summaries: the policy replaces earlier turns by its own words, so that its context stays short.

With ``summary_every=N`` every environment accepts ``summarise WORDS``. The prompt of later turns
then contains the first observation, this action and the turns after it (`agentgym.conversation`).
A policy may summarise at any time, and after N turns it has to: no other action is carried out. A
summary takes a turn. In training a summary begins a new row, so that every row holds exactly what
the model read and wrote, and the reward of the episode reaches the tokens of its summaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from agentgym.actions import ActionSpec, Param
from agentgym.core.extension import LONGEST, Extension, TurnAnswers, read_order
from agentgym.core.options import integer
from agentgym.core.outcome import OBSERVATION_LENGTH, Outcome, bounded

SUMMARISE = "summarise"
MOST = 1000
"""Upper bound of the argument ``summary_every``."""
DEMAND = f"[Now answer with {SUMMARISE} and all that you have to remember: you forget these turns.]"
DONE = "[You forget the turns before your summary.]"


class Summaries(Extension):
    """The summaries of an episode.

    Args:
        turns: Number of turns after which the policy has to summarise.

    Raises:
        ConfigurationError: ``turns`` is not an integer from 1 to 1000.
    """

    argument = "summary_every"
    specs: ClassVar = (
        ActionSpec(
            SUMMARISE,
            "Forget all turns so far except for the first observation and this summary.",
            (Param("text", description="What you have to remember, in words."),),
            examples=(f"{SUMMARISE} I have the key, and the door is to the north",),
            native=f"{SUMMARISE} {{text}}",
        ),
    )
    remembers = ("turn_count", "observation", "actions", "forgets")

    def __init__(self, turns: int) -> None:
        self.every = integer(turns, "summary_every (0: no summaries)", 1, MOST)
        self.begin("", self.every)

    @property
    def info(self) -> Mapping[str, Any]:
        """Whether the last action was a summary."""
        return {"forgets": self._forgets}

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode, in which there is nothing to summarise yet."""
        self._turn_count, self._observation, self._forgets = 0, "", False
        self._actions: list[str] = []

    def open(self, observation: str) -> str:
        """Begin a try."""
        self._observation = observation
        return observation

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Take a summary, demand one, or act."""
        order = read_order(native, (SUMMARISE,))
        self._forgets = order is not None and bool(order.text)
        if self._forgets:
            self._turn_count, self._actions = 0, []
            return turn.idle(self._with_note(DONE), True)
        if order is not None:
            return turn.idle(f"invalid: write words behind {SUMMARISE}", False)
        if self._turn_count >= self.every:
            return turn.idle(f"invalid: {DEMAND}", False)
        outcome = turn.act()
        self._turn_count, self._actions = self._turn_count + 1, [*self._actions, native]
        self._observation = outcome.observation
        if self._turn_count < self.every or outcome.terminated or outcome.truncated:
            return outcome
        return replace(outcome, observation=self._with_note(DEMAND))

    def _with_note(self, note: str) -> str:
        """Return the environment's last observation with a note of ours after it."""
        text = bounded(self._observation, OBSERVATION_LENGTH - len(note) - 2)
        return f"{text}\n\n{note}"

    def state(self, state: str) -> str:
        """Return the state, extended by the turns since the last summary."""
        return f"{state}\n{self._turn_count} turns since a summary"

    def turns(self, plan: int | None) -> int | None:
        """Return the turns of a plan with its summaries, of which none follows the last action."""
        if not plan:
            return plan
        return plan + (self._turn_count + plan - 1) // self.every

    def expert(self, action: str) -> str:
        """Return a summary of the actions since the last one, if one is due."""
        if self._turn_count < self.every:
            return action
        kept: list[str] = []
        for earlier in reversed(self._actions):
            if sum(map(len, kept)) + 2 * len(kept) + len(earlier) > LONGEST // 2:
                break
            kept.insert(0, " ".join(earlier.split()))
        return f"{SUMMARISE} done: {'; '.join(kept) or 'nothing'}"
