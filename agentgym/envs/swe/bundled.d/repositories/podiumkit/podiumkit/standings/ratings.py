"""Ratings (Elo, 1978)."""

from __future__ import annotations

from fractions import Fraction

from podiumkit.errors import PlayerError
from podiumkit.model.players import Roster
from podiumkit.model.tournament import Tournament

WIDEST = 400
"""Larger differences of ratings count as this."""


def expected_score(rating: float, other: float) -> float:
    """Return which share of the points a player can expect: 1 / (1 + 10^((other - own) / 400))."""
    difference = max(-WIDEST, min(WIDEST, other - rating))
    return 1 / (1 + 10 ** (difference / 400))


def updated_ratings(event: Tournament, speed: float = 20) -> dict[str, int]:
    """Return the ratings of all players after a tournament, rounded.

    All changes are computed from the ratings before it. Players without a rating keep none, and
    matches against them, byes and matches by default do not count.

    Args:
        event: The tournament.
        speed: How far a single match can move a rating.

    Raises:
        PlayerError: The speed is not positive.
    """
    if speed <= 0:
        raise PlayerError(f"expected a positive speed, got {speed:g}")
    changes = dict.fromkeys(event.roster.names(), 0.0)
    for home, away, share in _rated(event):
        change = speed * (float(share) - expected_score(*_ratings(event.roster, home, away)))
        changes[home] += change
        changes[away] -= change
    return {
        player.name: max(1, _rounded(player.rating + changes[player.name])) if player.rating else 0
        for player in event.roster
    }


def performance(event: Tournament, name: str) -> int | None:
    """Return which rating would explain the results of a player.

    It is the mean rating of the opponents, and 400 times the difference of wins and losses for
    each match.

    Returns:
        The rating, None if no match against a player with a rating was played.

    Raises:
        PlayerError: There is no such player.
    """
    player = event.roster[name]
    ratings: list[int] = []
    balance = Fraction(0)
    for match in event.matches():
        if match.away is None or match.score is None or not match.is_played:
            continue
        if player.name not in (match.home, match.away):
            continue
        other = event.roster[match.away if match.home == player.name else match.home]
        if other.rating:
            ratings.append(other.rating)
            balance += (match.winner == player.name) - (match.loser == player.name)
    if not ratings:
        return None
    return _rounded((sum(ratings) + 400 * float(balance)) / len(ratings))


def _rated(event: Tournament) -> list[tuple[str, str, Fraction]]:
    """Return the matches that count: both players and the share of the first one."""
    found = []
    for match in event.matches():
        if match.away is None or not match.is_played:
            continue
        if event.roster[match.home].rating and event.roster[match.away].rating:
            share = Fraction(1, 2)
            if match.winner is not None:
                share = Fraction(match.winner == match.home)
            found.append((match.home, match.away, share))
    return found


def _ratings(roster: Roster, home: str, away: str) -> tuple[int, int]:
    return roster[home].rating, roster[away].rating


def _rounded(number: float) -> int:
    """Round halves up."""
    return int(number + 0.5) if number >= 0 else -int(-number + 0.5)
