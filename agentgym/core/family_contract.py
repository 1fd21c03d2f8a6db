"""`FamilyContract`: the methods that an environment family implements.

`TextEnv` calls them, and implements everything that is common to all families.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from agentgym.actions import ActionSpec
from agentgym.core.language import ACTION_LENGTH
from agentgym.core.later import MaybeLater
from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.errors import ConfigurationError, NotSupported

if TYPE_CHECKING:
    from typing_extensions import Self

OVERRIDABLE = (
    "_start", "_act", "_misread", "_idle", "_admissible", "_state", "_oracle_turns",
    "_oracle_action", "_demonstrator_action", "_potential", "_snapshot", "_restore",
)  # fmt: skip
"""Private methods of `TextEnv` that a family implements or overrides."""
_OWN = ("__", "_abc_", "_TextEnv__")
"""Prefixes of names that no family can take: Python gave them to a class."""


class FamilyContract(ABC):
    """The methods with which a family begins an episode, acts in it and describes it.

    Only `_start` and `_act` are required. Each method that describes a state is called at most once
    a state. What few callers read and what takes time is returned as a `Later`, which is made when
    somebody reads it.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = ()
    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = MappingProxyType({})
    """Additional options of ``reset``, each with its validator (called with the value and its
    name). The task set receives them in :meth:`TaskSet.choose`."""
    repeatable: ClassVar[bool] = True
    """Whether actions may be repeated to recover an episode after its worker process died;
    otherwise an episode with turns after the last checkpoint is lost."""
    blind_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that do not read the task, by names that begin with ``blind-``; each
    is made from an environment. ``load_policy`` accepts the names, ``validate`` plays them."""
    reading_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that read the task without knowing its solution, like
    ``blind_policies``; they lie between those and the expert, so ``validate`` does not play
    them."""
    plain_arguments: ClassVar[Collection[str]] = ()
    """Arguments of an environment outside of the suite that a file may set by itself, because no
    value of theirs runs code, opens a file or contacts anybody; see `agentgym.trust`."""
    action_length: ClassVar[int] = ACTION_LENGTH
    """Maximum number of characters of an action, thinking removed."""

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

    def _idle(self, observation: str, valid: bool) -> Outcome:
        """Report a turn in which the engine does nothing: agents told one another what was said.

        A family overrides it that reports details at every step.
        """
        return Outcome(observation, valid=valid)

    def _admissible(self) -> MaybeLater[Sequence[str]]:
        """Return the actions, in the native grammar, that do something in this state.

        Their order is the engine's; ``info`` has another. What is returned does not change
        afterwards: it may be read after the next turn.
        """
        return ()

    @abstractmethod
    def _state(self) -> MaybeLater[str]:
        """Return a text that is equal for equal engine states; its hash is ``state_key``.

        Of a family that leaves it out it is the observation.
        """

    def _oracle_turns(self) -> MaybeLater[int | None]:
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
        """Return the keys that ``info["details"]`` contains at every step."""
        return ()

    @classmethod  # noqa: B027  # optional
    def prepare(cls, members: Sequence[tuple[Self, str]]) -> None:
        """Batch the external work of the next steps of several environments.

        A vector environment calls this before it steps environments of this class that run in one
        thread, so that a family can query an external service, such as a search engine, once for
        all of them. The results of the steps must not depend on it.
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


def refuse_private_names(cls: type, base: type) -> None:
    """Refuse a family that overrides what its base needs for itself.

    Args:
        cls: The family's class.
        base: `TextEnv`.

    Raises:
        ConfigurationError: A private method or attribute of the base is overridden.
    """
    private = (name for name in vars(base) if name.startswith("_") and not name.startswith(_OWN))
    # The whole MRO: a mixin before TextEnv overrides its methods as the class itself does.
    for name in (*private, "_running"):
        owner = next((parent for parent in cls.__mro__ if name in vars(parent)), base)
        if name not in OVERRIDABLE and not issubclass(base, owner):
            raise ConfigurationError(
                f"expected {cls.__name__} to leave alone what TextEnv needs for itself, got "
                f"its own {name} (in {owner.__name__}): give it another name. Of the private "
                f"names a family may override {', '.join(OVERRIDABLE)}"
            )
