"""What the original engine parses, parsed once in a process and not for every game and command.

Two thirds of the time in which it loads a game, and most of that of a command, it parses texts that
it has parsed before: the package's grammar, which is the same for all games, and the templates of
commands. What is parsed depends on the text alone. Workers of the engine are processes of their own
and parse as ever.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agentgym.envs.alfworld.original import engine

MAKE = engine.original_engine


def copying(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Parse a text once, and give every caller a copy: the engine writes into what it gets."""
    once = functools.cache(parse)
    return lambda *args, **kwargs: copy.deepcopy(once(*args, **kwargs))


@functools.cache
def keep(*modules: ModuleType) -> None:
    """Let modules of textworld keep what they parse."""
    for module in modules:
        module._parse_and_convert = copying(module._parse_and_convert)  # type: ignore[attr-defined]


def original_engine() -> Any:
    """Make the engine, and let it keep what it parses."""
    textworld_engine = MAKE()
    import textworld.logic
    from textworld.envs.pddl import logic, textgen

    keep(logic, textgen, textworld.logic)
    return textworld_engine


def keep_grammars() -> None:
    """Let the engine of this process keep what it parses, from when it is made."""
    engine.original_engine = original_engine
