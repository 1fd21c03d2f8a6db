"""Everybody against everybody, by the circle method."""

from __future__ import annotations

from collections.abc import Sequence

from podiumkit.errors import PairingError
from podiumkit.pairing.pairs import Pairing


def league(names: Sequence[str], twice: bool = False, byes: bool = False) -> list[list[Pairing]]:
    """Return the rounds of a league.

    One place stays, the others turn around it: in each round the players at opposite places
    meet. Home and away are exchanged from round to round, so that nobody is at home more than
    once more often than away, or the other way round.

    Args:
        names: The players.
        twice: Whether everybody meets everybody twice, at home and away.
        byes: Whether rounds list who has no opponent, if the number of players is odd.

    Raises:
        PairingError: There are fewer than two players, or a name occurs twice.
    """
    if len(names) < 2:
        raise PairingError(f"a league needs two players, got {len(names)}")
    if len(set(names)) < len(names):
        raise PairingError("a player occurs twice")
    # with an odd number the bye stays and all players turn, which keeps home and away even
    circle: list[str | None] = [*([None] if len(names) % 2 else []), *names]
    rounds: list[list[Pairing]] = []
    for number in range(len(circle) - 1):
        rounds.append(_round(circle, number, byes))
        circle = [circle[0], circle[-1], *circle[1:-1]]
    if twice:
        rounds += [[pairing.turned for pairing in pairings] for pairings in rounds]
    return rounds


def _round(circle: list[str | None], number: int, byes: bool) -> list[Pairing]:
    """Return the pairings of players at opposite places."""
    half = len(circle) // 2
    found: list[Pairing] = []
    resting: list[Pairing] = []
    for place, (one, other) in enumerate(zip(circle[:half], reversed(circle[half:]), strict=True)):
        if one is None or other is None:
            free = one or other
            if byes and free is not None:
                resting.append(Pairing(free, None))
            continue
        # the one who stays changes with the round, the others with their place
        at_home = number % 2 == 0 if place == 0 else place % 2 == 0
        found.append(Pairing(one, other) if at_home else Pairing(other, one))
    return found + resting
