"""The command: standings, results and pairings of the text of a tournament."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from podiumkit.errors import TournamentError
from podiumkit.files.reader import read_tournament
from podiumkit.files.tables import crosstable_text, standings_text
from podiumkit.files.writer import match_text, write_tournament
from podiumkit.model.tournament import Tournament
from podiumkit.pairing.league import league
from podiumkit.pairing.pairs import Pairing
from podiumkit.pairing.swiss import swiss_round

USAGE = "usage: podiumkit standings|cross|pair|league|tidy FILE\n"


class Answer(NamedTuple):
    """What a command gives.

    Attributes:
        code: 0 if it went well, 2 if the command or the file is wrong.
        output: What is printed.
    """

    code: int
    output: str


def run(arguments: Sequence[str]) -> Answer:
    """Carry out a command.

    Args:
        arguments: The words behind the name of the program: what is wanted, and the file.
    """
    if len(arguments) != 2 or arguments[0] not in _COMMANDS:
        return Answer(2, USAGE)
    file = arguments[1]
    try:
        event = read_tournament(Path(file).read_text(encoding="utf-8"))
        return Answer(0, _COMMANDS[arguments[0]](event))
    except TournamentError as error:
        return Answer(2, f"error: {error}\n")
    except UnicodeDecodeError:
        return Answer(2, f"error: {file} is no text in UTF-8\n")
    except OSError as error:
        return Answer(2, f"error: {file} cannot be read: {error.strerror}\n")


def _round_text(pairings: Sequence[Pairing]) -> str:
    return "".join(line + "\n" for line in ["round", *(match_text(one.match) for one in pairings)])


def _pair(event: Tournament) -> str:
    return _round_text(swiss_round(event))


def _league(event: Tournament) -> str:
    rounds = league(event.roster.by_seed(), byes=True)
    return "\n".join(_round_text(pairings) for pairings in rounds)


_COMMANDS: dict[str, Callable[[Tournament], str]] = {
    "cross": crosstable_text,
    "league": _league,
    "pair": _pair,
    "standings": standings_text,
    "tidy": write_tournament,
}
