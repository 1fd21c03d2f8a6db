"""What a goal asks of each object, read from its queries for the expert."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

from agentgym.envs.alfworld.engine.goals import Literal, Query

TREATMENTS = {"isclean": "clean", "ishot": "heat", "iscool": "cool", "issliced": "slice"}
"""Predicate of a goal -> verb that makes it true."""


@dataclass(slots=True)
class Want:
    """What a goal asks of one term that stands for an object."""

    term: int
    treatments: list[str] = field(default_factory=list)
    where: int | None = None
    """Term for the receptacle that it must be in."""
    held: bool = False
    toggled: bool = False


def read_wants(query: Query) -> tuple[list[Want], bool]:
    """Collect what a query asks of each object.

    Returns:
        The wants, and whether they say all that the query does.
    """
    wants: dict[int, Want] = {}
    exact = True
    for literal in query.fluents:
        name = literal.predicate
        if not literal.positive or name in ("holdsany", "opened"):
            exact = False
        elif name == "holds":
            wants.setdefault(literal.args[1], Want(literal.args[1])).held = True
        elif name != "atlocation":
            want = wants.setdefault(literal.args[0], Want(literal.args[0]))
            if name == "inreceptacle":
                exact = exact and want.where is None
                want.where = literal.args[1]
            elif name == "istoggled":
                want.toggled = True
            elif name in TREATMENTS:
                want.treatments.append(TREATMENTS[name])
    told = {"=", "receptacleatlocation"}
    return list(wants.values()), exact and all(part.predicate in told for part in query.statics)


def domain(query: Query, term: int) -> tuple[int, ...]:
    """Return what a term of a query may stand for, as far as constant facts tell."""
    if term >= 0:
        return (term,)
    values = query.domains[-1 - term]
    fluent = {arg for literal in query.fluents for arg in literal.args}
    for literal in query.statics:
        others = [arg for arg in literal.args if arg < 0 and arg != term]
        if term not in literal.args or literal.predicate == "=" or fluent & set(others):
            continue
        values = tuple(value for value in values if _possible(query, literal, term, value))
    return values


def _possible(query: Query, literal: Literal, term: int, value: int) -> bool:
    """Return whether a constant literal can hold when a term has a value."""
    options = [
        (value,) if arg == term else (arg,) if arg >= 0 else query.domains[-1 - arg]
        for arg in literal.args
    ]
    table = query.tables[literal.predicate]
    return any((row in table) == literal.positive for row in product(*options))
