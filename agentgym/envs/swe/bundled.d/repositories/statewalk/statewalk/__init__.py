"""Finite state machines with guards, actions and history."""

from statewalk.definition import ANY, Definition, Transition
from statewalk.errors import DefinitionError, NotAllowed, StateError
from statewalk.machine import Machine, Step

__all__ = [
    "ANY",
    "Definition",
    "DefinitionError",
    "Machine",
    "NotAllowed",
    "StateError",
    "Step",
    "Transition",
]
