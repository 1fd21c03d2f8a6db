"""The programmer, who writes Python and answers what it prints."""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import PYTHON, Expert, Step
from agentgym.envs.mathpython.problem import Problem


class ProgrammerExpert(Expert):
    """Runs the program of a problem, whose numbers are those of the question.

    Of a problem without one, such as those of data sets, it knows the answer alone.
    """

    def call(self, problem: Problem) -> Step | None:
        """Run the program."""
        return (PYTHON, problem.program) if problem.program else None
