"""The expert that reads the schema, then the result of its statement."""

from __future__ import annotations

import re

from agentgym.envs.database.engine.session import ANSWER, SCHEMA, SQL, DatabaseSession
from agentgym.envs.database.experts.base import DONE, Command
from agentgym.envs.database.generator.domains import BY_WORD, Domain, TableSubject
from agentgym.envs.database.generator.request import (
    CHANGES,
    DatabaseRequest,
    SchemaNames,
    read_request,
    statement,
)
from agentgym.support.text_lines import split_lines

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*)\)")
_REFERENCE = re.compile(r"(\w+) INTEGER REFERENCES")


class ReaderExpert:
    """Uses only visible information, and knows the possible names of columns."""

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the remaining commands up to the answer; empty if there is no plan.

        Commands that depend on output still to come are placeholders; only their number is exact.
        """
        if session.is_lost():
            return []
        schema = next((step.observation for step in session.steps if step.action == SCHEMA), None)
        if schema is None:
            return [(SCHEMA, ""), (SQL, ""), (ANSWER, "")]
        request = read_request(session.problem.text)
        if request is None:
            return []
        names = read_schema(schema, BY_WORD[request.entity])
        return self.ask(session, request, statement(request, names))

    def ask(self, session: DatabaseSession, request: DatabaseRequest, sql: str) -> list[Command]:
        """Return the commands that begin with the statement that solves the task."""
        output = next((step.observation for step in session.steps if step.argument == sql), None)
        if output is None:
            return [(SQL, sql), (ANSWER, "")]
        if request.kind in CHANGES:
            return [(ANSWER, DONE)]
        return [(ANSWER, ", ".join(split_lines(output)[1:]))]


def read_schema(text: str, domain: Domain) -> SchemaNames:
    """Find the names of a domain's tables and columns in a schema."""
    entity, place, reference = "", "", ""
    columns: dict[str, str] = {}
    place_columns: dict[str, str] = {}
    for name, body in _TABLE.findall(text):
        column_names = [definition.split()[0] for definition in body.split(", ")]
        refers = _REFERENCE.search(body)
        if name in domain.entity.tables:
            entity, columns = name, words_of(domain.entity, column_names)
            reference = refers[1] if refers else ""
        else:
            place, place_columns = name, words_of(domain.place, column_names)
    return SchemaNames(entity, columns, place, place_columns, reference)


def words_of(entity: TableSubject, columns: list[str]) -> dict[str, str]:
    """Return the columns of a table, by the words of questions."""
    words = {"id": "id", "name": "name"}
    for part in entity.parts:
        for column in columns:
            if column in part.names:
                words[part.word] = column
    return words
