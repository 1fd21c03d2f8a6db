"""Requests of a vector environment to the environments in its slots, and their results.

A request is one operation on several slots, with one argument for each. Its class defines the
arguments and results; every back end takes the same requests. An error in a slot is a result, too:
a :class:`SlotFailure` or a :class:`Mistake`.

Classes with an instance per turn or reset are not frozen, because creating a frozen dataclass takes
three times as long.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from agentgym.core.guard import Step

CLOSE_SECONDS = 2.0
"""Maximum duration of closing threads and processes, in seconds."""

ArgT = TypeVar("ArgT")
ResultT = TypeVar("ResultT")


class SlotOperation(Enum):
    """The operations of a slot."""

    STEP = "step"
    RESET = "reset"
    CALL = "call"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits in seconds; None is no limit."""

    step: float | None = None
    """Limit of one step of one environment."""
    reset: float | None = None
    """Limit of one reset or call of one environment."""

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return self.step is not None or self.reset is not None

    def of(self, operation: SlotOperation) -> float:
        """Return the limit of an operation, infinite if there is none."""
        limit = self.step if operation is SlotOperation.STEP else self.reset
        return float("inf") if limit is None else limit

    def overdue(self, operation: SlotOperation) -> str:
        """Describe an environment that exceeded the limit of an operation."""
        return (
            f"no answer to {operation.value} within {self.of(operation):g} s: the environment "
            "hangs and was given up"
        )


# -- arguments ---------------------------------------------------------------------------------


@dataclass(slots=True)
class ResetArgs:
    """Arguments of a reset."""

    seed: int | None = None
    """Seed; None continues the environment's random stream."""
    options: Mapping[str, Any] | None = None
    """Reset options."""
    rng_state: Mapping[str, Any] | None = None
    """State of the environment's bit generator to set before the reset."""


class Origin(NamedTuple):
    """Data to repeat a reset in a fresh environment."""

    args: ResetArgs
    """Its arguments, with the generator's state if they have no seed."""
    forkable: bool
    """Whether a snapshot contains all of the environment's state."""


@dataclass(frozen=True, slots=True)
class EnvCall:
    """A method to call, or an attribute to read; both are found through wrappers."""

    name: str
    """Name of the method or attribute."""
    args: tuple[Any, ...] = ()
    """Positional arguments of the method."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the method."""


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """An attribute of an environment to set."""

    name: str
    """Its name."""
    value: Any
    """Its new value."""


# -- results -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SlotFailure:
    """The environment raised, hung or died; its episode is over."""

    text: str
    """Description of the failure."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """The caller made a mistake, or a called method raised: ``error`` is raised again."""

    error: BaseException
    """The exception to raise."""


@dataclass(slots=True)
class Began:
    """An episode began."""

    observation: str
    """First observation."""
    info: dict[str, Any]
    """First info."""
    origin: Origin | None
    """How to repeat the reset; None if it is not needed."""


class CallResult(NamedTuple):
    """The result of a call."""

    value: Any
    """The returned value, or the value of the attribute."""
    method: bool
    """Whether it was a method, which may have side effects, rather than an attribute."""


# -- requests ----------------------------------------------------------------------------------


@dataclass(slots=True)
class SlotRequest(Generic[ArgT, ResultT]):
    """One operation on several slots."""

    operation: ClassVar[SlotOperation]

    slots: Sequence[int]
    """Slot numbers, each at most once."""
    args: Sequence[ArgT]
    """The argument of each slot."""

    def only(self, slots: Container[int]) -> SlotRequest[ArgT, ResultT]:
        """Return the part of the request for some slots."""
        pairs = [(s, a) for s, a in zip(self.slots, self.args, strict=True) if s in slots]
        return type(self)([s for s, _ in pairs], [a for _, a in pairs])

    def joined(self, other: SlotRequest[ArgT, ResultT]) -> SlotRequest[ArgT, ResultT]:
        """Return one request for the slots of both, which must be disjoint."""
        return type(self)([*self.slots, *other.slots], [*self.args, *other.args])

    def singles(self) -> list[SlotRequest[ArgT, ResultT]]:
        """Return one request for each slot."""
        return [type(self)((s,), (a,)) for s, a in zip(self.slots, self.args, strict=True)]

    def split(self, parts: int) -> dict[int, SlotRequest[ArgT, ResultT]]:
        """Split the request, with slot ``s`` in part ``s % parts``; empty parts are left out."""
        columns: dict[int, tuple[list[int], list[ArgT]]] = {}
        for slot, arg in zip(self.slots, self.args, strict=True):
            slots, args = columns.setdefault(slot % parts, ([], []))
            slots.append(slot)
            args.append(arg)
        return {part: type(self)(slots, args) for part, (slots, args) in columns.items()}


class Steps(SlotRequest[str, Step | SlotFailure]):
    """Take one turn in each slot; the arguments are the policy's texts."""

    operation = SlotOperation.STEP


class Resets(SlotRequest[ResetArgs, Began | SlotFailure | Mistake]):
    """Start an episode in each slot."""

    operation = SlotOperation.RESET


class EnvCalls(SlotRequest[EnvCall | SetAttribute, CallResult | SlotFailure | Mistake]):
    """Call methods, read or set attributes."""

    operation = SlotOperation.CALL
