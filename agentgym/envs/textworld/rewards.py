"""Turn the progress of a game into rewards that sum to 1 when it is won.

Every mode is the difference of a value of the state, v, that is 0 at the start and 1 when the game
is won, so that the rewards of an episode add up to the value in which it ended:

- ``sparse``: v = 0 until the game is won;
- ``score``: v = score / highest score, of the game's own points;
- ``dense``: v = 1 - n / n0, with n the length of the plan that is left and n0 that of the plan at
  the start. It is a potential in the sense of Ng, Harada and Russell (1999): the cost of a detour
  is regained on the way back. It may be negative.

A lost game, and in mode ``dense`` one that no plan wins, falls back to 0 or stays below: it never
pays. Values are multiples of 2**-40, so that their differences and the sums of these are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

REWARDS = ("sparse", "score", "dense")

_GRID = 2.0**40


@dataclass(frozen=True, slots=True)
class Status:
    """How far a game has come."""

    score: int
    """Points so far."""
    max_score: float
    """Points of a game that is won; infinite where a quest pays again and again."""
    remaining: int | None
    """Length of the plan that is left; None if there is none."""
    initial: int
    """Length of the plan at the start, at least 1."""
    won: bool = False
    """Whether the game is won."""
    lost: bool = False
    """Whether the game is lost."""


def progress(status: Status) -> float:
    """Return the share of the game's points, in [0, 1]; 1 if it is won and 0 if it is lost."""
    if status.won or status.lost:
        return float(status.won)
    share = status.score / status.max_score if status.max_score > 0 else 0.0
    return _exact(min(max(share, 0.0), 1.0))


def potential(status: Status, previous_potential: float = 0.0) -> float:
    """Return the value of mode ``dense``: the share of the plan that has been carried out.

    It is below 0 when more is left than at the start. ``previous_potential`` is the potential of
    the state before, to which a game without a plan cannot add.
    """
    if status.won:
        return 1.0
    if status.lost or status.remaining is None:
        return min(previous_potential, 0.0)
    return _exact(1.0 - status.remaining / status.initial)


def value(mode: str, status: Status, phi: float) -> float:
    """Return the value of a state, given its :func:`potential`; its differences are the rewards."""
    if mode == "dense":
        return phi
    return progress(status) if mode == "score" else float(status.won)


def _exact(number: float) -> float:
    """Round to the grid on which sums have no error."""
    return round(number * _GRID) / _GRID
