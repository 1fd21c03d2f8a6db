"""Definitions as text.

One transition stands on a line, ``closed --open--> open``. The source may be several states with
commas between them, or ``*``. The line ``start: STATE`` comes first, ``final: STATE, ...`` may
follow anywhere. Empty lines and what follows a ``#`` do not count.
"""

from __future__ import annotations

import re

from statewalk.definition import Definition
from statewalk.errors import DefinitionError

ARROW = re.compile(r"(?P<sources>[\w*, ]+?)\s*--(?P<event>\w+)-->\s*(?P<target>\w+)")


def loads(text: str) -> Definition:
    """Read a definition; guards and actions cannot be written in text.

    Raises:
        DefinitionError: A line cannot be read, or the start is missing.
    """
    definition: Definition | None = None
    final: list[str] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("start:"):
            if definition is not None:
                raise DefinitionError(f"line {number}: the start is given twice")
            definition = Definition(line[len("start:") :].strip())
            continue
        if definition is None:
            raise DefinitionError(f"line {number}: the first line is 'start: STATE'")
        if line.startswith("final:"):
            final += _names(line[len("final:") :])
            continue
        match = ARROW.fullmatch(line)
        if match is None:
            raise DefinitionError(f"line {number}: cannot read {line!r}")
        definition.add(match["event"], _names(match["sources"]), match["target"])
    if definition is None:
        raise DefinitionError("there is no line 'start: STATE'")
    definition.finish(*final)
    return definition


def dumps(definition: Definition) -> str:
    """Write a definition so that ``loads`` reads it; transitions with guards are marked."""
    lines = [f"start: {definition.initial}"]
    if definition.final:
        lines.append("final: " + ", ".join(sorted(definition.final)))
    for transition in definition.transitions:
        note = "" if transition.guard is None else "  # guarded"
        lines.append(f"{transition.source} --{transition.event}--> {transition.target}{note}")
    return "\n".join(lines) + "\n"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
