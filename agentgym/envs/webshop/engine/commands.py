"""Parse an action's text into a command, and explain why a command had no effect.

Three parsers: the original's grammar to the letter, a lenient one for the compact mode, and one for
actions translated from another grammar. All take linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agentgym.actions import ActionSpec, parse
from agentgym.envs.webshop.engine.session import INDEX, NEXT, RESULTS, ShopSession

BLANK = "{query}"
"""Placeholder for the words of a search in messages; it is never searched for."""
UNREADABLE = f"invalid: write search[{BLANK}] or click[{{element}}]"
"""Reply to a text without a command."""
_ACTION = re.compile(r"\b(search|click)\s*\[", re.IGNORECASE)


class ShopCommand(NamedTuple):
    """An action of a shopper."""

    name: str
    """``search`` or ``click``; anything in the original's grammar."""
    argument: str
    """Lower-case query or name, with its white space unchanged."""


def official(text: str) -> ShopCommand | None:
    r"""Parse an action as the original does: by ``(.+)\[(.+)\]``, greedy, from the start.

    Returns:
        The text before the last opening bracket that is closed, and the text from there to the
        last closing bracket; both within the first line. None if there is no match.
    """
    # The regular expression itself takes quadratic time for a row of opening brackets.
    line = text.split("\n", 1)[0]
    close = line.rfind("]")
    opening = line.rfind("[", 1, max(close - 1, 1))
    return None if opening < 0 else ShopCommand(line[:opening], line[opening + 1 : close].lower())


def forgiving(text: str) -> ShopCommand | None:
    """Find the first ``search[...]`` or ``click[...]`` in a text.

    Brackets inside the argument must pair up; otherwise it ends at the last closing one.
    """
    match = _ACTION.search(text)
    if match is None:
        return None
    start, depth, close = match.end(), 1, -1
    for place, sign in enumerate(text[start:], start):
        if sign == "[":
            depth += 1
        elif sign == "]":
            depth, close = depth - 1, place
            if not depth:
                break
    # Without any closing bracket behind the first action, no later action has one either.
    return None if close < 0 else ShopCommand(match[1].lower(), text[start:close].lower())


def declared(text: str, specs: tuple[ActionSpec, ...]) -> ShopCommand | None:
    """Parse an action that a :class:`~agentgym.core.language.Language` translated.

    The argument is returned as it was written in the other grammar.
    """
    call = parse(text, specs, "native").call
    return (
        None if call is None else ShopCommand(call.name, *map(str.lower, call.arguments.values()))
    )


def one_line(text: str) -> str:
    """Put a text on one line, with single spaces."""
    return " ".join(text.split())


def clickable_like(session: ShopSession, name: str) -> str:
    """Find the clickable name that matches a lower-case name.

    It is the name itself if clickable, else the first that differs only in white space, else the
    name on one line.
    """
    names = session.clickables()
    if name in names:
        return name
    flat_name = one_line(name)
    return next((candidate for candidate in names if one_line(candidate) == flat_name), flat_name)


def refusal(session: ShopSession, name: str) -> str:
    """Explain why a click on ``name`` had no effect."""
    kind = session.state.page
    if kind == INDEX:
        return "invalid: search first"
    if name == NEXT and kind == RESULTS:
        return "invalid: no more results"
    return f"invalid: no {name[:64]} here"
