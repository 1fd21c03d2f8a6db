"""The hasty reader: it reads well, but mostly answers after its first search.

What it answers is of the right sort: asked where somebody's mentor was born, it says where that
somebody was born. Where people are local (``difficulty="local"``) that is often right, by luck that
nothing betrays. So among the demonstrations that succeed such answers are still the majority:
leaving out failures seldom teaches to search on. Reward tells how much more often that succeeds.
"""

from __future__ import annotations

from agentgym.envs.search.engine.commands import Command
from agentgym.envs.search.engine.session import SearchSession
from agentgym.envs.search.experts.reader import ReaderExpert
from agentgym.support.random_stream import Stream

PATIENT = 15
"""Per cent of the questions in which it searches until it knows the answer."""


class HastyExpert(ReaderExpert):
    """Answers of the reader, mostly given as if the first search were its last one."""

    def step(self, session: SearchSession, turns_left: int) -> Command:
        """Return the next search, or the answer."""
        patient = Stream("hasty", session.question.text).percent(PATIENT)
        over = bool(session.state.searches) and not patient
        return super().step(session, 0 if over else turns_left)
