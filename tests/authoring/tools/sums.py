"""An environment of tools: add numbers, with a register that a task has to itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from agentgym.authoring import ToolEpisode, register_tools

SUMS_ID = "agentgym-test/Sums-v0"
ROWS = [
    {"question": f"What is {a} + {b}?", "numbers": [a, b]} for a in range(20) for b in range(20)
]


class Calculator:
    """Numbers, and one that is remembered."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, a: int, b: int) -> int:
        """Add two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        self.total = a + b
        return self.total

    def recall(self, form: Literal["digits", "sign"] = "digits") -> str:
        """Tell the last sum.

        Args:
            form: What is told of it.
        """
        return str(self.total) if form == "digits" else "+-"[self.total < 0]


def reward(episode: ToolEpisode) -> float:
    """Pay for the right sum."""
    return float(episode.answer == str(sum(episode.task["numbers"])))


def expert(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Add, then answer."""
    first, second = task["numbers"]
    yield "add", {"a": first, "b": second}
    yield "answer", {"text": str(first + second)}


register_tools(
    SUMS_ID, tools=Calculator, tasks=ROWS, reward=reward, expert=expert, timeout=None, horizon=8
)
