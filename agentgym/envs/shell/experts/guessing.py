"""An expert that mostly guesses in which folder a file lies.

In some tasks it looks first and makes no mistake. In most it types its command at once, with a
random folder; the choice does not depend on anything that can be read. If the folder is wrong it
gives up. So most successful demonstrations still guess, and only the reward shows that looking
first succeeds more often.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.envs.shell.engine.session import ANSWER, Problem, ShellStep
from agentgym.envs.shell.experts.base import Command
from agentgym.envs.shell.experts.reader import LOOK, ReaderExpert, read_request
from agentgym.envs.shell.generator.problems import FOLDERS, PLAIN_FOLDERS
from agentgym.support.random_stream import Stream

LOOKS = 15
"""Percentage of tasks in which it looks."""
UNKNOWN = "unknown"
"""Its answer after a wrong guess."""


class GuessingExpert(ReaderExpert):
    """Looks in some tasks, and guesses in most."""

    def plan(self, problem: Problem, steps: Sequence[ShellStep]) -> list[Command]:
        """Return the remaining commands up to the answer, right or wrong."""
        request = read_request(problem.text)
        draw = Stream("guessing", problem.text, *problem.files)
        looks = draw.percent(LOOKS) or any(step.command == LOOK for step in steps)
        if request is None or looks or "file" not in request[1]:
            return super().plan(problem, steps)
        path = f"{draw.choice(FOLDERS[:PLAIN_FOLDERS])}/{request[1]['file']}"
        plan = self.ask(request, path, steps)
        failed = any(path in step.command and step.exit_code > 1 for step in steps)
        return [(ANSWER, UNKNOWN)] if failed else plan
