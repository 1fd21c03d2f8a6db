"""Groups: the strong players spread, those of one club apart."""

from __future__ import annotations

from podiumkit.errors import PairingError
from podiumkit.model.players import Roster


def divide(roster: Roster, count: int) -> list[list[str]]:
    """Return groups of players.

    Players are given out from the strongest to the weakest, forwards and backwards in turn:
    1-2-3, 3-2-1, 1-2-3. A player goes to the next group of the same turn that has none of the
    same club, if there is one.

    Args:
        roster: The players.
        count: How many groups there are.

    Raises:
        PairingError: There are fewer than two players for a group.
    """
    if count < 1 or len(roster) < 2 * count:
        raise PairingError(f"{len(roster)} players cannot make {count} groups of two or more")
    groups: list[list[str]] = [[] for _ in range(count)]
    names = roster.by_seed()
    for turn in range(0, len(names), count):
        order = list(range(count))
        if turn // count % 2:
            order.reverse()
        for name in names[turn : turn + count]:
            place = _place(roster, groups, order, name)
            groups[place].append(name)
            order.remove(place)
    return groups


def _place(roster: Roster, groups: list[list[str]], order: list[int], name: str) -> int:
    """Return the group for a player, of those that are still open in this turn."""
    club = roster[name].club
    for place in order:
        if not club or all(roster[other].club != club for other in groups[place]):
            return place
    return order[0]
