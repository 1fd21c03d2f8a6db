"""The table of all functions: how they are called and how often an argument may stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from cellmill.errors import FormulaError

Body = TypeVar("Body", bound=Callable[..., Any])


@dataclass(frozen=True)
class Function:
    """A function of formulas.

    Attributes:
        name: Its name.
        body: What computes it.
        least: Fewest arguments.
        most: Most arguments; None if there may be any number.
        takes: ``values`` if areas are no arguments and errors spread by themselves, ``blocks``
            if it gets areas as they are, ``thunks`` if it decides itself which arguments are
            computed.
    """

    name: str
    body: Callable[..., Any]
    least: int
    most: int | None
    takes: str


FUNCTIONS: dict[str, Function] = {}
"""All functions by name."""


def function(
    name: str, least: int, most: int | None = -1, takes: str = "values"
) -> Callable[[Body], Body]:
    """Return a decorator that makes a function known; see :class:`Function`.

    Args:
        name: Its name.
        least: Fewest arguments.
        most: Most arguments; None for any number, as many as ``least`` if it is not given.
        takes: What it gets.
    """

    def register(body: Body) -> Body:
        FUNCTIONS[name] = Function(name, body, least, least if most == -1 else most, takes)
        return body

    return register


def function_names() -> list[str]:
    """Return the names of all functions, sorted."""
    return sorted(FUNCTIONS)


def check_count(name: str, count: int, position: int) -> None:
    """Refuse a call with a wrong number of arguments; unknown functions are let through.

    Raises:
        FormulaError: The number is wrong.
    """
    known = FUNCTIONS.get(name)
    if known is None or (known.least <= count and (known.most is None or count <= known.most)):
        return
    if known.most is None:
        wanted = f"at least {known.least}"
    elif known.most == known.least:
        wanted = str(known.least)
    else:
        wanted = f"{known.least} to {known.most}"
    plural = "" if wanted.endswith("1") and " to " not in wanted else "s"
    raise FormulaError(f"{name} takes {wanted} argument{plural}, got {count}", position)
