"""Diffs of published sets: the files that they touch, and their reverse."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from agentgym.envs.swe.diffs import NOWHERE, FileDiff, Hunk, read_diff
from agentgym.envs.swe.git_names import write_name

NO_NEWLINE = "\\ No newline at end of file\n"


def touched_files(patch: str) -> tuple[str, ...]:
    """Return the paths that a diff creates, changes or deletes, in its order.

    Raises:
        DataError: The text is not a diff.
    """
    paths = (path for diff in read_diff(patch, binary=True) for path in (diff.before, diff.after))
    return tuple(dict.fromkeys(filter(None, paths)))


def remaining_files(patch: str) -> tuple[str, ...]:
    """Return the paths that a diff creates or changes, without deleted files, in its order.

    Raises:
        DataError: The text is not a diff.
    """
    files = (diff.after for diff in read_diff(patch, binary=True))
    return tuple(dict.fromkeys(filter(None, files)))


def reversed_diff(patch: str) -> str:
    """Return the diff that undoes a diff.

    SWE-smith publishes the diff of the fault; its reverse is the reference solution.

    Raises:
        DataError: The text is not a diff, or it changes binary files.
    """
    return "".join(line for diff in read_diff(patch) for line in _reversed(diff))


def _reversed(diff: FileDiff) -> Iterator[str]:
    before, after = diff.after, diff.before
    old, new = write_name(f"a/{before or after}"), write_name(f"b/{after or before}")
    yield f"diff --git {old} {new}\n"
    if not before:
        yield "new file mode 100644\n"
    elif not after:
        yield "deleted file mode 100644\n"
    elif before != after:
        yield f"rename from {write_name(before)}\nrename to {write_name(after)}\n"
    if diff.hunks:
        yield f"--- {old if before else NOWHERE}\n"
        yield f"+++ {new if after else NOWHERE}\n"
    shift = 0
    for hunk in diff.hunks:
        start = hunk.start + shift
        yield f"@@ -{_span(start, hunk.new)} +{_span(hunk.start, hunk.old)} @@\n"
        yield from _lines(hunk)
        shift += len(hunk.new) - len(hunk.old)


def _span(start: int, lines: tuple[str, ...]) -> str:
    """Format a range of a hunk header: lines count from 1, an empty range from 0."""
    return f"{start + bool(lines)},{len(lines)}"


def _lines(hunk: Hunk) -> Iterator[str]:
    """Yield the lines of the reversed hunk."""
    matcher = difflib.SequenceMatcher(None, hunk.new, hunk.old, autojunk=False)
    for kind, start, end, other, stop in matcher.get_opcodes():
        if kind == "equal":
            yield from (_line(" ", line) for line in hunk.new[start:end])
            continue
        yield from (_line("-", line) for line in hunk.new[start:end])
        yield from (_line("+", line) for line in hunk.old[other:stop])


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"
