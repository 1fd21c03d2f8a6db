"""Reasons why a command does nothing, derived only from text the player has seen.

The original answers "Nothing happens." to every command without an effect. A reason never reveals
anything hidden: of a closed drawer it says that it is closed, whatever is inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from agentgym.envs.alfworld.engine.session import HouseholdSession
from agentgym.envs.alfworld.engine.state import NOBODY
from agentgym.envs.alfworld.engine.text import USAGE

Reasons = Iterator[str]

_LINKS = {"take": " from ", "move": " to ", "clean": " with ", "heat": " with ", "cool": " with ",
          "slice": " with "}  # fmt: skip
_USAGES = {usage.split()[0]: usage for usage, _ in USAGE}
_HELP = "the command help lists all commands"


def refusal(session: HouseholdSession, command: str) -> str:
    """Say in one line why a command, any text that is not admissible, does nothing."""
    if len(command) > session.household.longest:
        return f"no command is that long; {_HELP}"
    words_text = " ".join(command.lower().split())
    if session.find(words_text) is not None:
        return f"write {words_text!r}: small letters, one blank between words"
    verb, _, arguments = words_text.partition(" ")
    if verb not in _USAGES and verb != "help":
        return f"there is no command {verb!r}; {_HELP}"
    names = _names(verb, arguments)
    if names is None or verb not in _REASONS:
        return f"write {_USAGES.get(verb, verb)!r}"
    return next(_REASONS[verb](_Player(session), *names), "it does nothing now")


def _names(verb: str, arguments: str) -> tuple[str, ...] | None:
    """Return the arguments of a command, or None if there are too few."""
    if verb == "go":
        arguments = arguments.removeprefix("to ") if arguments.startswith("to ") else ""
    if verb not in _LINKS:
        return (arguments,) if arguments else None
    first, _, second = arguments.partition(_LINKS[verb])
    return (first, second) if first and second else None


class _Player:
    """Reasons that are visible in the room; each method yields one if it applies."""

    def __init__(self, session: HouseholdSession) -> None:
        house, state = session.household, session.state
        self.house, self.state = house, state
        self.receptacles = {
            house.names[r]: r for r in reversed(house.receptacles_at.get(state.place, ()))
        }
        """Receptacles at hand, by name."""
        self.carried = "" if state.hand == NOBODY else house.names[state.hand]

    def away(self, name: str) -> Reasons:
        """A receptacle is unknown, or elsewhere."""
        exists = any(self.house.names[r] == name for r in self.house.intro)
        if not exists:
            yield f"there is no receptacle {name!r} in this room"
        elif name not in self.receptacles:
            yield f"you are not at {name}; go to it first"

    def shut(self, name: str) -> Reasons:
        """The door of a receptacle at hand is closed."""
        if not self.accessible(self.receptacles[name]):
            yield f"{name} is closed"

    def lacks(self, name: str) -> Reasons:
        """An object is not in hand."""
        if name != self.carried:
            carried = f"carrying {self.carried}" if self.carried else "not carrying anything"
            yield f"you have no {name!r} in hand; you are {carried}"

    def accessible(self, receptacle: int) -> bool:
        """Return whether one can look into a receptacle."""
        return receptacle not in self.house.openable or receptacle in self.state.opened

    def list_contents(self, receptacle: int) -> list[str]:
        """Return the names of the visible objects in a receptacle."""
        contents = self.state.contents[receptacle] if self.accessible(receptacle) else ()
        return self.house.called(contents)

    def unseen(self, name: str) -> Reasons:
        """An object is neither in hand nor to be seen in a receptacle at hand."""
        visible = {
            content
            for receptacle in self.receptacles.values()
            for content in self.list_contents(receptacle)
        }
        if name not in visible and name != self.carried:
            yield f"there is no {name!r} to be seen here"


def _go(player: _Player, name: str) -> Reasons:
    if name in player.receptacles:
        yield f"you are at {name} already"
    yield from player.away(name)


def _door(player: _Player, name: str, *, already: str) -> Reasons:
    yield from player.away(name)
    has_door = player.receptacles[name] in player.house.openable
    yield f"{name} is {already} already" if has_door else f"{name} has no door"


def _take(player: _Player, object_name: str, name: str) -> Reasons:
    yield from player.away(name)
    yield from player.shut(name)
    if player.carried:
        yield f"your hand is full: you are carrying {player.carried}"
    if object_name not in player.list_contents(player.receptacles[name]):
        yield f"there is no {object_name!r} in or on {name}"
    yield f"{object_name} cannot be picked up"


def _move(player: _Player, object_name: str, name: str) -> Reasons:
    yield from player.lacks(object_name)
    yield from player.away(name)
    yield from player.shut(name)
    yield f"{object_name} cannot be put in or on {name}"


def _treat(player: _Player, object_name: str, name: str, *, verb: str) -> Reasons:
    yield from player.lacks(object_name)
    yield from player.away(name)
    able = player.receptacles[name] in player.house.appliances[verb]
    yield (
        f"{object_name} cannot be treated so"
        if able
        else f"{name} is not there to {verb} things with"
    )


def _slice(player: _Player, object_name: str, tool: str) -> Reasons:
    yield from player.lacks(tool)
    if player.state.hand not in player.house.knives:
        yield f"nothing can be sliced with {tool}"
    yield from player.unseen(object_name)
    yield f"{object_name} cannot be sliced"


def _use(player: _Player, object_name: str) -> Reasons:
    yield from player.unseen(object_name)
    if object_name == player.carried:
        yield f"{object_name} is in your hand; only what stands here can be switched on"
    yield f"{object_name} cannot be switched on"


def _examine(player: _Player, name: str) -> Reasons:
    if any(player.house.names[r] == name for r in player.house.intro):
        yield from player.away(name)
    yield from player.unseen(name)
    yield f"{name} is not in your hand; only what is carried can be examined, and receptacles"


_REASONS: Mapping[str, Callable[..., Reasons]] = {
    **{verb: partial(_treat, verb=verb) for verb in ("clean", "heat", "cool")},
    "close": partial(_door, already="closed"), "open": partial(_door, already="open"),
    "examine": _examine, "go": _go, "move": _move, "slice": _slice, "take": _take, "use": _use,
}  # fmt: skip
