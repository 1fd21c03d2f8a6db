"""A tournament: players, rules and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from podiumkit.errors import ResultError, TournamentError
from podiumkit.model.players import Roster
from podiumkit.model.points import PointRules
from podiumkit.model.results import Match, read_score

TIEBREAKS = (
    "buchholz",
    "difference",
    "head-to-head",
    "median-buchholz",
    "rating",
    "scored",
    "sonneborn-berger",
    "wins",
)
"""The names of all tie-breaks."""


class Tournament:
    """A tournament.

    Attributes:
        name: Its name.
        roster: The players.
        rules: What results are worth.
        tiebreaks: By what players of equal points are told apart, the most important first.
        rounds: The matches of each round.

    Raises:
        TournamentError: A tie-break is unknown or named twice.
    """

    def __init__(
        self,
        name: str,
        roster: Roster,
        rules: PointRules | None = None,
        tiebreaks: Sequence[str] = ("buchholz", "wins"),
    ) -> None:
        for tiebreak in tiebreaks:
            if tiebreak not in TIEBREAKS:
                raise TournamentError(
                    f"expected one of {', '.join(TIEBREAKS)} as tie-break, got {tiebreak!r}"
                )
        if len(set(tiebreaks)) < len(tiebreaks):
            raise TournamentError("a tie-break is named twice")
        self.name = name
        self.roster = roster
        self.rules = rules or PointRules()
        self.tiebreaks = tuple(tiebreaks)
        self.rounds: list[list[Match]] = []

    def add_round(self, matches: Iterable[Match]) -> None:
        """Add a round.

        Raises:
            ResultError: A player plays twice in it, or does not play any more.
            PlayerError: A player is unknown.
        """
        found = list(matches)
        number = len(self.rounds) + 1
        seen: set[str] = set()
        for match in found:
            for name in (match.home, match.away):
                if name is None:
                    continue
                if not self.roster[name].plays_in(number):
                    raise ResultError(f"{name} has withdrawn before round {number}")
                if name in seen:
                    raise ResultError(f"{name} plays twice in round {number}")
                seen.add(name)
        self.rounds.append(found)

    def record(self, home: str, away: str, score: str) -> None:
        """Enter the score of a match of the last round; the players may be named in any order.

        Raises:
            ResultError: There is no such match, or the score is malformed.
        """
        found = read_score(score)
        matches = self.rounds[-1] if self.rounds else []
        for place, match in enumerate(matches):
            if (match.home, match.away) == (home, away):
                matches[place] = Match(home, away, found)
                return
            if (match.home, match.away) == (away, home):
                matches[place] = Match(away, home, found.turned)
                return
        raise ResultError(f"{home} does not play against {away} in round {len(self.rounds)}")

    def matches(self) -> Iterator[Match]:
        """Yield all matches and byes, round by round."""
        for matches in self.rounds:
            yield from matches

    @property
    def is_complete(self) -> bool:
        """Whether all matches have a score."""
        return all(match.is_bye or match.score is not None for match in self.matches())
