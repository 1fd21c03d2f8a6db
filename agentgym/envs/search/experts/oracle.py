"""The oracle: it follows the plan that comes with a question, and knows the answer."""

from __future__ import annotations

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, SearchCommand
from agentgym.envs.search.engine.session import SearchSession, question_query
from agentgym.envs.search.experts.base import Expert


class OracleExpert(Expert):
    """Search what the plan says, then answer; without a plan, search for the question itself.

    It leaves out what has been searched for already, and the rest of the plan once all evidence has
    been shown. It shows the ceiling; what it knows cannot be learned from what is shown.
    """

    def step(self, session: SearchSession, turns_left: int) -> SearchCommand:
        """Return the next search of the plan, or the answer."""
        titles_left = _titles_left(session)
        if titles_left and turns_left:
            return SearchCommand(SEARCH, titles_left[0])
        return SearchCommand(ANSWER, session.question.answers[0])


def _titles_left(session: SearchSession) -> list[str]:
    """Return the queries that are left."""
    question = session.question
    if question.gold and not session.missing:
        return []
    queries = {search.query.casefold() for search in session.state.searches}
    plan = question.plan or (question_query(question),)
    return [query for query in plan if query.casefold() not in queries]
