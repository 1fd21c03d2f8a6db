"""The policies that a run compares: one word for each, in files, tables, reports and flags."""

from __future__ import annotations

from typing import get_args

from agentgym.episodes.run_layout import GREEDY, TRAINED
from trainers.config.sections import BaselineName

__all__ = [
    "BASELINES",
    "BASE_MODEL",
    "DEMONSTRATOR",
    "FILTERED_BC",
    "GREEDY",
    "LEARNED",
    "ORACLE",
    "RANDOM",
    "ROLES",
    "TRAINED",
    "WARM_START",
    "field_of",
]

RANDOM = "random"
"""Random actions."""
DEMONSTRATOR = "demonstrator"
"""The expert that the warm start imitates: the one that the environment's ``expert=`` chooses."""
ORACLE = "oracle"
"""The solver that knows the answers, whatever ``expert=`` chooses."""
BASE_MODEL = "base-model"
"""The pretrained model that a warm start begins with; without one it is the warm start's role."""
WARM_START = "warm-start"
"""The policy that reinforcement learning starts from."""
BASELINES: tuple[BaselineName, ...] = get_args(BaselineName)
"""Policies that are trained from the same warm start in another way."""
FILTERED_BC: BaselineName = "filtered-bc"
"""The baseline that imitates only the demonstrations that solved their task."""
ROLES = (RANDOM, DEMONSTRATOR, BASE_MODEL, WARM_START, *BASELINES, TRAINED, ORACLE)
"""The compared policies in the order in which they are shown."""
LEARNED = (WARM_START, *BASELINES, TRAINED)
"""Those that learn."""


def field_of(role: str) -> str:
    """Return the name of a role's field, in which no hyphen may stand."""
    return role.replace("-", "_")
