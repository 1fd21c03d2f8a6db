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
"""Prefixes of names that Python itself defines or mangles, so that a family cannot clash."""


class FamilyContract(ABC):
    """The methods with which a family begins an episode, acts in it and describes it.

    Only `_start` and `_act` are required. Each method that describes a state is called at most once
    per state. If a value is expensive and rarely read, return a `Later`, which is computed when it
    is first read.
    """

    action_specs: ClassVar[tuple[ActionSpec, ...]] = ()
    """The actions of the family."""
    reset_options: ClassVar[Mapping[str, Callable[[Any, str], Any]]] = MappingProxyType({})
    """Additional options of ``reset``, each with its validator (called with the value and its
    name). The task set receives them in :meth:`TaskSet.choose`."""
    repeatable: ClassVar[bool] = True
    """Whether actions may be repeated to recover an episode after its worker process died;
    otherwise an episode with turns after the last checkpoint is lost."""
    blind_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that do not read the task: names that begin with ``blind-``, mapped
    to functions that take an environment and return a policy. ``load_policy`` accepts the names,
    and ``agentgym certify`` plays them."""
    reading_policies: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
    """Baselines of the family that read the task, but do not know its solution; in the form of
    ``blind_policies``. ``certify`` does not play them, because it checks only the extremes: blind
    baselines must fail and the expert must succeed."""
    plain_arguments: ClassVar[Collection[str]] = ()
    """For environments outside of the suite: arguments that a file may set without the user's
    consent, because none of their values runs code, opens a file or contacts a server; see
    `agentgym.trust`."""
    action_length: ClassVar[int] = ACTION_LENGTH
    """Maximum number of characters of an action, thinking removed."""

    @abstractmethod
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        """Begin ``task`` and return the first observation; all randomness comes from ``rng``."""

    @abstractmethod
    def _act(self, action: str) -> Outcome:
        """Carry out one action in the native grammar; never raises on any text."""

    def _misread(self, action: str, problem: str) -> Outcome:
        """Answer a text in which :class:`Language` found no action; ``problem`` is the reason.

        Override it to count such turns or to extend the observation.
        """
        return Outcome(problem, valid=False)

    def _idle(self, observation: str, valid: bool) -> Outcome:
        """Return the outcome of a turn that an extension answered without the engine, as for notes.

        A family with ``reported_details`` overrides it, because it must report them at every step.
        """
        return Outcome(observation, valid=valid)

    def _admissible(self) -> MaybeLater[Sequence[str]]:
        """Return the valid actions of this state, in the native grammar and in any order.

        ``info`` contains them in another order (:func:`agentgym.core.info.shuffled`). Do not change
        the returned list afterwards: it may be read after the next turn.
        """
        return ()

    @abstractmethod
    def _state(self) -> MaybeLater[str]:
        """Return a text that is equal for equal engine states; its hash is ``state_key``.

        `TextEnv` returns the observation by default.
        """

    def _oracle_turns(self) -> MaybeLater[int | None]:
        """Return the remaining length of the demonstrator's plan, or None where unknown."""
        return None

    def _oracle_action(self) -> str | None:
        """Return the solver's next action in the native grammar, or None.

        The solver knows the answers, independent of ``expert=``.
        """
        return None

    def _demonstrator_action(self) -> str | None:
        """Return the demonstrator's next action in the native grammar, or None.

        Override it in a family with an argument ``expert``, which chooses the demonstrator.
        """
        return self._oracle_action()

    def _potential(self) -> float:
        """Return the potential phi of this state, for potential-based shaping (Ng et al. 1999)."""
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
    """Reject a family that overrides a private name of `TextEnv` outside of `OVERRIDABLE`.

    Args:
        cls: The family's class.
        base: `TextEnv`.

    Raises:
        ConfigurationError: A private method or attribute of the base is overridden.
    """
    names = {name for parent in (base, *base.__bases__) for name in vars(parent)}
    private = (name for name in sorted(names) if name.startswith("_") and not name.startswith(_OWN))
    # The whole MRO: a mixin before TextEnv overrides its methods as the class itself does.
    for name in (*private, "_running"):
        owner = next((parent for parent in cls.__mro__ if name in vars(parent)), base)
        if name not in OVERRIDABLE and not issubclass(base, owner):
            raise ConfigurationError(
                f"expected {cls.__name__} to leave alone what TextEnv needs for itself, got "
                f"its own {name} (in {owner.__name__}): give it another name. Of the private "
                f"names a family may override {', '.join(OVERRIDABLE)}"
            )
