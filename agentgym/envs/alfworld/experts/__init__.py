"""Experts: one knows where everything is, one searches, and four have bad habits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.envs.alfworld.engine.household import Household
from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.experts.base import Expert
from agentgym.envs.alfworld.experts.doubting import DoubtingExpert
from agentgym.envs.alfworld.experts.fixed_order import FixedOrderExpert
from agentgym.envs.alfworld.experts.hesitant import HesitantExpert
from agentgym.envs.alfworld.experts.oracle import OracleExpert
from agentgym.envs.alfworld.experts.searcher import SearchingExpert
from agentgym.envs.alfworld.experts.trusting import TrustingExpert

PLANS_VERSION = 3
"""Raise it when an expert's play changes, so that lengths in the cache folder are found anew."""

EXPERTS: Mapping[str, Callable[[], Expert]] = {
    "oracle": OracleExpert,
    "searching": SearchingExpert,
    "fixed-order": FixedOrderExpert,
    "hesitant": HesitantExpert,
    "doubting": DoubtingExpert,
    "trusting": TrustingExpert,
}
"""Name of an expert -> what makes it at the start of a game."""


def plan_length(household: Household, expert: str = "oracle") -> int | None:
    """Return the number of turns that an expert needs from the start; None if it cannot win."""
    commands = EXPERTS[expert]().plan(HouseholdSession(household))
    return None if commands is None else len(commands)
