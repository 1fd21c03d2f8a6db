"""Google docstrings: what a function does, and what its arguments are."""

from __future__ import annotations

import inspect
import re

from agentgym.support.text_lines import split_lines

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?|Attributes)\s*:\s*"
)
_ARGUMENTS = ("Args", "Arguments", "Parameters")
_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """Read a docstring.

    Args:
        text: The docstring; None for a function without one.

    Returns:
        The description before the first section on one line, and that of each argument.
    """
    about: list[str] = []
    arguments: dict[str, list[str]] = {}
    section, depth, current = "", 0, ""
    for line in split_lines(inspect.cleandoc(text or "")):
        words, indent = line.strip(), len(line) - len(line.lstrip())
        match = _SECTION.fullmatch(words) if indent == 0 else None
        if match:
            section, depth = match[1], 0
        elif not section:
            about.append(words)
        elif section in _ARGUMENTS and words:
            depth = depth or indent
            entry = _ENTRY.fullmatch(words) if indent <= depth else None
            if entry:
                current = entry[1]
                arguments[current] = [entry[2]]
            elif current:
                arguments[current].append(words)
    return _line(about), {name: _line(lines) for name, lines in arguments.items()}


def _line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
