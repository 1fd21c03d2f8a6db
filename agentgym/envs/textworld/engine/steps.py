"""Actions as plans use them: conditions, effects and reverses."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from agentgym.envs.textworld.engine.facts import FactTable
from agentgym.envs.textworld.session import Fact

Commands = tuple[str | None, str | None]
"""Command of an action, and of the one that undoes it; None where there is none."""
PackedStep = tuple[str, tuple[Fact, ...], tuple[Fact, ...], Commands, str | None, tuple[bool, bool]]
"""A step as plain data: the arguments of ``StepTable.make`` with sorted facts."""


class PlanStep:
    """One action in a plan. Equal ones of one world are one object.

    Args:
        name: Name of the rule.
        preconditions: Bits of the conditions.
        postconditions: Bits of the facts that replace them.
        commands: Its command, and the one that undoes it.
        undone_by: Name of the rule that undoes it, as the action itself says.
        proper: Whether the preconditions, and the postconditions, are free of repetitions.
            TextWorld counts a repeated condition twice, and so never applies such an action in a
            sequence.
        key: Number of its name and conditions, by which TextWorld compares actions.
    """

    __slots__ = (
        "added",
        "commands",
        "key",
        "name",
        "packed",
        "postconditions",
        "preconditions",
        "proper",
        "removed",
        "reverse",
        "undone_by",
    )

    def __init__(
        self,
        name: str,
        preconditions: int,
        postconditions: int,
        commands: Commands,
        undone_by: str | None,
        proper: tuple[bool, bool],
        key: int,
    ) -> None:
        self.name = name
        self.preconditions = preconditions
        self.postconditions = postconditions
        self.added = postconditions & ~preconditions
        self.removed = preconditions & ~postconditions
        self.commands = commands
        self.undone_by = undone_by
        self.proper = proper
        self.key = key
        self.reverse: PlanStep | None = None
        """The step that undoes this one, cached."""
        self.packed: PackedStep | None = None
        """The step as plain data, cached."""


class StepTable:
    """Make the steps of one world."""

    def __init__(self, table: FactTable, reverses: Mapping[str, str]) -> None:
        self._table = table
        self._reverses = reverses
        self._keys: dict[tuple[str, int, int], int] = {}
        self._next = count()
        self._steps_by_content: dict[tuple[object, ...], PlanStep] = {}

    def make(
        self,
        name: str,
        preconditions: int,
        postconditions: int,
        commands: Commands = (None, None),
        undone_by: str | None = None,
        proper: tuple[bool, bool] = (True, True),
    ) -> PlanStep:
        """Make a step, or find the equal one; see ``PlanStep`` for the arguments."""
        if name in self._reverses:
            undone_by = None  # A reverse that the rules declare goes first.
        content = (name, preconditions, postconditions, commands, undone_by, proper)
        step = self._steps_by_content.get(content)
        if step is None:
            key = self._keys.setdefault((name, preconditions, postconditions), next(self._next))
            step = self._steps_by_content.setdefault(content, PlanStep(*content, key))
        return step

    def undoable(self, step: PlanStep) -> bool:
        """Whether the rules name a rule that undoes the step's."""
        return step.name in self._reverses

    def reverse(self, step: PlanStep) -> PlanStep:
        """Make the step that undoes another: conditions and outcome change places.

        A step without a declared reverse gets one in name only. TextWorld plans with it too, and so
        detects that a fact is lost for good.
        """
        if step.reverse is None:
            step.reverse = self.make(
                self._reverses.get(step.name) or step.undone_by or f"r_{step.name}",
                step.postconditions,
                step.preconditions,
                (step.commands[1], step.commands[0]),
                proper=(step.proper[1], step.proper[0]),
            )
        return step.reverse

    def pack(self, step: PlanStep) -> PackedStep:
        """Turn a step into plain data, the same in every process."""
        if step.packed is None:
            preconditions, postconditions = (
                tuple(sorted(self._table.facts(mask)))
                for mask in (step.preconditions, step.postconditions)
            )
            step.packed = (
                step.name,
                preconditions,
                postconditions,
                step.commands,
                step.undone_by,
                step.proper,
            )
        return step.packed

    def unpack(self, packed: PackedStep) -> PlanStep:
        """Undo ``pack``."""
        name, preconditions, postconditions, commands, undone_by, proper = packed
        before_bits, after_bits = self._table.mask(preconditions), self._table.mask(postconditions)
        return self.make(name, before_bits, after_bits, commands, undone_by, proper)
