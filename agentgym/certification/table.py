"""The checks of a certificate, by name and in their order: quick and basic ones first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentgym.certification import bounds, learning, records, sameness, solving, tasks
from agentgym.certification.interfaces import INTERFACES
from agentgym.certification.result import Measured
from agentgym.certification.subject import Subject
from agentgym.support.text_lines import first_line


@dataclass(frozen=True)
class Check:
    """A check of a certificate."""

    run: Callable[[Subject], Measured]
    """Does it; its docstring says what it does and what a pass means."""
    rfc: tuple[int, ...] = ()
    """Numbers of the acceptance tests of OpenEnv's RFC 008 that it measures."""

    @property
    def does(self) -> str:
        """What it does, in a sentence."""
        return first_line(str(self.run.__doc__))

    @property
    def means(self) -> str:
        """What it does and what a pass means."""
        return " ".join(str(self.run.__doc__).split())


_LOCAL = {name: (37, 21) for name in ("other_order", "interleaved", "abandoned")}
CHECKS: Mapping[str, Check] = {
    "unique_ids": Check(tasks.unique_ids, (35,)),
    "disjoint_splits": Check(tasks.disjoint_splits),
    "near_duplicates": Check(tasks.near_duplicates),
    "seed_control": Check(tasks.seed_control, (36,)),
    "expert": Check(solving.expert, (25,)),
    "idle": Check(solving.idle, (25,)),
    **{
        name: Check(sameness.same_through(name), _LOCAL.get(name, (37,)))
        for name in INTERFACES
        if name not in ("http", "openenv", "mcp")
    },
    "replays": Check(records.replays, (44, 32)),
    "rescores": Check(records.rescores, (39, 33)),
    "forks": Check(records.forks),
    "worthless_answers": Check(solving.worthless_answers, (28,)),
    "unbroken": Check(bounds.unbroken, (23,)),
    "bounded_memory": Check(bounds.bounded_memory, (20,)),
    "closed": Check(bounds.closed, (20,)),
    "transcriber": Check(solving.transcriber, (30,)),
    "task_ids": Check(solving.task_ids, (22,)),
    "blind": Check(solving.blind, (22,)),
    "adversarial_floor": Check(solving.adversarial_floor, (26,)),
    "gameability_gap": Check(solving.gameability_gap, (27,)),
    "headroom": Check(learning.headroom, (15,)),
    "reward_reachability": Check(learning.reward_reachability, (13,)),
    "difficulty_separation": Check(learning.difficulty_separation, (14,)),
    "reward_variance": Check(learning.reward_variance, (16,)),
    "immutable_version": Check(tasks.immutable_version, (43,)),
    "cross_host": Check(sameness.cross_host, (38,)),
    "other_python": Check(sameness.other_python, (38, 40)),
    **{name: Check(sameness.same_through(name), (37,)) for name in ("http", "openenv", "mcp")},
    "training_signal": Check(learning.training_signal, (17,)),
}
"""All checks."""
