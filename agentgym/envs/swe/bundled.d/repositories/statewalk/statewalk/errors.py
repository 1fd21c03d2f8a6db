"""The exceptions of the library."""


class StateError(Exception):
    """Base of what this library raises."""


class DefinitionError(StateError):
    """A definition contradicts itself or cannot be read."""


class NotAllowed(StateError):
    """The machine cannot do this in its present state."""

    def __init__(self, state: str, event: str, reason: str) -> None:
        super().__init__(f"{event!r} is not allowed in state {state!r}: {reason}")
        self.state = state
        self.event = event
        self.reason = reason
