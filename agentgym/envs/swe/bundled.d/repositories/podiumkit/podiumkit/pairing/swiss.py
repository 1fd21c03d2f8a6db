"""Swiss rounds: players of equal points meet, and nobody meets anybody twice."""

from __future__ import annotations

from collections.abc import Sequence

from podiumkit.errors import PairingError
from podiumkit.model.tournament import Tournament
from podiumkit.pairing.pairs import Pairing
from podiumkit.standings.records import Record, records

MOST_STEPS = 20_000
"""How many pairs are tried before the search is given up."""


def swiss_round(event: Tournament) -> list[Pairing]:
    """Return the pairings of the next round.

    Players are sorted by points and seed. From the top, each one meets a player of as many
    points if possible: in a group of equal points the upper half meets the lower half. If the
    number of players is odd, the last one who had no bye yet has one. Who was at home less often
    is at home; if both were as often, in odd rounds the one with the better seed.

    Raises:
        PairingError: The last round is not complete, there are fewer than two players, or all
            that is left has been played.
    """
    if not event.is_complete:
        raise PairingError("the last round is not complete")
    number = len(event.rounds) + 1
    found = records(event)
    seeds = event.roster.seeds()
    names = event.roster.by_seed(number)
    if len(names) < 2:
        raise PairingError(f"a round needs two players, got {len(names)}")
    names.sort(key=lambda name: (-found[name].points, seeds[name]))
    met = _met(event)
    for free in _free(names, found):
        playing = [name for name in names if name != free]
        pairs = _Search(playing, found, met).pairs()
        if pairs is not None:
            pairings = [_seated(pair, found, seeds, number) for pair in pairs]
            return pairings if free is None else [*pairings, Pairing(free, None)]
    raise PairingError("all that could be paired has been played")


def _met(event: Tournament) -> set[frozenset[str]]:
    """Return who was paired with whom, whether they played or not."""
    return {
        frozenset((match.home, match.away)) for match in event.matches() if match.away is not None
    }


def _free(names: Sequence[str], found: dict[str, Record]) -> list[str | None]:
    """Return who may have a bye, the first choice first: from below, without one so far."""
    if len(names) % 2 == 0:
        return [None]
    return [name for name in reversed(names) if not found[name].byes]


class _Search:
    """Tries pairs from the top, and takes them back where they lead nowhere."""

    def __init__(
        self, names: Sequence[str], found: dict[str, Record], met: set[frozenset[str]]
    ) -> None:
        self._names = list(names)
        self._found = found
        self._met = met
        self._steps = 0

    def pairs(self) -> list[tuple[str, str]] | None:
        """Return pairs of all players, or None if there are none."""
        pairs: list[tuple[str, str]] = []
        choices = [self._choices(self._names)]
        while len(pairs) * 2 < len(self._names):
            if not choices[-1]:
                choices.pop()
                if not pairs:
                    return None
                pairs.pop()
                continue
            self._steps += 1
            if self._steps > MOST_STEPS:
                return None
            pairs.append(choices[-1].pop(0))
            taken = {name for pair in pairs for name in pair}
            choices.append(self._choices([name for name in self._names if name not in taken]))
        return pairs

    def _choices(self, names: list[str]) -> list[tuple[str, str]]:
        """Return whom the first of some players can meet, the first choice first."""
        if not names:
            return []
        first = names[0]
        points = self._found[first].points
        equal = [name for name in names if self._found[name].points == points]
        half = len(equal) // 2
        # the lower half in its order, then the upper half from below, then those of fewer points
        order = [*equal[half:], *reversed(equal[1:half]), *names[len(equal) :]]
        return [
            (first, other)
            for other in dict.fromkeys(order)
            if other != first and frozenset((first, other)) not in self._met
        ]


def _seated(
    pair: tuple[str, str], found: dict[str, Record], seeds: dict[str, int], number: int
) -> Pairing:
    """Return a pair with home and away."""
    one, other = pair
    if found[one].homes != found[other].homes:
        return Pairing(*pair) if found[one].homes < found[other].homes else Pairing(other, one)
    better, worse = (one, other) if seeds[one] < seeds[other] else (other, one)
    return Pairing(better, worse) if number % 2 else Pairing(worse, better)
