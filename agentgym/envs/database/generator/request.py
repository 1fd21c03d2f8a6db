"""Requests to a database: written in words, parsed from words, and written in SQL.

`say` and `read` are inverses of each other. `statement` needs the `SchemaNames` of tables and
columns, from the generator or from the schema that an expert has read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from agentgym.envs.database.engine.tables import quoted
from agentgym.envs.database.generator.domains import BY_WORD, Domain

HIGHEST, LOWEST = "highest", "lowest"
ORDINALS = {"second": 1, "third": 2, "fourth": 3}
COUNTS = {"two": 2, "three": 3}
KINDS = (
    "extreme", "which", "rank", "several", "total", "average", "count", "lookup", "group",
    "update", "raise", "delete", "insert",
)  # fmt: skip
"""Kinds of questions, then of changes."""
CHANGES = KINDS[9:]


class RowCondition(NamedTuple):
    """A condition on rows."""

    word: str
    """The quantity or category, by its name in questions; or ``name``."""
    test: str
    """``above`` or ``below`` a number, ``is`` for a category, ``named``."""
    value: str
    """The value to compare with; ``average`` means the average of all rows."""
    place: bool = False
    """Whether it is about the place of an entity."""


class DatabaseRequest(NamedTuple):
    """A question or a change to make."""

    kind: str
    """One of `KINDS`."""
    entity: str
    """The entity, by its name in questions."""
    word: str = ""
    """The quantity to return or change."""
    best: str = ""
    """`HIGHEST` or `LOWEST`."""
    amount: str = ""
    """Position in the order, count, or the number of a change."""
    conditions: tuple[RowCondition, ...] = ()
    """Conditions that select the rows; all must hold."""
    row: tuple[tuple[str, str], ...] = ()
    """Values of a new row, by their names in questions; its place by the place's name."""


class SchemaNames(NamedTuple):
    """The names of the tables and columns of a database."""

    entity: str
    """The table of entities."""
    columns: Mapping[str, str]
    """Its columns, by their names in questions."""
    place: str = ""
    """The table of places; empty if there is none."""
    place_columns: Mapping[str, str] = {}
    """Its columns."""
    reference: str = ""
    """The column of entities that references a place."""


_TELLS = {
    "extreme": "What is the {best} {word} among the {entities}{conditions}?",
    "which": "Which of the {entities}{conditions} has the {best} {word}?",
    "rank": "Which of the {entities}{conditions} has the {amount} {best} {word}?",
    "several": "Which {amount} of the {entities}{conditions} have the {best} {word}?",
    "total": "What is the total {word} of the {entities}{conditions}?",
    "average": "What is the average {word} of the {entities}{conditions}, to two decimals?",
    "count": "How many {entities}{conditions} are there?",
    "lookup": "What is the {word} of the {entity}{conditions}?",
    "group": "Add up the {word} of the {entities}{conditions} for each {amount}. What is the "
    "{best} of these totals?",
    "update": "Set the {word} of all {entities}{conditions} to {amount}.",
    "raise": "Raise the {word} of all {entities}{conditions} by {amount}.",
    "delete": "Delete all {entities}{conditions}.",
    "insert": "Add one {entity} with {row}.",
}
"""Every request in words."""
_PART = {
    "best": f"(?P<best>{HIGHEST}|{LOWEST})",
    "word": r"(?P<word>\w+)",
    "amount": r"(?P<amount>\w+)",
    "entities": r"(?P<entities>\w+)",
    "entity": r"(?P<entity>\w+)",
    "conditions": r"(?P<conditions>(?: (?:and )?whose .+?)?)",
    "row": r"(?P<row>.+)",
}
_READS = {
    kind: re.compile(
        "".join(
            _PART[part[1:-1]] if part.startswith("{") else re.escape(part)
            for part in re.split(r"(\{\w+\})", text)
        )
    )
    for kind, text in _TELLS.items()
}
# "which" would read "the second highest": what says more is tried first.
_ORDER = ("rank", *(kind for kind in KINDS if kind != "rank"))
_CONDITION = re.compile(
    r"(?:and )?whose (?:(?P<place>\w+)'s )?(?P<word>\w+) is "
    r"(?:(?P<test>above|below) (?:the (?P<average>average) \w+|(?P<number>\d+))"
    r"|named (?P<name>\w+)|(?P<value>\w+))"
)
_NAMED = re.compile(r"named (?P<name>\w+)")
_PAIR = re.compile(r"(\w+) (\w+)")


def say(request: DatabaseRequest) -> str:
    """Write a request in words."""
    domain = BY_WORD[request.entity]
    conditions = " ".join(
        ("and " if place else "") + _condition(condition, domain)
        for place, condition in enumerate(request.conditions)
    )
    return _TELLS[request.kind].format(
        **request._asdict()
        | {
            "entities": domain.entity.plural,
            "conditions": f" {conditions}" if conditions else "",
            "row": _listed([f"{word} {value}" for word, value in request.row]),
        }
    )


def _condition(condition: RowCondition, domain: Domain) -> str:
    """Write a condition in words."""
    word, test, value, place = condition
    if word == "name":
        # The entity itself, or the place in which it is.
        return f"whose {domain.place.word} is named {value}" if place else f"named {value}"
    owner = f"{domain.place.word}'s " if place else ""
    if test == "is":
        return f"whose {owner}{word} is {value}"
    return f"whose {owner}{word} is {test} {f'the average {word}' if value == 'average' else value}"


