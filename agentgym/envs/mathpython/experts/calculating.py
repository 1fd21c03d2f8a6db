"""The expert that uses the calculator if one line suffices, and writes Python otherwise."""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import CALCULATOR, Step
from agentgym.envs.mathpython.experts.programmer import ProgrammerExpert
from agentgym.envs.mathpython.problem import Problem


class CalculatingExpert(ProgrammerExpert):
    """Types one expression if possible: it starts no process, and tiny policies can learn it."""

    def call(self, problem: Problem) -> Step | None:
        """Return a calculator call, if an expression is known."""
        return (CALCULATOR, problem.expression) if problem.expression else super().call(problem)
