"""Held-out questions: programs on which a repair has to behave like the repository without fault.

When tasks are built, tests become programs without expected values (:mod:`.programs`), their inputs
are varied, the original repository answers them, and a :class:`Bank` stores the deterministic
answers (:mod:`agentgym.envs.swe.making.held_out`). For grading, a driver in a separate box runs a
sample of them on the submitted source and prints the results (:mod:`.driver`). The host, which
alone has the right answers, compares (:mod:`.judge`). So the code under test can neither read the
answers nor write the verdict.
"""

from __future__ import annotations

from agentgym.envs.swe.held_out.bank import Bank, Questions, load_bank
from agentgym.envs.swe.held_out.judge import HeldOutResult, judge_behaviour

__all__ = [
    "Bank",
    "HeldOutResult",
    "Questions",
    "judge_behaviour",
    "load_bank",
]
