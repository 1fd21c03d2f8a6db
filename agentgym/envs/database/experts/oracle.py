"""The expert that knows the solution."""

from __future__ import annotations

import json

from agentgym.envs.database.engine.session import ANSWER, SQL, DatabaseSession
from agentgym.envs.database.experts.base import DONE, Command


class OracleExpert:
    """Answers a question at once, and makes a change by its known statement.

    For the user's own questions it first runs the statement of their row, if any, so that
    imitation learns to query.
    """

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the remaining commands up to the answer; empty if there is no plan."""
        problem = session.problem
        if session.is_lost():
            return []
        if problem.looked_up and not any(step.argument == problem.query for step in session.steps):
            return [(SQL, problem.query), (ANSWER, "")]
        if problem.answer:
            values = list(problem.answer)
            return [(ANSWER, values[0] if len(values) == 1 else json.dumps(values))]
        if session.done():
            return [(ANSWER, DONE)]
        return [(SQL, problem.query), (ANSWER, DONE)] if problem.query else []
