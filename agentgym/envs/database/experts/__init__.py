"""Experts: one reads the schema, one mostly guesses it, one knows the solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.database.experts.base import Expert
from agentgym.envs.database.experts.guessing import GuessingExpert
from agentgym.envs.database.experts.oracle import OracleExpert
from agentgym.envs.database.experts.reader import ReaderExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "reader": ReaderExpert,
    "guessing": GuessingExpert,
    "oracle": OracleExpert,
}
"""Name of an expert -> its factory."""
FALLIBLE: Mapping[str, str] = {"guessing": "reader"}
"""Fallible experts -> their counterparts that are always right."""
