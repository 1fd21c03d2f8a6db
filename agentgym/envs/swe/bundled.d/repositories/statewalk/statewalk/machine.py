"""A machine: a present state, a context, and the steps that led here."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from statewalk.definition import Definition, Transition
from statewalk.errors import NotAllowed


@dataclass(frozen=True)
class Step:
    """One transition that was taken."""

    event: str
    source: str
    target: str


class Machine:
    """Walks through the states of a definition.

    Args:
        definition: What may happen.
        context: Values for guards and actions; the machine works on this very dictionary.
        limit: Number of steps that the history keeps and that can be undone.
    """

    def __init__(
        self,
        definition: Definition,
        context: dict[str, Any] | None = None,
        limit: int = 100,
    ) -> None:
        if limit < 0:
            raise ValueError(f"limit cannot be negative, got {limit}")
        self.definition = definition
        self.context: dict[str, Any] = {} if context is None else context
        self.limit = limit
        self.state = definition.initial
        self._steps: list[tuple[Step, dict[str, Any]]] = []

    @property
    def history(self) -> list[Step]:
        """The steps that are remembered, oldest first."""
        return [step for step, _ in self._steps]

    @property
    def done(self) -> bool:
        """Whether the machine is in a final state."""
        return self.state in self.definition.final

    def can(self, event: str) -> bool:
        """Tell whether an event would be accepted now."""
        return self._choose(event) is not None

    def allowed(self) -> list[str]:
        """List the events that would be accepted now, in the order of their definition."""
        return [event for event in self.definition.events if self.can(event)]

    def send(self, event: str, **values: Any) -> str:
        """Take the transition of an event.

        Args:
            event: What happened.
            **values: Put into the context before guards are asked; if the event is refused, they
                are taken out again.

        Returns:
            The new state.

        Raises:
            NotAllowed: No transition of this event leaves the present state, or every guard
                objects.
        """
        before = copy.deepcopy(self.context)
        self.context.update(values)
        transition = self._choose(event)
        if transition is None:
            reason = self._reason(event)
            self._restore(before)
            raise NotAllowed(self.state, event, reason)
        step = Step(event, self.state, transition.target)
        for action in self.definition.leave_actions.get(step.source, []):
            action(self.context)
        if transition.action is not None:
            transition.action(self.context)
        self.state = step.target
        for action in self.definition.enter_actions.get(step.target, []):
            action(self.context)
        self._remember(step, before)
        return self.state

    def run(self, *events: str) -> str:
        """Send events one after the other, as far as they are accepted, and return the state."""
        for event in events:
            if not self.can(event):
                break
            self.send(event)
        return self.state

    def back(self, steps: int = 1) -> str:
        """Undo the last steps: the state and the context are as they were before.

        Args:
            steps: How many.

        Returns:
            The state that is reached.
        """
        if not 1 <= steps <= len(self._steps):
            raise ValueError(f"cannot undo {steps} of {len(self._steps)} steps")
        step, context = self._steps[-steps]
        del self._steps[-steps:]
        self.state = step.source
        self._restore(context)
        return self.state

    def reset(self) -> None:
        """Go to the initial state and forget the history; the context stays."""
        self.state = self.definition.initial
        self._steps.clear()

    def visits(self, state: str) -> int:
        """Count how often a state was come to in the remembered history."""
        return sum(1 for step in self.history if step.target == state)

    def _choose(self, event: str) -> Transition | None:
        for transition in self.definition.outgoing(self.state):
            if transition.event == event and transition.permits(self.context):
                return transition
        return None

    def _reason(self, event: str) -> str:
        if self.done:
            return "the state is final"
        if event not in self.definition.events:
            return "there is no such event"
        outgoing = self.definition.outgoing(self.state)
        if any(transition.event == event for transition in outgoing):
            return "a guard objects"
        return "no transition leaves this state with it"

    def _remember(self, step: Step, context: dict[str, Any]) -> None:
        self._steps.append((step, context))
        if len(self._steps) > self.limit:
            del self._steps[0]

    def _restore(self, context: dict[str, Any]) -> None:
        self.context.clear()
        self.context.update(context)
