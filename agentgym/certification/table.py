"""The checks of a certificate, by name and in their order: quick and basic ones first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentgym.certification import bounds, learning, sameness, solving, tasks
from agentgym.certification.interfaces import INTERFACES
from agentgym.certification.result import Measured
from agentgym.certification.subject import Subject

Check = Callable[[Subject], Measured]
"""Its docstring says what it does and what a pass means."""
SERVED = ("http", "openenv", "mcp")
"""Interfaces with a server, which are checked after all that needs none."""


def _checks() -> Mapping[str, Check]:
    through = [sameness.same_through(name) for name in INTERFACES]
    checks = (
        tasks.unique_ids, tasks.disjoint_splits, tasks.near_duplicates, tasks.seed_control,
        solving.expert, solving.idle,
        *(check for check in through if check.__name__ not in SERVED),
        sameness.replays, sameness.rescores, sameness.forks,
        solving.worthless_answers,
        bounds.unbroken, bounds.bounded_memory, bounds.closed, bounds.timing,
        solving.transcriber, solving.task_ids, solving.blind,
        solving.adversarial_floor, solving.gameability_gap,
        learning.headroom, learning.reward_reachability,
        learning.difficulty_separation, learning.reward_variance,
        tasks.immutable_version, sameness.cross_host, sameness.other_python,
        *(check for check in through if check.__name__ in SERVED),
        learning.training_signal,
    )  # fmt: skip
    return {check.__name__: check for check in checks}


CHECKS = _checks()
"""All checks."""


def meaning(check: str) -> str:
    """Return what a check does and what a pass means; empty for a check of another version."""
    return " ".join(str(CHECKS[check].__doc__).split()) if check in CHECKS else ""
