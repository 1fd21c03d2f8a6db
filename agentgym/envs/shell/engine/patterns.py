"""Regular expressions of a file, in a process that can be ended.

A pattern that nests repetitions may take time that doubles with each character of the answer, and
nothing interrupts it. So neither patterns are compiled nor answers matched in this process.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

from agentgym.errors import DataError, EnvFailure

LONGEST_PATTERN = 1000
"""Most characters of a pattern."""
LONGEST_ANSWER = 1000
"""Most characters of an answer that a pattern is to match."""
SECONDS = 5
"""Seconds of computing time that matching an answer, or compiling all patterns of a file, takes at
most."""
PATIENCE = 120.0
"""Seconds after which a process that got no computing time is given up."""
_PROGRAM = """
import json, re, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
except (ImportError, OSError, ValueError):
    pass  # the parent's patience ends it
patterns, text = json.load(sys.stdin)
faults = {}
for number, pattern in enumerate(patterns):
    try:
        found = re.compile(pattern)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        faults[number] = str(error)
matched = text is not None and not faults and found.fullmatch(text) is not None
print(json.dumps([matched, faults]))
"""
logger = logging.getLogger(__name__)


def is_anchored(pattern: str) -> bool:
    """Return whether a pattern says itself where an answer begins and ends.

    A pattern that says it within a group counts as one that does not.
    """
    atoms = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    alternatives: list[list[str]] = [[]]
    depth = 0
    for atom in atoms:
        depth += {"(": 1, ")": -1}.get(atom, 0)
        if atom == "|" and depth == 0:
            alternatives.append([])
        else:
            alternatives[-1].append(atom)
    return all(
        len(part) > 1 and part[0] in ("^", r"\A") and part[-1] in ("$", r"\Z")
        for part in alternatives
    )


def matches(pattern: str, answer: str) -> bool:
    """Return whether a pattern matches the whole of an answer.

    One that is too long, or takes too much time, is not matched.

    Raises:
        EnvFailure: This machine has no time for it, or the pattern is none.
    """
    if len(answer) > LONGEST_ANSWER:
        return False
    try:
        matched, faults = _run([pattern], answer)
    except TimeoutError:
        logger.warning(
            "an answer of %d characters counts as wrong: to match it with %.200r took more than "
            "%d seconds; write the pattern without repetitions in one another",
            len(answer), pattern, SECONDS,
        )  # fmt: skip
        return False
    if faults:
        raise EnvFailure(f"expected a regular expression, got {pattern!r:.200}: {faults[0]}")
    return matched


def check_patterns(patterns: Mapping[str, str]) -> None:
    """Check that patterns can be used.

    Args:
        patterns: Patterns by the places where they stand, for the message.

    Raises:
        DataError: One is too long or no regular expression, or all take too much time.
        EnvFailure: This machine has no time for it.
    """
    for place, pattern in patterns.items():
        if len(pattern) > LONGEST_PATTERN:
            raise DataError(
                f"expected a regular expression of at most {LONGEST_PATTERN:,} characters in "
                f"{place}, got {len(pattern):,}"
            )
    if not patterns:
        return
    places = [*patterns]
    try:
        _, faults = _run([*patterns.values()], None)
    except TimeoutError as error:
        raise DataError(
            f"expected {len(patterns)} regular expressions that compile in {SECONDS} seconds, from "
            f"{places[0]} on: leave the largest out"
        ) from error
    for number, fault in faults.items():
        raise DataError(
            f"expected a regular expression in {places[number]}, got "
            f"{patterns[places[number]]!r:.200}: {fault}"
        )


def _run(patterns: Sequence[str], text: str | None) -> tuple[bool, dict[int, str]]:
    """Compile patterns in a process, and match a text with the last.

    Returns:
        Whether it matches, and by its number what is wrong with a pattern.

    Raises:
        TimeoutError: It took too much computing time.
        EnvFailure: It got none.
    """
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(SECONDS)],
            input=json.dumps([list(patterns), text]).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EnvFailure(
            f"expected a pattern to be matched within {PATIENCE:g} seconds, but this machine had "
            "no time for it"
        ) from error
    except OSError as error:
        raise EnvFailure(f"expected to start {sys.executable}, but: {error}") from error
    if process.returncode:
        raise TimeoutError(f"the process ended with {process.returncode}")
    matched, faults = json.loads(process.stdout)
    return matched, {int(number): fault for number, fault in faults.items()}
