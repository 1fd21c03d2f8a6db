"""What each player achieved."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from podiumkit.model.results import Match
from podiumkit.model.tournament import Tournament


@dataclass
class Record:
    """What a player achieved.

    Attributes:
        name: The player.
        points: The points.
        wins: Matches won, by default or not; byes do not count.
        draws: Matches drawn.
        losses: Matches lost.
        byes: Rounds without an opponent.
        scored: What the player scored in matches that were played.
        conceded: What the opponents scored in them.
        opponents: The opponents in played matches and the points they cost or brought.
        homes: How many more matches were played at home than away.
    """

    name: str
    points: Fraction = Fraction(0)
    wins: int = 0
    draws: int = 0
    losses: int = 0
    byes: int = 0
    scored: Fraction = Fraction(0)
    conceded: Fraction = Fraction(0)
    opponents: list[tuple[str, Fraction]] = field(default_factory=list)
    homes: int = 0

    @property
    def played(self) -> int:
        """The number of matches with a result."""
        return self.wins + self.draws + self.losses

    @property
    def difference(self) -> Fraction:
        """By how much more was scored than conceded."""
        return self.scored - self.conceded


def records(event: Tournament) -> dict[str, Record]:
    """Return what each player achieved, in the order in which they entered."""
    found = {player.name: Record(player.name) for player in event.roster}
    for match in event.matches():
        if match.away is None:
            record = found[match.home]
            record.byes += 1
            record.points += event.rules.win
        elif match.score is not None:
            _enter(found[match.home], found[match.away], match, event)
    return found


def _enter(home: Record, away: Record, match: Match, event: Tournament) -> None:
    """Add a match to the records of both players."""
    score = match.score
    assert score is not None
    points = event.rules.points(score)
    for record, gained in zip((home, away), points, strict=True):
        record.points += gained
        if match.winner is None and not score.lost_by_both:
            record.draws += 1
        elif match.winner == record.name:
            record.wins += 1
        else:
            record.losses += 1
    if match.is_played:
        for record, other, gained, own, others in (
            (home, away, points[0], score.home, score.away),
            (away, home, points[1], score.away, score.home),
        ):
            record.opponents.append((other.name, gained))
            record.scored += own
            record.conceded += others
        home.homes += 1
        away.homes -= 1
