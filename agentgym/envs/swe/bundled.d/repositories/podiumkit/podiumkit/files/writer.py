"""From a tournament to a text."""

from __future__ import annotations

from podiumkit.model.players import Player
from podiumkit.model.results import Match
from podiumkit.model.tournament import Tournament


def write_tournament(event: Tournament) -> str:
    """Return a tournament as :func:`podiumkit.read_tournament` reads it."""
    rules = event.rules
    lines = [
        f"tournament {event.name}",
        f"points {rules.win} {rules.draw} {rules.loss}",
        f"tiebreaks {' '.join(event.tiebreaks)}".rstrip(),
        *(_player(player) for player in event.roster),
    ]
    for matches in event.rounds:
        lines += ["", "round", *(match_text(match) for match in matches)]
    return "".join(line + "\n" for line in lines)


def _player(player: Player) -> str:
    parts = [f"player {player.name}"]
    if player.rating:
        parts.append(f"rating {player.rating}")
    if player.club:
        parts.append(f"club {player.club}")
    if player.withdrawn:
        parts.append(f"withdrawn {player.withdrawn}")
    return "; ".join(parts)


def match_text(match: Match) -> str:
    """Return a match or a bye on one line."""
    if match.away is None:
        return f"{match.home} bye"
    return f"{match.home} {'vs' if match.score is None else match.score} {match.away}"
