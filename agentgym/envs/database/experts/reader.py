"""The expert that reads the schema, then the result of its statement."""

from __future__ import annotations

import re

from agentgym.envs.database.engine.session import ANSWER, SCHEMA, SQL, DatabaseSession
from agentgym.envs.database.experts.base import DONE, Command
from agentgym.envs.database.generator.domains import BY_WORD, Domain, Thing
from agentgym.envs.database.generator.request import CHANGES, Names, Request, read, statement
from agentgym.support.text_lines import split_lines

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*)\)")
_REFERENCE = re.compile(r"(\w+) INTEGER REFERENCES")


class ReaderExpert:
    """Uses only visible information, and knows the possible names of columns."""

    def plan(self, session: DatabaseSession) -> list[Command]:
        """Return the remaining commands up to the answer; empty if there is no plan.

        Commands that depend on output still to come are placeholders; only their number is exact.
        """
        if session.lost():
            return []
        shown = next((each.observation for each in session.steps if each.action == SCHEMA), None)
        if shown is None:
            return [(SCHEMA, ""), (SQL, ""), (ANSWER, "")]
        request = read(session.problem.text)
        if request is None:
            return []
        names = read_schema(shown, BY_WORD[request.thing])
        return self.ask(session, request, statement(request, names))

    def ask(self, session: DatabaseSession, request: Request, sql: str) -> list[Command]:
        """Return the commands that begin with the statement that solves the task."""
        told = next((each.observation for each in session.steps if each.argument == sql), None)
        if told is None:
            return [(SQL, sql), (ANSWER, "")]
        if request.kind in CHANGES:
            return [(ANSWER, DONE)]
        return [(ANSWER, ", ".join(split_lines(told)[1:]))]


def read_schema(text: str, domain: Domain) -> Names:
    """Find the names of a domain's tables and columns in a schema."""
    thing, place, reference = "", "", ""
    columns: dict[str, str] = {}
    place_columns: dict[str, str] = {}
    for name, body in _TABLE.findall(text):
        found = [each.split()[0] for each in body.split(", ")]
        refers = _REFERENCE.search(body)
        if name in domain.thing.tables:
            thing, columns = name, words_of(domain.thing, found)
            reference = refers[1] if refers else ""
        else:
            place, place_columns = name, words_of(domain.place, found)
    return Names(thing, columns, place, place_columns, reference)


def words_of(thing: Thing, columns: list[str]) -> dict[str, str]:
    """Return the columns of a table, by the words of questions."""
    words = {"id": "id", "name": "name"}
    for each in thing.parts:
        for column in columns:
            if column in each.names:
                words[each.word] = column
    return words
