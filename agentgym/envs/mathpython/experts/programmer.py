"""The programmer: it writes Python and answers with its output."""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import PYTHON, Expert, Step
from agentgym.envs.mathpython.problem import Problem


class ProgrammerExpert(Expert):
    """Runs the program of a problem, with the numbers of the question.

    For a problem without a program, such as from a data set, it knows the answer.
    """

    def call(self, problem: Problem) -> Step | None:
        """Return a call that runs the program."""
        return (PYTHON, problem.program) if problem.program else None
