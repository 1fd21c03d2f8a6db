"""The expert that asks the calculator where one line suffices, and writes Python elsewhere."""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import CALCULATOR, Step
from agentgym.envs.mathpython.experts.programmer import ProgrammerExpert
from agentgym.envs.mathpython.problem import Problem


class CalculatingExpert(ProgrammerExpert):
    """Types one expression where it can: no process is started, and a tiny policy can do so too."""

    def call(self, problem: Problem) -> Step | None:
        """Ask the calculator, if an expression is known."""
        return (CALCULATOR, problem.expression) if problem.expression else super().call(problem)
