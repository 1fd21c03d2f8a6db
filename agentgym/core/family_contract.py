"""What an environment family implements: `FamilyContract`, the part of `TextEnv` that is its own.

`TextEnv` calls these methods, and does all that is the same in every family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec
from agentgym.core.language import ACTION_LENGTH
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.errors import NotSupported

if TYPE_CHECKING:
    from typing_extensions import Self

OVERRIDABLE = (
    "_start", "_act", "_misread", "_idle", "_admissible", "_state", "_oracle_turns",
    "_oracle_action", "_demonstrator_action", "_potential", "_snapshot", "_restore",
)  # fmt: skip
"""Private methods of `TextEnv` that a family implements or overrides."""


class FamilyContract(ABC):
    """How a family begins an episode, acts in it and describes it.

    Only `_start` and `_act` have to be there.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = ()
    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = MappingProxyType({})
    """Options of ``reset`` that only this family has, each with what validates it (called with the
    value and its name). The task set finds them in :meth:`TaskSet.choose`."""
    repeatable: ClassVar[bool] = True
    """Whether actions may be carried out a second time to bring back an episode whose worker died;
    where they may not, what lies behind its last checkpoint is lost, and the episode with it."""
    blind_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that read nothing of a task, by names that begin with ``blind-``;
    each is made from an environment. ``load_policy`` knows the names, ``validate`` plays them."""
    reading_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that read the task and know no solution, as ``blind_policies``; they
    are rungs between those and the expert, so ``validate`` does not play them."""
    action_length: ClassVar[int] = ACTION_LENGTH
    """Most characters of an action, thinking removed."""

    @abstractmethod
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        """Begin ``task`` and return the first observation; all randomness comes from ``rng``."""

    @abstractmethod
    def _act(self, action: str) -> Outcome:
        """Carry out one action in the native grammar; never raises on any text."""

    def _misread(self, action: str, problem: str) -> Outcome:
        """Answer a policy's text in which :class:`Language` found no action, for the reason given.

        A family overrides it that counts such turns, or has something to add.
        """
        return Outcome(problem, valid=False)

    def _idle(self, said: str, valid: bool) -> Outcome:
        """Report a turn in which the engine does nothing: agents told one another what was said.

        A family overrides it that reports details at every step.
        """
        return Outcome(said, valid=valid)

    def _admissible(self) -> Sequence[str]:
        """Return the actions, in the native grammar, that do something in this state.

        Their order is the engine's; ``info`` has another. What is returned does not change
        afterwards: it may be read after the next turn.
        """
        return ()

    @abstractmethod
    def _state(self) -> str:
        """Return a text that is equal for equal engine states; its hash is ``state_key``.

        Of a family that leaves it out it is the observation.
        """

    def _oracle_turns(self) -> int | None:
        """Return the remaining length of the demonstrator's plan, or None where unknown."""
        return None

    def _oracle_action(self) -> str | None:
        """Return the solver's next action in the native grammar, or None.

        The solver knows the answers, whoever the demonstrator is.
        """
        return None

    def _demonstrator_action(self) -> str | None:
        """Return the demonstrator's next action in the native grammar, or None.

        A family whose ``expert=`` chooses a demonstrator overrides it.
        """
        return self._oracle_action()

    def _potential(self) -> float:
        """Return phi of this state, for potential-based shaping."""
        return 0.0

    def reported_details(self) -> Collection[str]:
        """Return the keys that ``info["details"]`` holds at every step, on which hooks rely."""
        return ()

    @classmethod  # noqa: B027  # optional
    def prepare(cls, members: Sequence[tuple[Self, str]]) -> None:
        """Do at once what the next steps of several environments need, each with its action.

        A vector environment calls it before it steps them, with running environments of this
        class that it holds in one thread: a family whose steps ask something outside, such as a
        search engine, asks once for all. The steps must come out the same without it.
        """

    def _snapshot(self) -> Any:
        """Return a picklable copy of the engine's state."""
        raise NotSupported(
            f"{type(self).__name__} cannot fork an episode: its engine has no snapshots"
        )

    def _restore(self, state: Any) -> None:
        """Return the engine to a state taken by :meth:`_snapshot`."""
        raise NotSupported(
            f"{type(self).__name__} cannot fork an episode: its engine has no snapshots"
        )
