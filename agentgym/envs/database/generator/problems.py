"""Databases and tasks about them, each determined by its key alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.envs.database.engine.database import Database
from agentgym.envs.database.engine.session import Problem, written
from agentgym.envs.database.engine.tables import Cell, Column, Table
from agentgym.envs.database.generator.asking import Held, Rows, make_request
from agentgym.envs.database.generator.config import GENERATOR_VERSION, GeneratorConfig
from agentgym.envs.database.generator.domains import DOMAINS, NAMES, REFERENCES, Domain, Thing
from agentgym.envs.database.generator.request import CHANGES, Names, say, statement
from agentgym.support.random_stream import Stream

SPAN = 50
"""Maximum difference between the numbers of a column."""
LEAST, MOST = 10, 49
"""Range of their starting point."""
PLACES = 6


def make_problem(config: GeneratorConfig, *key: str | int) -> Problem:
    """Make a task.

    Args:
        config: Size and difficulty.
        *key: Identifies the task.
    """
    stream = Stream("database", GENERATOR_VERSION, config.name, *key)
    domain = DOMAINS[stream.below(config.domains)]
    pool = stream.shuffled(NAMES)
    count = stream.between(*config.rows)
    things = _held(domain.thing, pool[PLACES : PLACES + count], stream)
    places = _held(domain.place, pool[:PLACES], stream)
    where = [stream.between(1, PLACES) for _ in range(count)] if config.places else []
    names, tables = _tables(domain, config, stream, things, places, where)
    held = Rows(domain, things, places, where, pool[PLACES + count :])
    request = make_request(config, held, stream)
    query = statement(request, names)
    database = Database(tables)
    try:
        result = database.execute(query)
        changing = request.kind in CHANGES
        return Problem(
            say(request),
            request.kind,
            tables,
            query,
            () if changing else tuple(written(row[0]) for row in result.rows),
            database.contents() if changing else {},
        )
    finally:
        database.close()


def _held(thing: Thing, names: list[str], stream: Stream) -> dict[str, list[Cell]]:
    """Draw the rows of a table; in no column of numbers is one twice."""
    held: dict[str, list[Cell]] = {"id": [*range(1, len(names) + 1)], "name": [*names]}
    for quantity in thing.quantities:
        first = stream.between(LEAST, MOST)
        held[quantity.word] = [*stream.sample(range(first, first + SPAN), len(names))]
    held[thing.category.word] = [stream.choice(thing.category.values) for _ in names]
    return held


def _tables(
    domain: Domain,
    config: GeneratorConfig,
    stream: Stream,
    things: Held,
    places: Held,
    where: list[int],
) -> tuple[Names, tuple[Table, ...]]:
    """Name tables and columns, and put the rows into them."""
    place, place_columns = _named(domain.place, config, stream)
    thing, columns = _named(domain.thing, config, stream)
    if not config.places:
        return Names(thing, columns), (_table(thing, columns, things, stream, {}, {}),)
    reference = f"{place}{stream.choice(REFERENCES)}"
    declared = {reference: f"INTEGER REFERENCES {place}(id)"}
    tables = [
        _table(thing, columns, things, stream, {reference: where}, declared),
        _table(place, place_columns, places, stream, {}, {}),
    ]
    return Names(thing, columns, place, place_columns, reference), tuple(stream.shuffled(tables))


def _named(thing: Thing, config: GeneratorConfig, stream: Stream) -> tuple[str, dict[str, str]]:
    """Draw what a table and its columns are called."""
    columns = {"id": "id", "name": "name"}
    for each in thing.parts:
        columns[each.word] = stream.choice(each.names[: config.names])
    # Where there is one table, its name can be typed as the question has it.
    return (stream.choice(thing.tables[: config.names]) if config.places else thing.word), columns


def _table(
    name: str,
    columns: Mapping[str, str],
    held: Held,
    stream: Stream,
    extra: Mapping[str, Sequence[Cell]],
    declared: Mapping[str, str],
) -> Table:
    """Make a table whose columns stand in an order of its own, behind id and name."""
    values = {columns[word]: cells for word, cells in held.items()} | dict(extra)
    order = ("id", "name", *stream.shuffled([*values][2:]))
    kinds = {each: "TEXT" if isinstance(values[each][0], str) else "INTEGER" for each in order} | {
        "id": "INTEGER PRIMARY KEY",
        **declared,
    }
    rows = zip(*(values[each] for each in order), strict=True)
    return Table(name, tuple(Column(each, kinds[each]) for each in order), tuple(rows))
