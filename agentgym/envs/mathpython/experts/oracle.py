"""The oracle, which knows the answer."""

from __future__ import annotations

from agentgym.envs.mathpython.experts.base import Expert, Step
from agentgym.envs.mathpython.problem import Problem


class OracleExpert(Expert):
    """Answers at once."""

    def call(self, problem: Problem) -> Step | None:
        """Return None: it needs no tool."""
        return None
