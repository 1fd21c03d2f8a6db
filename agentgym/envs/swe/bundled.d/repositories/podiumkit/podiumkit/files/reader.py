"""From a text to a tournament."""

from __future__ import annotations

import re

from podiumkit.errors import FormatError, TournamentError
from podiumkit.model.players import Player, Roster
from podiumkit.model.points import PointRules
from podiumkit.model.results import SCORE, Match, read_score
from podiumkit.model.tournament import Tournament

_MATCH = re.compile(rf"(?P<home>\S.*?)\s+(?P<score>{SCORE.pattern}|vs)\s+(?P<away>\S.*)")
_BYE = re.compile(r"(?P<home>\S.*?)\s+bye")


def read_tournament(text: str) -> Tournament:
    """Read a tournament.

    Lines are ``tournament NAME``, ``points WIN DRAW LOSS``, ``tiebreaks NAME ...``,
    ``player NAME; rating NUMBER; club NAME; withdrawn ROUND`` and ``round``, behind which
    matches follow: ``NAME 2-1 NAME``, ``NAME vs NAME`` (not played yet) and ``NAME bye``. Empty
    lines and what follows ``#`` are passed over.

    Raises:
        FormatError: A line is malformed, or says what cannot be.
    """
    reader = _Reader()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = re.sub(r"(^|\s)#.*", "", line).strip()
        if not stripped:
            continue
        try:
            reader.read(stripped)
        except FormatError:
            raise
        except TournamentError as error:
            raise FormatError(str(error), number) from error
    return reader.tournament(len(text.splitlines()))


class _Reader:
    def __init__(self) -> None:
        self._name = ""
        self._rules: PointRules | None = None
        self._tiebreaks: tuple[str, ...] | None = None
        self._roster = Roster()
        self._rounds: list[list[Match]] = []

    def read(self, line: str) -> None:
        """Read a line.

        Raises:
            TournamentError: It is malformed.
        """
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word == "round" and not rest:
            self._close_round()
            self._rounds.append([])
        elif self._rounds:
            self._rounds[-1].append(_match(line))
            _check_round(self._rounds, self._roster)
        elif word == "player":
            self._roster.add(_player(rest))
        elif word == "tournament":
            if self._name:
                raise TournamentError("the name of the tournament is given twice")
            self._name = rest
        elif word == "points":
            self._points(rest)
        elif word == "tiebreaks":
            self._tiebreaks = tuple(rest.split())
            Tournament("", Roster(), None, self._tiebreaks)  # refuses unknown ones in this line
        else:
            raise TournamentError(
                f"expected tournament, points, tiebreaks, player or round, got {word!r}"
            )

    def _points(self, rest: str) -> None:
        numbers = rest.split()
        if len(numbers) != 3:
            raise TournamentError(f"expected points of win, draw and loss, got {rest!r}")
        self._rules = PointRules.of(*numbers)

    def _close_round(self) -> None:
        if self._rounds and not self._rounds[-1]:
            raise TournamentError(f"round {len(self._rounds)} has no matches")

    def tournament(self, lines: int) -> Tournament:
        """Return the tournament.

        Raises:
            FormatError: Something is missing.
        """
        if not self._name:
            raise FormatError("the tournament has no name", max(1, lines))
        breaks = ("buchholz", "wins") if self._tiebreaks is None else self._tiebreaks
        event = Tournament(self._name, self._roster, self._rules, breaks)
        for matches in self._rounds:
            event.add_round(matches)
        return event


def _check_round(rounds: list[list[Match]], roster: Roster) -> None:
    """Refuse the last match of the last round if it cannot be."""
    trial = Tournament("", roster)
    trial.rounds = list(rounds[:-1])
    trial.add_round(rounds[-1])


def _player(text: str) -> Player:
    """Read a player."""
    name, *parts = (part.strip() for part in text.split(";"))
    fields: dict[str, str] = {}
    for part in parts:
        word, _, value = part.partition(" ")
        if word not in ("rating", "club", "withdrawn") or not value.strip():
            raise TournamentError(f"expected rating, club or withdrawn with a value, got {part!r}")
        if word in fields:
            raise TournamentError(f"{word} is given twice")
        fields[word] = value.strip()
    return Player(
        name,
        _number("rating", fields.get("rating", "0")),
        fields.get("club", ""),
        _number("withdrawn", fields.get("withdrawn", "0")),
    )


def _number(what: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        raise TournamentError(f"expected a number for {what}, got {text!r}")
    return int(text)


def _match(line: str) -> Match:
    """Read a match or a bye."""
    found = _MATCH.fullmatch(line)
    if found is not None:
        score = found["score"]
        match = Match(found["home"], found["away"], None if score == "vs" else read_score(score))
    else:
        bye = _BYE.fullmatch(line)
        if bye is None:
            raise TournamentError(f"expected a match such as A 2-1 B, got {line!r}")
        match = Match(bye["home"], None)
    return match