def _listed(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def read_request(text: str) -> DatabaseRequest | None:
    """Parse a request from words; None if it is not one."""
    for kind in _ORDER:
        match = _READS[kind].fullmatch(text) if kind != "lookup" else None
        if kind == "lookup":
            match = _LOOKUP.fullmatch(text)
        if match is None:
            continue
        part = {name: value or "" for name, value in match.groupdict().items()}
        domain = BY_WORD.get(part.get("entities") or part.get("entity", ""))
        if domain is None:
            return None
        named = RowCondition("name", "named", part.get("name", ""))
        return DatabaseRequest(
            kind,
            domain.entity.word,
            part.get("word", ""),
            part.get("best", ""),
            part.get("amount", ""),
            (named,) if kind == "lookup" else _conditions(part.get("conditions", "")),
            tuple(_PAIR.findall(part.get("row", "").replace(" and ", ", "))),
        )
    return None


_LOOKUP = re.compile(r"What is the (?P<word>\w+) of the (?P<entity>\w+) named (?P<name>\w+)\?")


def _conditions(text: str) -> tuple[RowCondition, ...]:
    conditions = []
    for match in _CONDITION.finditer(text):
        if match["name"]:
            conditions.append(RowCondition("name", "named", match["name"], True))
        else:
            value = match["average"] or match["number"] or match["value"]
            conditions.append(
                RowCondition(
                    match["word"], match["test"] or "is", value, match["place"] is not None
                )
            )
    return tuple(conditions)


def statement(request: DatabaseRequest, names: SchemaNames) -> str:
    """Write a request in SQL.

    Raises:
        KeyError: The database lacks a table or column of the request.
    """
    if request.kind == "insert":
        return _insert(request, names)
    changing = request.kind in CHANGES
    joined = not changing and any(condition.place for condition in request.conditions)
    prefix = f"{quoted(names.entity)}." if joined else ""
    column = f"{prefix}{quoted(names.columns[request.word])}" if request.word else ""
    clause = " AND ".join(
        _where(condition, names, prefix, joined) for condition in request.conditions
    )
    clause = f" WHERE {clause}" if clause else ""
    table = quoted(names.entity)
    if changing:
        if request.kind == "delete":
            return f"DELETE FROM {table}{clause}"
        value = request.amount if request.kind == "update" else f"{column} + {request.amount}"
        return f"UPDATE {table} SET {column} = {value}{clause}"
    if joined:
        place = quoted(names.place)
        table += f" JOIN {place} ON {prefix}{quoted(names.reference)} = {place}.id"
    return _select(request, names, column, f"{table}{clause}", prefix)


def _select(
    request: DatabaseRequest, names: SchemaNames, column: str, source: str, prefix: str
) -> str:
    """Write a question, given where the rows come from."""
    kind, descending = request.kind, " DESC" if request.best == HIGHEST else ""
    name = f"{prefix}{quoted(names.columns['name'])}"
    if kind in ("which", "rank", "several"):
        count = COUNTS[request.amount] if kind == "several" else 1
        limit = f"{count} OFFSET {ORDINALS[request.amount]}" if kind == "rank" else str(count)
        return f"SELECT {name} FROM {source} ORDER BY {column}{descending} LIMIT {limit}"
    if kind == "group":
        group = f"{prefix}{quoted(names.columns[request.amount])}"
        return (
            f"SELECT sum({column}) FROM {source} GROUP BY {group} "
            f"ORDER BY sum({column}){descending} LIMIT 1"
        )
    best = "max" if request.best == HIGHEST else "min"
    expression = {
        "extreme": f"{best}({column})",
        "total": f"sum({column})",
        "average": f"round(avg({column}), 2)",
        "count": "count(*)",
        "lookup": column,
    }[kind]
    return f"SELECT {expression} FROM {source}"


def _where(condition: RowCondition, names: SchemaNames, prefix: str, joined: bool) -> str:
    """Write a condition in SQL."""
    columns = names.place_columns if condition.place else names.columns
    table = names.place if condition.place else names.entity
    column = quoted(columns[condition.word])
    if condition.test in ("is", "named"):
        compared = f"= '{condition.value}'"
    else:
        sign = ">" if condition.test == "above" else "<"
        average = condition.value == "average"
        value = f"(SELECT avg({column}) FROM {quoted(table)})" if average else condition.value
        compared = f"{sign} {value}"
    if condition.place and joined:
        return f"{quoted(names.place)}.{column} {compared}"
    if condition.place:
        inner = f"SELECT id FROM {quoted(names.place)} WHERE {column} {compared}"
        return f"{quoted(names.reference)} IN ({inner})"
    return f"{prefix}{column} {compared}"


def _insert(request: DatabaseRequest, names: SchemaNames) -> str:
    columns, values = [], []
    for word, value in request.row:
        if word in names.columns:
            columns.append(quoted(names.columns[word]))
            values.append(value if value.isdigit() else f"'{value}'")
        else:
            name = quoted(names.place_columns["name"])
            columns.append(quoted(names.reference))
            values.append(f"(SELECT id FROM {quoted(names.place)} WHERE {name} = '{value}')")
    return f"INSERT INTO {quoted(names.entity)} ({', '.join(columns)}) VALUES ({', '.join(values)})"
