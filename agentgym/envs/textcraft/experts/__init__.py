"""Experts: one finds the shortest plan, one mostly guesses which recipe it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.textcraft.engine.recipes import CraftWorld
from agentgym.envs.textcraft.experts.guessing import GuessingExpert
from agentgym.envs.textcraft.experts.oracle import OracleExpert

EXPERTS: Mapping[str, Callable[[CraftWorld], OracleExpert]] = {
    "oracle": OracleExpert,
    "guessing": GuessingExpert,
}
"""Name of an expert -> its factory."""
FALLIBLE: Mapping[str, str] = {"guessing": "oracle"}
"""Fallible experts -> their counterparts that are always right."""
