"""The standings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from podiumkit.model.tournament import Tournament
from podiumkit.standings.records import Record, records
from podiumkit.standings.tiebreaks import head_to_head, tiebreak


@dataclass(frozen=True)
class Row:
    """A line of the standings.

    Attributes:
        rank: The place; players who cannot be told apart share it.
        record: What the player achieved.
        tiebreaks: The tie-breaks, in the order of the tournament.
    """

    rank: int
    record: Record
    tiebreaks: tuple[Fraction, ...]

    @property
    def name(self) -> str:
        """The player."""
        return self.record.name


def standings(event: Tournament) -> list[Row]:
    """Return the standings, the best first; players who share a place stand by their seed."""
    found = records(event)
    seeds = event.roster.seeds()
    groups = [sorted(found, key=seeds.__getitem__)]
    groups = _split(groups, {name: record.points for name, record in found.items()})
    values: dict[str, list[Fraction]] = {name: [] for name in found}
    for name in event.tiebreaks:
        numbers = tiebreak(name, event, found)
        if name == "head-to-head":
            for group in groups:
                numbers.update(head_to_head(group, event))
        for player in found:
            values[player].append(numbers[player])
        groups = _split(groups, numbers)
    rows: list[Row] = []
    for group in groups:
        rank = len(rows) + 1
        rows += [Row(rank, found[player], tuple(values[player])) for player in group]
    return rows


def _split(groups: Sequence[list[str]], numbers: dict[str, Fraction]) -> list[list[str]]:
    """Split groups of equal players by a number, the larger ones first."""
    found: list[list[str]] = []
    for group in groups:
        for number in sorted({numbers[name] for name in group}, reverse=True):
            found.append([name for name in group if numbers[name] == number])
    return found
