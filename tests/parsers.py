"""Parsers of the two commands that are made once in a process, and not for every call.

tyro makes the parser of some hundred flags in 50 ms, a thousand times in this suite. It depends on
the declared flags alone, and what is parsed leaves it as it was.
"""

from __future__ import annotations

from typing import Any

import tyro
from tyro._parsers import ParserSpecification

MADE: dict[Any, ParserSpecification] = {}
MAKE = ParserSpecification.from_callable_or_type


def make_once(flags: Any, *, default_instance: Any, **more: Any) -> ParserSpecification:
    """Make the parser of a command whose defaults are the declared ones once, others anew."""
    if default_instance is not tyro.MISSING_NONPROP or more["intern_prefix"]:
        return MAKE(flags, default_instance=default_instance, **more)
    if flags not in MADE:
        MADE[flags] = MAKE(flags, default_instance=default_instance, **more)
    return MADE[flags]


def keep_parsers() -> None:
    """Keep the parsers that this process makes from now on."""
    ParserSpecification.from_callable_or_type = staticmethod(make_once)  # type: ignore[assignment]
