"""An expert that mostly guesses the names of columns.

In some tasks it reads the schema first and makes no mistake. In most it types its statement at
once, with random names; the choice does not depend on anything that can be read. If a name is wrong
it gives up. So most successful demonstrations still guess: filtering for success keeps the flaw.
Only the reward shows that reading first succeeds more often.
"""

from __future__ import annotations

from agentgym.envs.database.engine.session import ANSWER, SCHEMA, DatabaseSession
from agentgym.envs.database.experts.base import Command
from agentgym.envs.database.experts.reader import ReaderExpert
from agentgym.envs.database.generator.domains import BY_WORD, TableSubject
from agentgym.envs.database.generator.request import SchemaNames, read_request, statement
from agentgym.support.random_stream import Stream

READS = 15
"""Percentage of tasks in which it reads the schema."""
UNKNOWN = "unknown"
"""Its answer after a wrong guess."""
COMMON = 2
"""Number of names per column that it knows."""


class GuessingExpert(ReaderExpert):
    """Reads in some tasks, and guesses in most."""

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the remaining commands up to the answer, right or wrong."""
        text = session.problem.text
        draw = Stream("guessing", text, *map(str, session.problem.answer))
        looked = any(step.action == SCHEMA for step in session.steps)
        request = read_request(text)
        if draw.percent(READS) or looked or request is None:
            return super().plan(session)
        domain = BY_WORD[request.entity]
        entity, columns = _guessed(domain.entity, draw)
        place, place_columns = _guessed(domain.place, draw)
        sql = statement(request, SchemaNames(entity, columns, place, place_columns, f"{place}_id"))
        if session.has_failed(sql):
            return [(ANSWER, UNKNOWN)]
        return self.ask(session, request, sql)


def _guessed(entity: TableSubject, draw: Stream) -> tuple[str, dict[str, str]]:
    """Draw what a table and its columns are called; the table as a question has it."""
    columns = {"id": "id", "name": "name"}
    for part in entity.parts:
        columns[part.word] = draw.choice(part.names[:COMMON])
    return entity.word, columns
