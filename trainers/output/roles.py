"""Roles of the policies that a run compares: one name each, in files, tables, reports and flags."""

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
"""The pretrained model before its warm start; without a warm start it has that role itself."""
WARM_START = "warm-start"
"""The policy that reinforcement learning starts from."""
BASELINES: tuple[BaselineName, ...] = get_args(BaselineName)
"""Policies that are trained from the same warm start in another way."""
FILTERED_BC: BaselineName = "filtered-bc"
"""The baseline that imitates only the demonstrations that solved their task."""
ROLES = (RANDOM, DEMONSTRATOR, BASE_MODEL, WARM_START, *BASELINES, TRAINED, ORACLE)
"""The compared policies in the order in which they are shown."""
LEARNED = (WARM_START, *BASELINES, TRAINED)
"""Roles of policies that learn."""


def field_of(role: str) -> str:
    """Return the field name of a role, with underscores for hyphens."""
    return role.replace("-", "_")
