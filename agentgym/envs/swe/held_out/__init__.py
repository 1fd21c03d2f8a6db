"""Held-out questions: what a repair has to answer as the sound repository does.

At build time tests become programs without their expected sides (:mod:`.programs`), their inputs
are varied, the sound repository answers them, and a :class:`Bank` keeps what is steady
(:mod:`agentgym.envs.swe.making.held_out`). At grading a driver in a box of its own runs some of
them on the submitted source and prints what came back (:mod:`.driver`); the host, which alone has
the answers, compares (:mod:`.judge`). So nothing that the judged code reads or writes can tell it
the verdict.
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
