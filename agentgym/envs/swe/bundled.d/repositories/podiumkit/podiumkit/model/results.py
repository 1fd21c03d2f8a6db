"""Results of matches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from podiumkit.errors import ResultError

_NUMBER = r"(?:\d{1,4}(?:\.5|/2)?|½)"
SCORE = re.compile(rf"({_NUMBER})\s*[-:]\s*({_NUMBER})|([-+]):([-+])")
"""A score as it is written."""


@dataclass(frozen=True)
class Score:
    """The score of a match.

    Attributes:
        home: What the first player scored.
        away: What the second one scored.
        forfeit: Whether the match was not played.
    """

    home: Fraction
    away: Fraction
    forfeit: bool = False

    def __str__(self) -> str:
        """Return the score as it is written."""
        if self.forfeit:
            return f"{'+' if self.home else '-'}:{'+' if self.away else '-'}"
        return f"{self.home}-{self.away}"

    @property
    def lost_by_both(self) -> bool:
        """Whether neither of the players came."""
        return self.forfeit and not self.home and not self.away

    @property
    def turned(self) -> Score:
        """The score as the second player sees it."""
        return Score(self.away, self.home, self.forfeit)


def read_score(text: str) -> Score:
    """Read a score such as ``2-1``, ``1/2-1/2``, ``½-½`` or ``+:-``.

    Raises:
        ResultError: The text is none.
    """
    match = SCORE.fullmatch(text.strip())
    if match is None:
        raise ResultError(f"expected a score such as 2-1 or +:-, got {text!r}")
    home, away, first, second = match.groups()
    if home is not None:
        return Score(_number(home), _number(away))
    if first == second == "+":
        raise ResultError("a match cannot be won by both")
    return Score(Fraction(first == "+"), Fraction(second == "+"), forfeit=True)


def _number(text: str) -> Fraction:
    return Fraction(1, 2) if text == "½" else Fraction(text)


@dataclass(frozen=True)
class Match:
    """A match, or a bye.

    Attributes:
        home: The first player.
        away: The second player; None for a bye.
        score: The score; None for a bye, and as long as the match was not played.
    """

    home: str
    away: str | None
    score: Score | None = None

    def __post_init__(self) -> None:
        """Refuse a match against oneself, and a bye with a score."""
        if self.home == self.away:
            raise ResultError(f"{self.home} cannot play against {self.home}")
        if self.away is None and self.score is not None:
            raise ResultError(f"the bye of {self.home} cannot have a score")

    @property
    def is_bye(self) -> bool:
        """Whether the first player has no opponent."""
        return self.away is None

    @property
    def is_played(self) -> bool:
        """Whether both players were there."""
        return self.score is not None and not self.score.forfeit

    @property
    def winner(self) -> str | None:
        """Who won; None for a draw and as long as it was not played."""
        if self.away is None:
            return self.home
        if self.score is None or self.score.home == self.score.away:
            return None
        return self.home if self.score.home > self.score.away else self.away

    @property
    def loser(self) -> str | None:
        """Who lost; None for a bye, a draw, and as long as it was not played."""
        if self.away is None or self.winner is None:
            return None
        return self.away if self.winner == self.home else self.home
