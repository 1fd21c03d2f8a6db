"""Knockouts: who loses is out."""

from __future__ import annotations

from collections.abc import Sequence

from podiumkit.errors import PairingError, ResultError
from podiumkit.model.results import Match, read_score
from podiumkit.pairing.pairs import Pairing

_NAMES = {1: "final", 2: "semifinals", 4: "quarterfinals"}


def seed_order(size: int) -> list[int]:
    """Return how seeds stand in a bracket, so that the best ones meet as late as possible.

    Args:
        size: The number of places, a power of two.

    Raises:
        PairingError: It is none.
    """
    if size < 1 or size & (size - 1):
        raise PairingError(f"expected a power of two, got {size}")
    order = [1]
    while len(order) < size:
        total = 2 * len(order) + 1
        order = [seed for one in order for seed in (one, total - one)]
    return order


class Knockout:
    """A knockout.

    Args:
        names: The players, the strongest first. If their number is no power of two, the
            strongest have a bye in the first round.
        third_place: Whether the losers of the semifinals play for the third place.

    Raises:
        PairingError: There are fewer than two players, too few for a third place, or a name
            occurs twice.
    """

    def __init__(self, names: Sequence[str], third_place: bool = False) -> None:
        if len(names) < 2 or len(set(names)) < len(names):
            raise PairingError("a knockout needs two or more players, each once")
        if third_place and len(names) < 4:
            raise PairingError("a third place needs four players")
        size = 1
        while size < len(names):
            size *= 2
        places = [names[seed - 1] if seed <= len(names) else None for seed in seed_order(size)]
        self._third_place = third_place
        self._third: Match | None = None
        self.rounds: list[list[Match]] = [
            [_first_match(one, other) for one, other in zip(places[::2], places[1::2], strict=True)]
        ]
        self._advance()

    def open_matches(self) -> list[Pairing]:
        """Return the matches that can be played now."""
        found = [
            Pairing(match.home, match.away)
            for matches in self.rounds
            for match in matches
            if match.away is not None and match.score is None
        ]
        if self._third is not None and self._third.score is None:
            found.append(Pairing(self._third.home, self._third.away))
        return found

    def record(self, home: str, away: str, score: str) -> None:
        """Enter a score; the players may be named in any order.

        Raises:
            ResultError: They do not meet now, or the score has no winner.
        """
        found = read_score(score)
        for pairing in self.open_matches():
            if {pairing.home, pairing.away} == {home, away}:
                break
        else:
            raise ResultError(f"{home} does not play against {away} now")
        match = Match(pairing.home, pairing.away, found if pairing.home == home else found.turned)
        if match.winner is None:
            raise ResultError(f"a knockout needs a winner, got {score}")
        if self._third is not None and (match.home, match.away) == (
            self._third.home,
            self._third.away,
        ):
            self._third = match
            return
        matches = self.rounds[-1]
        place = next(n for n, one in enumerate(matches) if one.home == match.home)
        matches[place] = match
        self._advance()

    def _advance(self) -> None:
        """Make the next round once a round is finished."""
        last = self.rounds[-1]
        winners = [match.winner for match in last]
        if len(last) == 1 or any(winner is None for winner in winners):
            return
        pairs = zip(winners[::2], winners[1::2], strict=True)
        self.rounds.append([Match(str(one), str(other)) for one, other in pairs])
        if len(last) == 2 and self._third_place:
            losers = [match.loser for match in last]
            if None not in losers:
                self._third = Match(str(losers[0]), str(losers[1]))

    @property
    def third_place_match(self) -> Match | None:
        """The match for the third place, None as long as it is not known."""
        return self._third

    @property
    def champion(self) -> str | None:
        """Who won the final; None as long as it was not played."""
        last = self.rounds[-1]
        return last[0].winner if len(last) == 1 else None

    def podium(self) -> list[str]:
        """Return the players on the first places, as far as they are known.

        Without a match for the third place both losers of the semifinals share it.
        """
        if self.champion is None:
            return []
        found = [self.champion, str(self.rounds[-1][0].loser)]
        if self._third_place:
            if self._third is not None and self._third.winner is not None:
                found.append(self._third.winner)
        elif len(self.rounds) > 1:
            found += [match.loser for match in self.rounds[-2] if match.loser is not None]
        return found

    def round_name(self, number: int) -> str:
        """Return what a round is called, ``final`` or ``round of 16``.

        Args:
            number: The round, counted from 1; rounds to come may be asked for too.

        Raises:
            PairingError: There is no such round.
        """
        count = len(self.rounds[0]) >> (number - 1) if number > 0 else 0
        if count < 1:
            raise PairingError(f"there is no round {number}")
        return _NAMES.get(count, f"round of {2 * count}")


def _first_match(one: str | None, other: str | None) -> Match:
    """Return a match of the first round; the better seed always has a player."""
    if one is None:
        one, other = other, one
    return Match(str(one), other)
