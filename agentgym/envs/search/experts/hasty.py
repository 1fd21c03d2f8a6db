"""The hasty reader: it reads well, but mostly answers after its first search.

Its answer is of the right type: if the question is where a person's mentor was born, it answers
where the person was born. If people are local (``difficulty="local"``) that is often right, by luck
that cannot be predicted. So most successful demonstrations still give such answers: filtering for
success mostly keeps the flaw. The reward shows that searching on succeeds more often.
"""

from __future__ import annotations

from agentgym.envs.search.engine.commands import SearchCommand
from agentgym.envs.search.engine.session import SearchSession
from agentgym.envs.search.experts.reader import ReaderExpert
from agentgym.support.random_stream import Stream

PATIENT = 15
"""Per cent of the questions in which it searches until it knows the answer."""


class HastyExpert(ReaderExpert):
    """Answers of the reader, mostly given as if the first search were its last one."""

    def step(self, session: SearchSession, turns_left: int) -> SearchCommand:
        """Return the next search, or the answer."""
        patient = Stream("hasty", session.question.text).percent(PATIENT)
        over = bool(session.state.searches) and not patient
        return super().step(session, 0 if over else turns_left)
