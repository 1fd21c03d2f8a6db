"""Players, and the list of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from podiumkit.errors import PlayerError

_FORBIDDEN = re.compile(r"[;|#\n\r]")


@dataclass(frozen=True)
class Player:
    """A player or a team.

    Attributes:
        name: The name.
        rating: How strong the player is; 0 if that is not known.
        club: Where the player comes from; may be empty.
        withdrawn: The first round that is not played any more; 0 if all are.
    """

    name: str
    rating: int = 0
    club: str = ""
    withdrawn: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no player."""
        if not self.name.strip() or self.name != self.name.strip():
            raise PlayerError(f"expected a name without spaces around it, got {self.name!r}")
        if _FORBIDDEN.search(self.name + self.club):
            raise PlayerError(f"names have no semicolons, bars, hashes and line ends: {self.name!r}")
        if self.rating < 0 or self.withdrawn < 0:
            raise PlayerError(f"numbers of {self.name} must not be negative")

    def plays_in(self, number: int) -> bool:
        """Say whether the player takes part in a round."""
        return not self.withdrawn or number < self.withdrawn


class Roster:
    """Players in the order in which they entered."""

    def __init__(self, players: Iterable[Player] = ()) -> None:
        self._players: dict[str, Player] = {}
        for player in players:
            self.add(player)

    def __len__(self) -> int:
        """Return the number of players."""
        return len(self._players)

    def __iter__(self) -> Iterator[Player]:
        """Yield the players."""
        yield from self._players.values()

    def __contains__(self, name: object) -> bool:
        """Say whether there is a player of this name."""
        return name in self._players

    def __getitem__(self, name: str) -> Player:
        """Return a player.

        Raises:
            PlayerError: There is none of this name.
        """
        if name not in self._players:
            raise PlayerError(f"there is no player {name}")
        return self._players[name]

    def add(self, player: Player) -> None:
        """Add a player.

        Raises:
            PlayerError: The name is taken.
        """
        if player.name in self._players:
            raise PlayerError(f"there are two players {player.name}")
        self._players[player.name] = player

    def withdraw(self, name: str, from_round: int) -> None:
        """Note that a player does not play any more from a round on.

        Raises:
            PlayerError: There is no such player, or no such round.
        """
        if from_round < 1:
            raise PlayerError(f"expected a round from 1 on, got {from_round}")
        self._players[name] = replace(self[name], withdrawn=from_round)

    def names(self) -> list[str]:
        """Return the names."""
        return list(self._players)

    def by_seed(self, number: int = 0) -> list[str]:
        """Return the names from the strongest to the weakest; equal ones as they entered.

        Args:
            number: Only those who take part in this round; all if it is 0.
        """
        playing = [one for one in self if not number or one.plays_in(number)]
        return [player.name for player in sorted(playing, key=lambda player: -player.rating)]

    def seeds(self) -> dict[str, int]:
        """Return the place of each player among all, 1 for the strongest."""
        return {name: place for place, name in enumerate(self.by_seed(), 1)}
