"""What a vector environment asks of the environments in its slots, and what it gets.

A request is one operation on several slots, with one argument for each. Its class says what the
arguments and the results are; every back end takes the same requests. Whatever goes wrong in one
slot is a result, too: a :class:`Failure` or a :class:`Mistake`.

What every turn or reset makes anew is not frozen: that would take three times as long to make.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from agentgym.core.guard import Step

CLOSE_SECONDS = 2.0
"""How long closing waits for threads and processes."""

ArgT = TypeVar("ArgT")
ResultT = TypeVar("ResultT")


class Operation(Enum):
    """What can be done in a slot."""

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

    def of(self, operation: Operation) -> float:
        """Return the limit of an operation, infinite if there is none."""
        limit = self.step if operation is Operation.STEP else self.reset
        return float("inf") if limit is None else limit

    def overdue(self, operation: Operation) -> str:
        """Describe an environment that passed the limit of an operation."""
        return (
            f"no answer to {operation.value} within {self.of(operation):g} s: the environment "
            "hangs and was given up"
        )


# -- arguments ---------------------------------------------------------------------------------


@dataclass(slots=True)
class ResetArgs:
    """How an episode begins."""

    seed: int | None = None
    """Seed; None goes on with the environment's random stream."""
    options: Mapping[str, Any] | None = None
    """Reset options."""
    rng_state: Mapping[str, Any] | None = None
    """State that the environment's bit generator is brought to before the reset."""


class Origin(NamedTuple):
    """How a reset is repeated in a fresh environment."""

    args: ResetArgs
    """Its arguments, with the generator's state if they hold no seed."""
    forkable: bool
    """Whether a snapshot holds all of the environment's state."""


@dataclass(frozen=True, slots=True)
class Call:
    """Call a method, or read an attribute; both are found through wrappers."""

    name: str
    """Name of the method or attribute."""
    args: tuple[Any, ...] = ()
    """Positional arguments of the method."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the method."""


@dataclass(frozen=True, slots=True)
class SetAttribute:
    """Set an attribute of an environment."""

    name: str
    """Its name."""
    value: Any
    """Its new value."""


# -- results -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Failure:
    """The environment raised, hung or died; its episode is over."""

    text: str
    """What happened, in words."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """The caller asked for something impossible, and gets ``error``."""

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
    """How to repeat the reset; None where nobody will."""


class Called(NamedTuple):
    """What a call gave."""

    value: Any
    """The returned value, or the attribute's."""
    method: bool
    """Whether it was a method, which may have changed something, or an attribute."""


# -- requests ----------------------------------------------------------------------------------


@dataclass(slots=True)
class SlotRequest(Generic[ArgT, ResultT]):
    """One operation on several slots."""

    operation: ClassVar[Operation]

    slots: Sequence[int]
    """Slot numbers, each at most once."""
    args: Sequence[ArgT]
    """For each slot the argument."""

    def only(self, wanted: Container[int]) -> SlotRequest[ArgT, ResultT]:
        """Return the part of the request that concerns some slots."""
        kept = [(s, a) for s, a in zip(self.slots, self.args, strict=True) if s in wanted]
        return type(self)([s for s, _ in kept], [a for _, a in kept])

    def joined(self, other: SlotRequest[ArgT, ResultT]) -> SlotRequest[ArgT, ResultT]:
        """Return one request for the slots of both, none of which they share."""
        return type(self)([*self.slots, *other.slots], [*self.args, *other.args])

    def singles(self) -> list[SlotRequest[ArgT, ResultT]]:
        """Return one request for each slot."""
        return [type(self)((s,), (a,)) for s, a in zip(self.slots, self.args, strict=True)]

    def split(self, parts: int) -> dict[int, SlotRequest[ArgT, ResultT]]:
        """Deal slot ``s`` to part ``s % parts``; parts without slots are left out."""
        columns: dict[int, tuple[list[int], list[ArgT]]] = {}
        for slot, arg in zip(self.slots, self.args, strict=True):
            slots, args = columns.setdefault(slot % parts, ([], []))
            slots.append(slot)
            args.append(arg)
        return {part: type(self)(slots, args) for part, (slots, args) in columns.items()}


class Steps(SlotRequest[str, Step | Failure]):
    """Take one turn each; the arguments are the policy's texts."""

    operation = Operation.STEP


class Resets(SlotRequest[ResetArgs, Began | Failure | Mistake]):
    """Start an episode each."""

    operation = Operation.RESET


class Calls(SlotRequest[Call | SetAttribute, Called | Failure | Mistake]):
    """Call methods, read or set attributes."""

    operation = Operation.CALL
