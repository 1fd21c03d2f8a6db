"""The oracle: it follows the plan that comes with a question, and knows the answer."""

from __future__ import annotations

from agentgym.envs.search.engine.session import Session, question_query
from agentgym.envs.search.experts.base import Expert, Step, answer, search
from agentgym.envs.search.question import Question


class OracleExpert(Expert):
    """Search what the plan says, then answer; without a plan, search for the question itself.

    It leaves out what has been searched for already, and the rest of the plan once all evidence has
    been shown. It shows the ceiling; what it knows cannot be learned from what is shown.
    """

    def step(self, session: Session, turns_left: int) -> Step:
        """Return the next search of the plan, or the answer."""
        left = self.searches(session)
        if left and turns_left:
            return search(left[0])
        return answer(session.question.answers[0])

    def turns(self, question: Question) -> int:
        """Return the length of the plan, the answer included."""
        return len(_plan(question)) + 1

    def searches(self, session: Session) -> list[str]:
        """Return the queries that are left."""
        if session.question.gold and not session.missing:
            return []
        made = {found.query.casefold() for found in session.state.searches}
        return [query for query in _plan(session.question) if query.casefold() not in made]


def _plan(question: Question) -> tuple[str, ...]:
    return question.plan or (question_query(question),)
