"""What experts have in common: they look at a session and say what to do next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from agentgym.envs.search.engine.commands import ANSWER, SEARCH, Command
from agentgym.envs.search.engine.session import Session
from agentgym.envs.search.question import Question


class Step(NamedTuple):
    """What an expert does in one turn."""

    name: str
    """``search`` or ``answer``."""
    argument: str
    """The query or the answer."""
    thought: str = ""
    """What led to it, in words; empty where the expert says nothing."""

    def write(self) -> str:
        """Write the turn in the native grammar, the thought before the action."""
        action = Command(self.name, self.argument).write()
        return f"<think>{self.thought}</think>{action}" if self.thought else action


def search(query: str, thought: str = "") -> Step:
    """Return the step that sends a query."""
    return Step(SEARCH, query, thought)


def answer(text: str, thought: str = "") -> Step:
    """Return the step that answers."""
    return Step(ANSWER, text, thought)


class Expert(ABC):
    """Knows what to do in every state of an episode that is not over."""

    @abstractmethod
    def step(self, session: Session, turns_left: int) -> Step:
        """Return what to do next.

        Args:
            session: The running episode.
            turns_left: Turns after this one; in the last turn only an answer is accepted.
        """

    @abstractmethod
    def turns(self, question: Question) -> int | None:
        """Return how many turns a question takes from the start; None where nobody knows."""
