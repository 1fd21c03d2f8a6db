"""Tournaments: leagues, Swiss rounds, knockouts, standings with tie-breaks, ratings."""

from podiumkit.errors import FormatError, PairingError, PlayerError, ResultError, TournamentError
from podiumkit.files.reader import read_tournament
from podiumkit.files.tables import bracket_text, crosstable_text, standings_text
from podiumkit.files.writer import write_tournament
from podiumkit.model.players import Player, Roster
from podiumkit.model.points import PointRules
from podiumkit.model.results import Match, Score, read_score
from podiumkit.model.tournament import Tournament
from podiumkit.pairing.groups import divide
from podiumkit.pairing.knockout import Knockout, seed_order
from podiumkit.pairing.league import league
from podiumkit.pairing.pairs import Pairing
from podiumkit.pairing.swiss import swiss_round
from podiumkit.standings.ratings import expected_score, performance, updated_ratings
from podiumkit.standings.records import Record, records
from podiumkit.standings.table import Row, standings

__all__ = [
    "FormatError",
    "Knockout",
    "Match",
    "Pairing",
    "PairingError",
    "Player",
    "PlayerError",
    "PointRules",
    "Record",
    "ResultError",
    "Roster",
    "Row",
    "Score",
    "Tournament",
    "TournamentError",
    "bracket_text",
    "crosstable_text",
    "divide",
    "expected_score",
    "league",
    "performance",
    "read_score",
    "read_tournament",
    "records",
    "seed_order",
    "standings",
    "standings_text",
    "swiss_round",
    "updated_ratings",
    "write_tournament",
]
