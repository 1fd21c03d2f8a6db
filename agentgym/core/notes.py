"""Notes: a memory that a policy writes and reads with actions.

A policy with a limited window forgets earlier turns. With ``notes=N`` every environment accepts
``note WORDS`` and ``recall``, which lists the notes of the episode. Notes persist between tries
(`agentgym.core.tries`): each further try begins with them, so that the second try can use lessons
of the first, as in Reflexion (Shinn et al. 2023, arXiv:2303.11366).
"""

from __future__ import annotations

from typing import ClassVar

from agentgym.actions import ActionSpec, Param
from agentgym.core.extension import Extension, TurnAnswers, read_order
from agentgym.core.options import integer
from agentgym.core.outcome import OBSERVATION_LENGTH, Outcome

NOTE, RECALL = "note", "recall"
MOST = 100
"""Upper bound of the argument ``notes``."""
ROOM = OBSERVATION_LENGTH // 4
"""Maximum total length of all notes, which precede the first observation of a try."""


class Notes(Extension):
    """The notes of an episode.

    Args:
        max_notes: Maximum number of notes; the newest that fit are kept.

    Raises:
        ConfigurationError: ``max_notes`` is not an integer from 1 to 100.
    """

    argument = "notes"
    specs: ClassVar = (
        ActionSpec(
            NOTE,
            "Write something down. You can read it again later with recall.",
            (Param("text", description="What to remember, in words."),),
            examples=(f"{NOTE} the key is in the drawer",),
            native=f"{NOTE} {{text}}",
        ),
        ActionSpec(RECALL, "Read all of your notes.", examples=(RECALL,), native=RECALL),
    )
    remembers = ("notes",)

    def __init__(self, max_notes: int) -> None:
        self.most = integer(max_notes, "notes (0: none)", 1, MOST)
        self._notes: list[str] = []

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode without notes."""
        self._notes = []

    def open(self, observation: str) -> str:
        """Begin a try with the notes so far."""
        return f"{self._listed()}\n\n{observation}" if self._notes else observation

    def play(self, native: str, turn: TurnAnswers) -> Outcome:
        """Write or read notes, or act."""
        order = read_order(native, (NOTE, RECALL))
        if order is None:
            return turn.act()
        if order.name == RECALL:
            return turn.idle(self._listed() if self._notes else "you have no notes", True)
        if not order.text:
            return turn.idle(f"invalid: write words behind {NOTE}", False)
        self._notes = [*self._notes, order.text][-self.most :]
        while sum(map(len, self._notes)) > ROOM:
            self._notes = self._notes[1:]
        return turn.idle(f"noted: {order.text}", True)

    def state(self, state: str) -> str:
        """Return the state, extended by the notes."""
        return f"{state}\n{self._listed()}" if self._notes else state

    def _listed(self) -> str:
        """Return all notes, oldest first."""
        lines = (f"{i}. {text}" for i, text in enumerate(self._notes, 1))
        return "\n".join(["your notes:", *lines])
