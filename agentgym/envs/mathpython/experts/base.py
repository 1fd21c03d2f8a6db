"""Base of the experts: one tool call, then the answer from its result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agentgym.authoring import CallRecord
from agentgym.envs.mathpython.problem import Problem
from agentgym.support.text_lines import last_line

PYTHON, CALCULATOR, ANSWER = "run_python", "calculator", "answer"
ARGUMENTS = {PYTHON: "code", CALCULATOR: "expression", ANSWER: "text"}
"""Action -> its only argument."""

Step = tuple[str, str]
"""An action and its argument."""


class Expert(ABC):
    """Knows how to calculate the answer; reads it from the tool's result."""

    @abstractmethod
    def call(self, problem: Problem) -> Step | None:
        """Return the tool call that shows the answer; None if it is known without one."""

    def step(self, problem: Problem, calls: Sequence[CallRecord]) -> Step:
        """Return the next action: the tool call, or the answer after it."""
        call = self.call(problem)
        if call is None:
            return ANSWER, problem.answer
        name, argument = call
        for past_call in reversed(calls):
            if past_call.tool == name and past_call.arguments == {ARGUMENTS[name]: argument}:
                return ANSWER, last_line(past_call.answer) or "unknown"
        return call

    def turns(self, problem: Problem, calls: Sequence[CallRecord] = ()) -> int:
        """Return the number of remaining turns."""
        return 1 if self.step(problem, calls)[0] == ANSWER else 2
