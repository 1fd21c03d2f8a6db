"""Notes: a memory that a policy writes to and reads from by actions of its own.

A policy that reads only its last turns forgets what stood before. With ``notes=N`` any environment
takes ``note WORDS`` and ``recall``, whose answer lists the notes of the episode. Notes outlive a
try (`agentgym.core.tries`): each further one begins with them, so that what was learned from the
first is read in the second, as in Reflexion (Shinn et al. 2023, arXiv:2303.11366).
"""

from __future__ import annotations

from typing import ClassVar

from agentgym.actions import ActionSpec, Param
from agentgym.core.extension import Extension, Turn, read_order
from agentgym.core.options import integer
from agentgym.core.outcome import OBSERVATION_LENGTH, Outcome

NOTE, RECALL = "note", "recall"
MOST = 100
"""Most notes that an environment may be asked to keep."""
ROOM = OBSERVATION_LENGTH // 4
"""Most characters of all notes together: they stand above the first observation of a try."""


class Notes(Extension):
    """The notes of an episode.

    Args:
        most: How many are kept; of more, the newest, and of those as many as have room.

    Raises:
        ConfigurationError: It is no whole number from 1 to 100.
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

    def __init__(self, most: int) -> None:
        self.most = integer(most, "notes (0: none)", 1, MOST)
        self._notes: list[str] = []

    def begin(self, goal: str, horizon: int) -> None:
        """Begin an episode without notes."""
        self._notes = []

    def open(self, observation: str) -> str:
        """Begin a try with the notes so far."""
        return f"{self._listed()}\n\n{observation}" if self._notes else observation

    def play(self, native: str, turn: Turn) -> Outcome:
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

    def told(self, state: str, plan: int | None) -> tuple[str, int | None]:
        """Return the state with the notes, which are a part of it."""
        return (f"{state}\n{self._listed()}" if self._notes else state), plan

    def _listed(self) -> str:
        """Return all notes, oldest first."""
        lines = (f"{i}. {text}" for i, text in enumerate(self._notes, 1))
        return "\n".join(["your notes:", *lines])
