"""Experts: they check the policy always, sometimes or never, and some write down how."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from agentgym.envs.service.experts.clerk import Clerk

EXPERTS: Mapping[str, Callable[[], Clerk]] = {
    "clerk": Clerk,
    "thinking": partial(Clerk, thinks=True),
    "hasty": partial(Clerk, checks=15),
    "hurried": partial(Clerk, checks=60, thinks=True),
    "oracle": partial(Clerk, knows=True),
}
"""Name of an expert -> its factory."""
SPEAKING = ("thinking", "hurried")
"""Experts that write down how they check the policy."""
FALLIBLE: Mapping[str, str] = {"hasty": "clerk", "hurried": "thinking"}
"""Fallible experts -> their counterparts that are always right."""
