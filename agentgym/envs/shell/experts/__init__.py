"""Experts: one looks up where files are, one mostly guesses, one knows the solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.shell.experts.base import Expert
from agentgym.envs.shell.experts.guessing import GuessingExpert
from agentgym.envs.shell.experts.oracle import OracleExpert
from agentgym.envs.shell.experts.reader import ReaderExpert

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "reader": ReaderExpert,
    "guessing": GuessingExpert,
    "oracle": OracleExpert,
}
"""Name of an expert -> its factory."""
FALLIBLE: Mapping[str, str] = {"guessing": "reader"}
"""Fallible experts -> their counterparts that are always right."""
