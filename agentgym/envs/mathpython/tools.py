"""The tools of an episode: exact arithmetic on the host, and Python in a sandbox."""

from __future__ import annotations

from agentgym.authoring import PythonTool
from agentgym.envs.mathpython.engine.exact import NotRational, Unreadable, calculated, write_number

ERROR_LINES = 3
"""Number of displayed lines of an error, from its end."""


class MathTools(PythonTool):
    """Calculator and Python.

    Args:
        sandbox: A back end, see `agentgym.sandbox.open_sandbox`.
        seconds: Maximum CPU time of a script, in seconds.
        longest: Maximum number of displayed characters of its output.
    """

    def __init__(
        self, *, sandbox: str = "auto", seconds: float = 10.0, longest: int = 2000
    ) -> None:
        super().__init__(sandbox=sandbox, seconds=seconds, longest=longest, error_lines=ERROR_LINES)

    def calculator(self, expression: str) -> str:
        """Calculate exactly with + - * / ^ mod, brackets, floor, sqrt, gcd, factorial and the like.

        Args:
            expression: What to calculate, such as (3 + 4) * 5 / 2.
        """
        try:
            return write_number(calculated(expression))
        except (Unreadable, NotRational) as error:
            raise ValueError(str(error)) from None
