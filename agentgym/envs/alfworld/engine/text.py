"""Every sentence of the game: what the grammar of alfworld 0.4.2 derives, letter by letter.

Quirks are kept on purpose: lists of two also say ``, and``, and a cold object is ``cold`` unless it
is clean or sliced too, when it is ``cool``.
"""

from __future__ import annotations

from collections.abc import Sequence

BANNER = "-= Welcome to TextWorld, ALFRED! =-"
NOTHING_HAPPENS = "Nothing happens."
MIDDLE = "You are in the middle of a room. Looking quickly around you, you see "
EMPTY_HANDS = "You are not carrying anything."
USAGE = (
    ("look", "look around your current location"),
    ("inventory", "check your current inventory"),
    ("go to (receptacle)", "move to a receptacle"),
    ("open (receptacle)", "open a receptacle"),
    ("close (receptacle)", "close a receptacle"),
    ("take (object) from (receptacle)", "take an object from a receptacle"),
    ("move (object) to (receptacle)", "place an object in or on a receptacle"),
    ("examine (something)", "examine a receptacle or an object"),
    ("use (object)", "use an object"),
    ("heat (object) with (receptacle)", "heat an object using a receptacle"),
    ("clean (object) with (receptacle)", "clean an object using a receptacle"),
    ("cool (object) with (receptacle)", "cool an object using a receptacle"),
    ("slice (object) with (object)", "slice an object using a sharp object"),
)
"""How each command is written, and what it does."""


def _help() -> str:
    """Lay out the table of commands; the original's line on ``move`` is two columns short."""
    lines = []
    for usage, meaning in USAGE:
        width = 32 if usage.startswith("move") else 34
        lines.append(f"  {usage + ':':{width}}{meaning}\n")
    return "Available commands:\n" + "".join(lines)


HELP = _help()


def listing(items: Sequence[str]) -> str:
    """Join with commas and a last ``, and``; nothing is ``nothing``."""
    if len(items) > 1:
        return f"{', '.join(items[:-1])}, and {items[-1]}"
    return items[0] if items else "nothing"


def articles(names: Sequence[str]) -> str:
    """List names, each after an ``a``."""
    return listing([f"a {name}" for name in names])


def intro(view: str, goal: str) -> str:
    """Return the text at reset."""
    return f"{BANNER}\n\n{view}\n\nYour task is to: {goal}"


def facing(receptacles: Sequence[str], displaced: Sequence[str]) -> str:
    """Describe the receptacles here, and the objects that were moved between them."""
    return f"You are facing the {listing(receptacles)}. Next to it, you see {articles(displaced)}."


def room(receptacles: Sequence[str]) -> str:
    """Describe the middle of the room."""
    return f"{MIDDLE}{articles(receptacles)}."


def receptacle(name: str, contents: Sequence[str], openable: bool, opened: bool) -> str:
    """Describe a receptacle and what can be seen in it."""
    if not openable:
        return f"On the {name}, you see {articles(contents)}."
    if opened:
        return f"The {name} is open. In it, you see {articles(contents)}."
    return f"The {name} is closed."


def container(name: str, contents: Sequence[str]) -> str:
    """Describe an object that holds others."""
    return f"This is a normal {name}. In it, you see {articles(contents)}."


def condition(name: str, clean: bool, hot: bool, cool: bool, sliced: bool) -> str | None:
    """Describe what was done to an object in hand; None leaves it to switches and slices."""
    heat = "hot" if hot else "cool" if cool else ""
    if clean and sliced:
        return _describe_mark(f"{heat} and clean sliced" if heat else "clean sliced", name)
    if sliced and heat:
        return _describe_mark(f"{heat} sliced", name)
    if clean and heat:
        return _describe_mark(f"{heat} and clean", name)
    if hot:
        return _describe_mark("hot", name)
    if clean:
        return _describe_mark("clean", name)
    return _describe_mark("cold", name) if cool else None


def inventory(name: str | None) -> str:
    """Tell what is in hand."""
    return EMPTY_HANDS if name is None else f"You are carrying: a {name}."


def switched_on(name: str) -> str:
    """Describe an object that was switched on; none is ever told to be off."""
    return f"This {name} is on."


def ordinary(name: str, sliced: bool) -> str:
    """Describe an object of no other mark."""
    return _describe_mark("sliced", name) if sliced else f"There's nothing special about {name}."


def _describe_mark(mark: str, name: str) -> str:
    return f"This is a {mark} {name}."
