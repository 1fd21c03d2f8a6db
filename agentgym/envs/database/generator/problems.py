"""Databases and tasks about them, each determined by its key alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.envs.database.engine.database import Database
from agentgym.envs.database.engine.session import Problem, write_cell
from agentgym.envs.database.engine.tables import Cell, Column, Table
from agentgym.envs.database.generator.asking import Columns, Rows, make_request
from agentgym.envs.database.generator.config import GENERATOR_VERSION, GeneratorConfig
from agentgym.envs.database.generator.domains import (
    DOMAINS,
    NAMES,
    REFERENCES,
    Domain,
    TableSubject,
)
from agentgym.envs.database.generator.request import CHANGES, SchemaNames, say, statement
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
    entities = _draw_columns(domain.entity, pool[PLACES : PLACES + count], stream)
    places = _draw_columns(domain.place, pool[:PLACES], stream)
    holders = [stream.between(1, PLACES) for _ in range(count)] if config.places else []
    names, tables = _tables(domain, config, stream, entities, places, holders)
    domain_rows = Rows(domain, entities, places, holders, pool[PLACES + count :])
    request = make_request(config, domain_rows, stream)
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
            () if changing else tuple(write_cell(row[0]) for row in result.rows),
            database.contents() if changing else {},
        )
    finally:
        database.close()


def _draw_columns(entity: TableSubject, names: list[str], stream: Stream) -> dict[str, list[Cell]]:
    """Draw the rows of a table; in no column of numbers is one twice."""
    columns: dict[str, list[Cell]] = {"id": [*range(1, len(names) + 1)], "name": [*names]}
    for quantity in entity.quantities:
        first = stream.between(LEAST, MOST)
        columns[quantity.word] = [*stream.sample(range(first, first + SPAN), len(names))]
    columns[entity.category.word] = [stream.choice(entity.category.values) for _ in names]
    return columns


def _tables(
    domain: Domain,
    config: GeneratorConfig,
    stream: Stream,
    entities: Columns,
    places: Columns,
    holders: list[int],
) -> tuple[SchemaNames, tuple[Table, ...]]:
    """Name tables and columns, and put the rows into them."""
    place, place_columns = _named(domain.place, config, stream)
    entity, columns = _named(domain.entity, config, stream)
    if not config.places:
        return SchemaNames(entity, columns), (_table(entity, columns, entities, stream, {}, {}),)
    reference = f"{place}{stream.choice(REFERENCES)}"
    declared = {reference: f"INTEGER REFERENCES {place}(id)"}
    tables = [
        _table(entity, columns, entities, stream, {reference: holders}, declared),
        _table(place, place_columns, places, stream, {}, {}),
    ]
    return SchemaNames(entity, columns, place, place_columns, reference), tuple(
        stream.shuffled(tables)
    )


def _named(
    entity: TableSubject, config: GeneratorConfig, stream: Stream
) -> tuple[str, dict[str, str]]:
    """Draw what a table and its columns are called."""
    columns = {"id": "id", "name": "name"}
    for part in entity.parts:
        columns[part.word] = stream.choice(part.names[: config.names])
    # Where there is one table, its name can be typed as the question has it.
    return (stream.choice(entity.tables[: config.names]) if config.places else entity.word), columns


def _table(
    name: str,
    columns: Mapping[str, str],
    columns_by_word: Columns,
    stream: Stream,
    extra: Mapping[str, Sequence[Cell]],
    declared: Mapping[str, str],
) -> Table:
    """Make a table whose columns stand in an order of its own, behind id and name."""
    values = {columns[word]: cells for word, cells in columns_by_word.items()} | dict(extra)
    order = ("id", "name", *stream.shuffled([*values][2:]))
    kinds = {
        column: "TEXT" if isinstance(values[column][0], str) else "INTEGER" for column in order
    } | {
        "id": "INTEGER PRIMARY KEY",
        **declared,
    }
    rows = zip(*(values[column] for column in order), strict=True)
    return Table(name, tuple(Column(column, kinds[column]) for column in order), tuple(rows))
