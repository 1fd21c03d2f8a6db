"""From an action's text to a command, and why a command could not be carried out.

Three readers: the original's grammar to the letter, a forgiving one for the compact mode, and the
house's own for what was written in another grammar. None takes more than linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.actions import ActionSpec, parse
from agentgym.envs.webshop.engine.session import INDEX, NEXT, RESULTS, ShopSession

UNREADABLE = "invalid: write search[words] or click[name]"
"""Answer to a text that holds no command."""
_ACTION = re.compile(r"\b(search|click)\s*\[", re.IGNORECASE)


class Command(NamedTuple):
    """What a shopper wants to do."""

    name: str
    """``search`` or ``click``; anything in the original's grammar."""
    argument: str
    """Lower-case query or name, white space as it was written."""


def official(text: str) -> Command | None:
    r"""Read an action as the original does: by ``(.+)\[(.+)\]``, greedy, from the start.

    Returns:
        What stands before the last opening bracket that something closes, and what stands from
        there to the last closing one; both within the first line. None if there is no such thing.
    """
    # The regular expression itself takes quadratic time for a row of opening brackets.
    line = text.split("\n", 1)[0]
    close = line.rfind("]")
    opening = line.rfind("[", 1, max(close - 1, 1))
    return None if opening < 0 else Command(line[:opening], line[opening + 1 : close].lower())


def forgiving(text: str) -> Command | None:
    """Find the first ``search[...]`` or ``click[...]`` in a text.

    Brackets inside its argument pair up; if they do not, it ends at the last closing one.
    """
    found = _ACTION.search(text)
    if found is None:
        return None
    start, depth, close = found.end(), 1, -1
    for place, sign in enumerate(text[start:], start):
        if sign == "[":
            depth += 1
        elif sign == "]":
            depth, close = depth - 1, place
            if not depth:
                break
    # Without any closing bracket behind the first action, no later action has one either.
    return None if close < 0 else Command(found[1].lower(), text[start:close].lower())


def declared(text: str, specs: tuple[ActionSpec, ...]) -> Command | None:
    """Read what a :class:`~agentgym.core.language.Language` made of another grammar, by its rules.

    The argument comes out as it stood in the other grammar.
    """
    call = parse(text, specs, "native").call
    return None if call is None else Command(call.name, *map(str.lower, call.arguments.values()))


def one_line(text: str) -> str:
    """Put a text on one line, with single spaces."""
    return " ".join(text.split())


def clickable_like(session: ShopSession, name: str) -> str:
    """Find the clickable name that a shopper means by a lower-case name.

    It is the name itself if it can be clicked, else the first that differs only in white space,
    else the name on one line.
    """
    names = session.clickables()
    if name in names:
        return name
    wanted = one_line(name)
    return next((known for known in names if one_line(known) == wanted), wanted)


def refusal(session: ShopSession, name: str) -> str:
    """Say why a click on ``name`` did nothing."""
    kind = session.state.page
    if kind == INDEX:
        return "invalid: search first"
    if name == NEXT and kind == RESULTS:
        return "invalid: no more results"
    return f"invalid: no {name[:64]} here"
