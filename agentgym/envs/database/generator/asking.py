"""Draw requests with a unique answer, determined by the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentgym.envs.database.engine.tables import Cell
from agentgym.envs.database.generator.config import GeneratorConfig
from agentgym.envs.database.generator.domains import Domain
from agentgym.envs.database.generator.request import (
    COUNTS,
    HIGHEST,
    LOWEST,
    ORDINALS,
    DatabaseRequest,
    RowCondition,
)
from agentgym.support.random_stream import Stream

TRIES = 50
"""Maximum number of draws of conditions."""
Columns = Mapping[str, Sequence[Cell]]
"""The values of each column, by the words of a question."""


class Rows(NamedTuple):
    """The rows of a database, and their domain."""

    domain: Domain
    """Entities and places."""
    entities: Columns
    """The entities."""
    places: Columns
    """The places."""
    where: Sequence[int]
    """The id of each entity's place; empty if there are no places."""
    free: Sequence[str]
    """Names that no row has."""

    def select_rows(self, conditions: Sequence[RowCondition]) -> list[int]:
        """Return the numbers of the rows of entities that satisfy some conditions."""
        return [
            row
            for row in range(len(self.entities["id"]))
            if all(self._holds(condition, row) for condition in conditions)
        ]

    def _holds(self, condition: RowCondition, row: int) -> bool:
        columns = self.places if condition.place else self.entities
        values = columns[condition.word]
        value = values[self.where[row] - 1 if condition.place else row]
        if isinstance(value, str):
            return value == condition.value
        assert isinstance(value, int)
        numbers = [number for number in values if isinstance(number, int)]
        # Times the number of rows, so that the average is a whole number, too.
        average = condition.value == "average"
        bound = sum(numbers) if average else int(condition.value) * len(numbers)
        total = value * len(numbers)
        return total > bound if condition.test == "above" else total < bound


def make_request(config: GeneratorConfig, rows: Rows, stream: Stream) -> DatabaseRequest:
    """Draw a request."""
    kind = stream.choice(config.kinds)
    entity = rows.domain.entity
    word = stream.choice(entity.quantities).word
    best, amount, least = stream.choice((HIGHEST, LOWEST)), "", 2
    if kind == "insert":
        return DatabaseRequest(kind, entity.word, row=_new_row(rows, stream))
    if kind == "lookup":
        name = str(stream.choice(rows.entities["name"]))
        return DatabaseRequest(
            kind, entity.word, word, conditions=(RowCondition("name", "named", name),)
        )
    if kind == "rank":
        amount = stream.choice([*ORDINALS])
        least = ORDINALS[amount] + 2
    elif kind == "several":
        amount = stream.choice([*COUNTS])
        least = COUNTS[amount] + 1
    elif kind == "group":
        amount, least = entity.category.word, 4
    elif kind in ("update", "raise"):
        # Above all numbers that there are, so that every row that is meant changes.
        amount = str(stream.between(100, 199) if kind == "update" else stream.between(1, 20))
    # All rows are no answer to how many, and no table is emptied.
    count = max(stream.between(*config.conditions), int(kind in ("count", "delete")))
    conditions = _conditions(config, rows, stream, word, least, count)
    return DatabaseRequest(
        kind,
        entity.word,
        "" if kind in ("count", "delete") else word,
        best if kind in ("extreme", "which", "rank", "several", "group") else "",
        amount,
        conditions,
    )


def _new_row(rows: Rows, stream: Stream) -> tuple[tuple[str, str], ...]:
    """Draw a row to add."""
    entity, place = rows.domain
    row = [("id", str(stream.between(100, 999))), ("name", stream.choice(rows.free))]
    row += [(quantity.word, str(stream.between(10, 99))) for quantity in entity.quantities]
    row.append((entity.category.word, stream.choice(entity.category.values)))
    if rows.where:
        row.append((place.word, str(stream.choice(rows.places["name"]))))
    return tuple(row)


def _conditions(
    config: GeneratorConfig, rows: Rows, stream: Stream, word: str, least: int, count: int
) -> tuple[RowCondition, ...]:
    """Draw conditions that some rows hold, at least so many, and others do not."""
    for _ in range(TRIES if count else 0):
        drawn = tuple(_condition(config, rows, stream, word) for _ in range(count))
        targets = {(condition.word, condition.place) for condition in drawn}
        if len(targets) == count and least <= len(rows.select_rows(drawn)) < len(
            rows.entities["id"]
        ):
            return drawn
    return ()


def _condition(config: GeneratorConfig, rows: Rows, stream: Stream, excluded: str) -> RowCondition:
    """Draw a condition."""
    place = bool(rows.where) and stream.percent(40)
    entity = rows.domain.place if place else rows.domain.entity
    columns = rows.places if place else rows.entities
    if not config.numeric and stream.percent(40):
        if place and stream.percent(50):
            return RowCondition("name", "named", str(stream.choice(rows.places["name"])), True)
        word = entity.category.word
        return RowCondition(word, "is", str(stream.choice(columns[word])), place)
    word = stream.choice(
        [quantity.word for quantity in entity.quantities if quantity.word != excluded]
    )
    test = stream.choice(("above", "below"))
    average = not config.numeric and stream.percent(30)
    value = "average" if average else str(stream.choice(columns[word]))
    return RowCondition(word, test, value, place)
