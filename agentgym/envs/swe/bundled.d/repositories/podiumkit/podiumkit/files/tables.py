"""Tables of characters: standings, results, brackets."""

from __future__ import annotations

from collections.abc import Sequence

from podiumkit.model.points import number_text
from podiumkit.model.results import Match
from podiumkit.model.tournament import Tournament
from podiumkit.pairing.knockout import Knockout
from podiumkit.standings.table import Row, standings

HEADINGS = {
    "buchholz": "Buch",
    "difference": "Diff",
    "head-to-head": "H2H",
    "median-buchholz": "Med",
    "rating": "Rtg",
    "scored": "For",
    "sonneborn-berger": "SB",
    "wins": "Won",
}
"""What stands above the column of a tie-break."""


def aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return rows as a table.

    Args:
        rows: The rows, all of one length, the heading first.
        left: The column that is aligned on the left; all others are on the right.
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if place == left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "".join(line + "\n" for line in lines)


def standings_text(event: Tournament) -> str:
    """Return the standings as a table; a shared place is shown once."""
    heading = ["", "Name", "P", "W", "D", "L", "Pts"]
    heading += [HEADINGS[name] for name in event.tiebreaks]
    lines = [heading]
    last = 0
    for row in standings(event):
        lines.append(_standing(row, event, str(row.rank) if row.rank != last else ""))
        last = row.rank
    return aligned(lines, left=1)


def _standing(row: Row, event: Tournament, rank: str) -> list[str]:
    record = row.record
    numbers = [str(number) for number in (record.played, record.wins, record.draws, record.losses)]
    texts = []
    for name, value in zip(event.tiebreaks, row.tiebreaks, strict=True):
        sign = "+" if name == "difference" and value > 0 else ""
        texts.append(sign + number_text(value))
    return [rank, row.name, *numbers, number_text(record.points), *texts]


def crosstable_text(event: Tournament) -> str:
    """Return the results of all against all, in the order of the standings.

    A cell has the scores of the player at its left, the first match first; ``x`` stands where
    nobody can play, a dot where nobody played.
    """
    names = [row.name for row in standings(event)]
    lines = [["", "Name", *(str(number) for number in range(1, len(names) + 1))]]
    for number, name in enumerate(names, 1):
        cells = ["x" if other == name else _cell(event, name, other) for other in names]
        lines.append([str(number), name, *cells])
    return aligned(lines, left=1)


def _cell(event: Tournament, name: str, other: str) -> str:
    texts = []
    for match in event.matches():
        if match.score is None:
            continue
        if (match.home, match.away) == (name, other):
            texts.append(str(match.score))
        elif (match.home, match.away) == (other, name):
            texts.append(str(match.score.turned))
    return " ".join(texts) or "."


def bracket_text(knockout: Knockout) -> str:
    """Return a knockout, one line a match, each round indented more than the one before."""
    lines = []
    for number, matches in enumerate(knockout.rounds, 1):
        indent = "  " * (number - 1)
        lines.append(f"{indent}{knockout.round_name(number)}")
        lines += [f"{indent}  {_match_line(match)}" for match in matches]
    third = knockout.third_place_match
    if third is not None:
        lines += ["third place", f"  {_match_line(third)}"]
    return "".join(line + "\n" for line in lines)


def _match_line(match: Match) -> str:
    """Return a match with an arrow to its winner."""
    if match.away is None:
        return f"{match.home} (bye)"
    if match.score is None:
        return f"{match.home} - {match.away}"
    return f"{match.home} {match.score} {match.away} -> {match.winner}"
