"""Numbers that tell players of equal points apart; the larger one is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction

from podiumkit.model.tournament import Tournament
from podiumkit.standings.records import Record

Records = Mapping[str, Record]
"""What each player achieved."""


def tiebreak(name: str, event: Tournament, found: Records) -> dict[str, Fraction]:
    """Return a tie-break of all players.

    ``head-to-head`` depends on who has equal points otherwise and is computed by
    :func:`head_to_head`; here it is 0.

    Args:
        name: Its name.
        event: The tournament.
        found: What each player achieved.
    """
    if name == "head-to-head":
        return dict.fromkeys(found, Fraction(0))
    if name == "rating":
        return {player.name: Fraction(player.rating) for player in event.roster}
    return {player: _NUMBERS[name](record, found) for player, record in found.items()}


def _buchholz(record: Record, found: Records) -> Fraction:
    """Return the points of all opponents."""
    return sum((found[name].points for name, _ in record.opponents), Fraction(0))


def _median_buchholz(record: Record, found: Records) -> Fraction:
    """Return the points of the opponents without the best and the worst of them."""
    points = sorted(found[name].points for name, _ in record.opponents)
    return sum(points[1:-1], Fraction(0))


def _sonneborn_berger(record: Record, found: Records) -> Fraction:
    """Return the points of beaten opponents and the half of those with whom it was a draw.

    If two players met several times, each match counts.
    """
    total = Fraction(0)
    met: Counter[str] = Counter()
    for name, gained in record.opponents:
        results = [other for opponent, other in found[name].opponents if opponent == record.name]
        conceded = results[met[name]]
        met[name] += 1
        if gained > conceded:
            total += found[name].points
        elif gained == conceded:
            total += found[name].points / 2
    return total


_NUMBERS: dict[str, Callable[[Record, Records], Fraction]] = {
    "buchholz": _buchholz,
    "difference": lambda record, _: record.difference,
    "median-buchholz": _median_buchholz,
    "scored": lambda record, _: record.scored,
    "sonneborn-berger": _sonneborn_berger,
    "wins": lambda record, _: Fraction(record.wins),
}


def head_to_head(names: list[str], event: Tournament) -> dict[str, Fraction]:
    """Return the points of players in the matches among themselves.

    They tell nothing, and all are 0, if two of the players have not met.

    Args:
        names: The players.
        event: The tournament.
    """
    points = dict.fromkeys(names, Fraction(0))
    met: set[frozenset[str]] = set()
    for match in event.matches():
        if match.away is None or match.score is None:
            continue
        if match.home in points and match.away in points:
            home, away = event.rules.points(match.score)
            points[match.home] += home
            points[match.away] += away
            met.add(frozenset((match.home, match.away)))
    if len(met) < len(names) * (len(names) - 1) // 2:
        return dict.fromkeys(names, Fraction(0))
    return points
