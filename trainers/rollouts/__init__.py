"""Rollouts: chat markup, trajectories, engines and the loop that joins them (no torch imported)."""

from __future__ import annotations

from trainers.rollouts.budget import Limits, RolloutStats
from trainers.rollouts.chat import TurnTokenizer
from trainers.rollouts.runner import RolloutRunner, system_opening
from trainers.rollouts.trajectory import Row, Trajectory, Turn, check_rows, to_batch, to_rows

__all__ = [
    "Limits",
    "RolloutRunner",
    "RolloutStats",
    "Row",
    "Trajectory",
    "Turn",
    "TurnTokenizer",
    "check_rows",
    "system_opening",
    "to_batch",
    "to_rows",
]
