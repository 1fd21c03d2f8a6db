"""Observations of commands: of bounded length, and deterministic for the same actions."""

from __future__ import annotations

import re

from agentgym.core.outcome import well_formed
from agentgym.sandbox import ExecResult

LAST_TURN = "This is the last turn: only what is submitted is graded."
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_TIMES = (
    # pytest's summary, and that of unittest
    (re.compile(r"\b((?:passed|failed|errors?|skipped|warnings?|deselected|xfailed|xpassed"
                r"|tests ran)) in \d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?"), r"\1"),
    (re.compile(r"^(Ran \d+ tests?) in \d+(?:\.\d+)?s$", re.MULTILINE), r"\1"),
    # pytest --durations
    (re.compile(r"^\d+\.\d\ds (call|setup|teardown) ", re.MULTILINE), r"\1 "),
    # addresses of objects
    (re.compile(r"\b(at|id|object) 0x[0-9a-f]{6,16}\b"), r"\1 0x0"),
)  # fmt: skip
_CUT = "\n[... {count:,} characters left out ...]\n"


def show(result: ExecResult, timeout: float, limit: int) -> str:
    """Return the observation of a command.

    Durations are not shown, and those that test runners print are removed: the same actions have
    to give the same text.

    Args:
        result: The result of the command.
        timeout: Its time limit, in seconds.
        limit: Maximum number of characters of the output.
    """
    if result.timed_out:
        head = f"[killed after {timeout:g} s]"
    elif result.flooded:
        head = "[killed: it printed too much]"
    else:
        head = f"[exit {result.exit_code}{', out of memory' if result.exhausted else ''}]"
    output = clip(stable(result.text), limit, result.truncated).rstrip()
    return f"{head}\n{output}" if output else head


def stable(text: str) -> str:
    """Remove durations, addresses and terminal escape sequences from an output."""
    text = _ESCAPES.sub("", well_formed(text.replace("\r\n", "\n")))
    for pattern, replacement in _TIMES:
        text = pattern.sub(replacement, text)
    return text


def clip(text: str, limit: int, missing: int = 0) -> str:
    """Shorten a text in the middle, with a marker that says how many characters are left out.

    Args:
        text: The text.
        limit: Maximum number of characters to keep, not counting the marker.
        missing: Number of characters that were left out earlier, added to the marker's count.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[: limit - half] + _CUT.format(count=len(text) - limit + missing) + text[-half:]
