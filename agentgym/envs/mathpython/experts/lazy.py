"""The lazy expert, which mostly leaves a small number out of what it calculates.

Whether the answer is the same without it cannot be seen when it is typed, and it often is. So among
the demonstrations that succeed such shortcuts are still the majority: leaving out failures does not
teach to calculate with all numbers. Only the reward tells how much more often those succeed.
"""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import CALCULATOR, Step
from agentgym.envs.mathpython.experts.calculating import CalculatingExpert
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.random_stream import Stream

WHOLE = 20
"""Per cent of the problems in which it leaves nothing out."""


class LazyExpert(CalculatingExpert):
    """Asks the calculator, with a number too few wherever a problem allows a shortcut."""

    def call(self, problem: Problem) -> Step | None:
        """Ask the calculator, mostly for the shorter expression."""
        if not problem.shorter or Stream("lazy", problem.text).percent(WHOLE):
            return super().call(problem)
        return CALCULATOR, problem.shorter
