"""The lazy expert, which mostly omits a small number from its calculation.

Whether that changes the answer cannot be predicted when it is typed, and often it does not. So most
successful demonstrations still take such shortcuts: filtering for success keeps the flaw. Only the
reward shows that complete calculations succeed more often.
"""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import CALCULATOR, Step
from agentgym.envs.mathpython.experts.calculating import CalculatingExpert
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

WHOLE = 20
"""Percentage of problems with a complete calculation."""


class LazyExpert(CalculatingExpert):
    """Uses the calculator, and mostly omits a number if the problem allows it."""

    def call(self, problem: Problem) -> Step | None:
        """Return a calculator call, mostly with the shorter expression."""
        if not problem.shorter or Stream("lazy", problem.text).percent(WHOLE):
            return super().call(problem)
        return CALCULATOR, problem.shorter
