"""What a machine may do: its states and the transitions between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from statewalk.errors import DefinitionError

ANY = "*"
"""As the source of a transition: every state that is not final."""

Guard = Callable[[dict[str, Any]], bool]
Action = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Transition:
    """One way from a state to another."""

    event: str
    source: str
    target: str
    guard: Guard | None = None
    action: Action | None = None

    def permits(self, context: dict[str, Any]) -> bool:
        """Tell whether the guard, if there is one, agrees."""
        return self.guard is None or bool(self.guard(context))


class Definition:
    """The states and transitions that any number of machines share.

    Args:
        initial: The state in which a machine begins.
    """

    def __init__(self, initial: str) -> None:
        if not initial or initial == ANY:
            raise DefinitionError(f"a machine cannot begin in {initial!r}")
        self.initial = initial
        self.transitions: list[Transition] = []
        self.final: set[str] = set()
        self.enter_actions: dict[str, list[Action]] = {}
        self.leave_actions: dict[str, list[Action]] = {}

    def add(
        self,
        event: str,
        source: str | Iterable[str],
        target: str,
        guard: Guard | None = None,
        action: Action | None = None,
    ) -> None:
        """Add a transition, or one for each of several sources.

        Transitions are tried in the order in which they were added, those from a named state
        before those from any state.

        Args:
            event: What triggers it.
            source: A state, several states, or ``"*"``.
            target: The state it leads to.
            guard: Decides from the context whether it may be taken.
            action: Called with the context while it is taken.
        """
        if target == ANY:
            raise DefinitionError("the target of a transition is a single state")
        for state in [source] if isinstance(source, str) else source:
            if state in self.final:
                raise DefinitionError(f"{state!r} is final, nothing leads out of it")
            earlier = [t for t in self.transitions if t.event == event and t.source == state]
            if any(t.guard is None for t in earlier):
                raise DefinitionError(
                    f"{event!r} from {state!r} is already taken by a transition without guard"
                )
            self.transitions.append(Transition(event, state, target, guard, action))

    def finish(self, *states: str) -> None:
        """Declare states final: no transition leads out of them."""
        for state in states:
            if any(transition.source == state for transition in self.transitions):
                raise DefinitionError(f"{state!r} cannot be final, a transition leaves it")
            self.final.add(state)

    def on_enter(self, state: str, action: Action) -> None:
        """Call a function with the context whenever a machine comes into a state."""
        self.enter_actions.setdefault(state, []).append(action)

    def on_leave(self, state: str, action: Action) -> None:
        """Call a function with the context whenever a machine goes out of a state."""
        self.leave_actions.setdefault(state, []).append(action)

    @property
    def states(self) -> list[str]:
        """All states, the initial one first, the others in the order of their mention."""
        found = {self.initial: None}
        for transition in self.transitions:
            for state in (transition.source, transition.target):
                if state != ANY:
                    found[state] = None
        found.update(dict.fromkeys(sorted(self.final)))
        return list(found)

    @property
    def events(self) -> list[str]:
        """All events, in the order of their mention."""
        return list(dict.fromkeys(transition.event for transition in self.transitions))

    def outgoing(self, state: str) -> list[Transition]:
        """List the transitions that may leave a state, in the order in which they are tried."""
        if state in self.final:
            return []
        named = [transition for transition in self.transitions if transition.source == state]
        return named + [transition for transition in self.transitions if transition.source == ANY]
