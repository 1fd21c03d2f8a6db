"""Experts: one asks and checks the policy, one mostly does not check, one knows all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from agentgym.envs.service.experts.clerk import Clerk

EXPERTS: Mapping[str, Callable[[], Clerk]] = {
    "clerk": Clerk,
    "hasty": partial(Clerk, checks=15),
    "oracle": partial(Clerk, knows=True),
}
"""Name of an expert -> its factory."""
FALLIBLE: Mapping[str, str] = {"hasty": "clerk"}
"""Fallible experts -> their counterparts that are always right."""
