"""What can go wrong."""

from __future__ import annotations


class TournamentError(ValueError):
    """The root of all errors of this package."""


class PlayerError(TournamentError):
    """A player is not there, is there twice, or is described wrongly."""


class ResultError(TournamentError):
    """A result is malformed or not possible."""


class PairingError(TournamentError):
    """Players cannot be paired."""


class FormatError(TournamentError):
    """The text of a tournament is malformed.

    Attributes:
        line: The line, counted from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
